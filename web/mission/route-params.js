// The parameters of a page in the address, such as `#/memory?file=soul.md`, without the event that is open over the page.
import { useEffect, useState } from 'preact/hooks'
import { addressOf, readAddress } from './address.js'

/** @param {string} page @param {Record<string, string>} params */
export const hrefOf = (page, params) => addressOf(page, new URLSearchParams(params))

const read = () => {
  const { event: _, ...params } = Object.fromEntries(readAddress().query)
  return params
}

/** @param {string} page @returns {Record<string, string>} */
export const useRouteParams = page => {
  const [params, setSpot] = useState(read)
  useEffect(() => {
    const moved = () => {
      if (readAddress().page === page) setSpot(read())
    }
    addEventListener('hashchange', moved)
    return () => removeEventListener('hashchange', moved)
  }, [page])
  return params
}
