// Unsaved edits of files: stored across reloads, and reconciled with the file on disk.
import { useEffect, useState } from 'preact/hooks'
import { readStored, storedKeys, writeStored } from './storage.js'

/**
 * @typedef {{ text: string, version: string | null, crlf: boolean }} FileState the content of a file at some time, with its line ends normalised
 * @typedef {{ base: FileState, mine: string, theirs: FileState | null }} Draft
 *   the file the edit is based on, the edited text, and the file on disk if someone else has changed it since
 */

const keyPrefix = 'file '
const pauseMs = 200
/** @type {Map<string, Draft>} */
const drafts = new Map()
const listeners = new Set()
const followers = new Set()
const owed = new Set()
let timer = 0

/** A textarea knows only one kind of line break; saving restores that of the file. @returns {FileState} */
export const fileState = ({ text, version }) => ({
  text: text.replace(/\r\n?/g, '\n'),
  version,
  crlf: /\r\n/.test(text) && !/(?:^|[^\r])\n/.test(text),
})
export const textToSave = ({ base, mine }) => (base.crlf ? mine.replaceAll('\n', '\r\n') : mine)
export const isChanged = draft => draft.mine !== draft.base.text

/** @param {Draft | null} draft null: the file was not loaded yet @param {FileState} found @returns {Draft} */
export const reconciled = (draft, found) => {
  const fresh = { base: found, mine: found.text, theirs: null }
  if (draft === null || draft.mine === found.text || !isChanged(draft)) return fresh
  if (draft.base.version === found.version) return { ...draft, theirs: null }
  return { ...draft, theirs: found }
}

/** @returns {Draft | null} */
export const draftOf = name => drafts.get(name) ?? null

/** Null or unchanged: removes the draft. */
export const saveDraft = (name, draft) => {
  const had = drafts.has(name)
  if (draft !== null && (isChanged(draft) || draft.theirs !== null)) drafts.set(name, draft)
  else drafts.delete(name)
  owed.add(name)
  if (timer === 0) timer = setTimeout(write, pauseMs)
  if (had !== drafts.has(name)) for (const listener of listeners) listener()
  for (const follower of followers) follower(name, draft)
}

/** Calls the listener with every new draft of a file, also when another editor of the file made it. */
export const followDraft = (name, listener) => {
  const follower = (changed, draft) => changed === name && listener(draft)
  followers.add(follower)
  return () => followers.delete(follower)
}

/** The names of the files with a draft; renders again when that changes. */
export const useDrafts = () => {
  const [, setCount] = useState(0)
  useEffect(() => {
    const listener = () => setCount(count => count + 1)
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, [])
  return new Set(drafts.keys())
}

/** Not on every key press: storing a large file takes time. */
const write = () => {
  clearTimeout(timer)
  timer = 0
  for (const name of owed) {
    const draft = drafts.get(name)
    writeStored(keyPrefix + name, draft === undefined ? null : { base: draft.base, mine: draft.mine })
  }
  owed.clear()
}
addEventListener('pagehide', write)

const isFileState = value =>
  typeof value?.text === 'string' && (value.version === null || typeof value.version === 'string')

for (const key of storedKeys(keyPrefix)) {
  const { base, mine } = readStored(key) ?? {}
  // Otherwise another version of the page has stored it.
  if (isFileState(base) && typeof mine === 'string')
    drafts.set(key.slice(keyPrefix.length), { base, mine, theirs: null })
}
