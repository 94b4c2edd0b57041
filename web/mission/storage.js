// Unsaved input, in session storage: survives Escape, other pages and a reload, until the window is closed.
import { useState } from 'preact/hooks'

const prefix = 'draft:'
/** What this page has stored, for browsers that block storage. */
const known = new Map()

/** Null: nothing is stored under this key. @param {string} key */
export const readStored = key => {
  if (known.has(key)) return known.get(key)
  try {
    // Parsed once, so that the same object is returned every time.
    known.set(key, JSON.parse(sessionStorage.getItem(prefix + key)))
  } catch {
    return null // storage is blocked, or the value is not ours
  }
  return known.get(key)
}

/** @param {string} key @param {unknown} typed null: removes it */
export const writeStored = (key, typed) => {
  known.set(key, typed)
  try {
    if (typed === null) sessionStorage.removeItem(prefix + key)
    else sessionStorage.setItem(prefix + key, JSON.stringify(typed))
  } catch {
    // Storage is blocked or full: it lasts until the page is closed.
  }
}

/** The stored keys with this prefix. @param {string} beginning */
export const storedKeys = beginning => {
  try {
    const all = Object.keys(sessionStorage).filter(key => key.startsWith(prefix + beginning))
    return all.map(key => key.slice(prefix.length))
  } catch {
    return [] // storage is blocked
  }
}

/** Like useState, for unsaved input; a value equal to `empty` is not stored. */
export const useStored = (key, empty) => {
  const [typed, setTyped] = useState(() => readStored(key) ?? empty)
  /** Works even after the page was left. */
  const change = next => {
    const after = typeof next === 'function' ? next(readStored(key) ?? empty) : next
    writeStored(key, JSON.stringify(after) === JSON.stringify(empty) ? null : after)
    setTyped(after)
  }
  return [typed, change]
}
