// What the address says beyond the page: `#/memory?file=soul.md`. It stays while an event lies open over the page.
import { useEffect, useState } from 'preact/hooks'
import { addressOf, readAddress } from './address.js'

/** @param {string} page @param {Record<string, string>} spot */
export const hrefOf = (page, spot) => addressOf(page, new URLSearchParams(spot))

const read = () => {
  const { event: _, ...spot } = Object.fromEntries(readAddress().query)
  return spot
}

/** @param {string} page @returns {Record<string, string>} */
export const useSpot = page => {
  const [spot, setSpot] = useState(read)
  useEffect(() => {
    const moved = () => {
      if (readAddress().page === page) setSpot(read())
    }
    addEventListener('hashchange', moved)
    return () => removeEventListener('hashchange', moved)
  }, [page])
  return spot
}

/** The list of things on the left and the open one on the right; where there is no room, one after the other. */
export const isNarrow = () => matchMedia('(width <= 820px)').matches
