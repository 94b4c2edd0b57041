// What the address says beyond the page: `#/memory?file=soul.md`. It stays while an event lies open over the page.
import { useEffect, useRef, useState } from 'preact/hooks'

export const hrefOf = (page, spot) => {
  const query = new URLSearchParams(spot).toString()
  return `#/${page}${query === '' ? '' : `?${query}`}`
}

const read = () => {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?')
  const { event, ...spot } = Object.fromEntries(new URLSearchParams(query))
  return { path, event, spot }
}

/** @param {string} page @returns {Record<string, string>} */
export const useSpot = page => {
  const [spot, setSpot] = useState(() => read().spot)
  const current = useRef({ spot, event: read().event })
  useEffect(() => {
    const moved = () => {
      const next = read()
      const wasOpen = current.current.event !== undefined
      current.current.event = next.event
      if (next.path !== page || next.event !== undefined) return
      // Closed, an event leaves the bare page.
      if (wasOpen && location.hash === `#/${page}`)
        return history.replaceState(null, '', hrefOf(page, current.current.spot))
      current.current.spot = next.spot
      setSpot(next.spot)
    }
    addEventListener('hashchange', moved)
    return () => removeEventListener('hashchange', moved)
  }, [page])
  return spot
}

/** The list of things on the left and the open one on the right; where there is no room, one after the other. */
export const isNarrow = () => matchMedia('(width <= 820px)').matches
