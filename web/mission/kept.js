// What is typed and not sent yet: kept as long as the window is, over Escape, another page and a reload.
import { useState } from 'preact/hooks'

const prefix = 'draft:'
/** What this page has kept itself: there also where the browser keeps nothing. */
const known = new Map()

/** Null: nothing is kept under this key. @param {string} key */
export const recall = key => {
  if (known.has(key)) return known.get(key)
  try {
    // Read once: whoever asks again is to know it as the same.
    known.set(key, JSON.parse(sessionStorage.getItem(prefix + key)))
  } catch {
    return null // the browser keeps nothing, or somebody else wrote it
  }
  return known.get(key)
}

/** @param {string} key @param {unknown} typed null: there is nothing any more */
export const keep = (key, typed) => {
  known.set(key, typed)
  try {
    if (typed === null) sessionStorage.removeItem(prefix + key)
    else sessionStorage.setItem(prefix + key, JSON.stringify(typed))
  } catch {
    // Then it lasts as long as the page does.
  }
}

/** The keys with this beginning that something is kept under. @param {string} beginning */
export const keysOf = beginning => {
  try {
    const all = Object.keys(sessionStorage).filter(key => key.startsWith(prefix + beginning))
    return all.map(key => key.slice(prefix.length))
  } catch {
    return [] // the browser keeps nothing
  }
}

/** As useState, for what is typed; what equals `empty` is not kept. */
export const useKept = (key, empty) => {
  const [typed, setTyped] = useState(() => recall(key) ?? empty)
  /** Also for what ends when the page is left already. */
  const change = next => {
    const after = typeof next === 'function' ? next(recall(key) ?? empty) : next
    keep(key, JSON.stringify(after) === JSON.stringify(empty) ? null : after)
    setTyped(after)
  }
  return [typed, change]
}
