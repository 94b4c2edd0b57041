// What is typed into the files and not saved yet: kept over a reload, and compared with what stands on the disk.
import { useEffect, useState } from 'preact/hooks'
import { keep, keysOf, recall } from './kept.js'

/**
 * @typedef {{ text: string, version: string | null, crlf: boolean }} Standing what stands, or stood, in a file; its line ends apart
 * @typedef {{ base: Standing, mine: string, theirs: Standing | null }} Draft
 *   what it began with, what is typed, and what stands there now if somebody else has changed it meanwhile
 */

const beginning = 'file '
const pauseMs = 200
/** @type {Map<string, Draft>} */
const drafts = new Map()
const listeners = new Set()
const followers = new Set()
const owed = new Set()
let timer = 0

/** A textarea knows only one kind of line break; the file gets back what it had. @returns {Standing} */
export const standing = ({ text, version }) => ({
  text: text.replace(/\r\n?/g, '\n'),
  version,
  crlf: /\r\n/.test(text) && !/(?:^|[^\r])\n/.test(text),
})
export const toSave = ({ base, mine }) => (base.crlf ? mine.replaceAll('\n', '\r\n') : mine)
export const isChanged = draft => draft.mine !== draft.base.text

/** @param {Draft | null} draft null: nothing is known of the file yet @param {Standing} found @returns {Draft} */
export const met = (draft, found) => {
  const fresh = { base: found, mine: found.text, theirs: null }
  if (draft === null || draft.mine === found.text || !isChanged(draft)) return fresh
  if (draft.base.version === found.version) return { ...draft, theirs: null }
  return { ...draft, theirs: found }
}

/** @returns {Draft | null} */
export const draftOf = name => drafts.get(name) ?? null

/** Null, or nothing changed: there is none any more. */
export const keepDraft = (name, draft) => {
  const had = drafts.has(name)
  if (draft !== null && (isChanged(draft) || draft.theirs !== null)) drafts.set(name, draft)
  else drafts.delete(name)
  owed.add(name)
  if (timer === 0) timer = setTimeout(write, pauseMs)
  if (had !== drafts.has(name)) for (const listener of listeners) listener()
  for (const follower of followers) follower(name, draft)
}

/** Tells what is typed into a file, also by what began in another editor of it. */
export const followDraft = (name, listener) => {
  const follower = (changed, draft) => changed === name && listener(draft)
  followers.add(follower)
  return () => followers.delete(follower)
}

/** The names of the files that have one; draws again when that changes. */
export const useDrafts = () => {
  const [, setCount] = useState(0)
  useEffect(() => {
    const listener = () => setCount(count => count + 1)
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, [])
  return new Set(drafts.keys())
}

/** Not with each key: a large file takes its time. */
const write = () => {
  clearTimeout(timer)
  timer = 0
  for (const name of owed) {
    const draft = drafts.get(name)
    keep(beginning + name, draft === undefined ? null : { base: draft.base, mine: draft.mine })
  }
  owed.clear()
}
addEventListener('pagehide', write)

const isStanding = value =>
  typeof value?.text === 'string' && (value.version === null || typeof value.version === 'string')

for (const key of keysOf(beginning)) {
  const { base, mine } = recall(key) ?? {}
  // Else it is not of this version of the page.
  if (isStanding(base) && typeof mine === 'string')
    drafts.set(key.slice(beginning.length), { base, mine, theirs: null })
}
