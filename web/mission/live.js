// What the pages share: the one line to the gateway, and answers that stay fresh.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { ask, openLine } from './api.js'

const entryListeners = new Set()
const statusListeners = new Set()
const fileListeners = new Set()
const lineListeners = new Set()
/** The last answers, by path: a page that is opened again shows its own at once, and asks meanwhile. */
const answers = new Map()
const mostAnswers = 50
const remember = (path, data) => {
  answers.delete(path)
  answers.set(path, data)
  if (answers.size > mostAnswers) answers.delete(answers.keys().next().value)
}
let wasOpen = false

/** Tells of the line: connecting, open, offline, locked; `again` when it had been open before. */
export const followLine = listener => {
  lineListeners.add(listener)
  return () => lineListeners.delete(listener)
}

const line = openLine({
  activity: entry => {
    for (const listener of entryListeners) listener(entry)
  },
  changed: files => {
    for (const listener of fileListeners) listener(files)
  },
  status: status => {
    for (const listener of statusListeners) listener(status)
  },
  state: state => {
    const again = state.type === 'open' && wasOpen
    if (state.type === 'open') wasOpen = true
    for (const listener of lineListeners) listener({ ...state, again })
  },
})
export const connect = () => line.connect()

/** @param {(entry: any) => void} listener may change from one drawing to the next */
export const useEntries = listener => useLatest(entryListeners, listener)
/** @param {(files: string[]) => void} listener told of files of the workspace that have changed */
export const useFiles = listener => useLatest(fileListeners, listener)
export const useStatus = listener => useLatest(statusListeners, listener)

const useLatest = (listeners, listener) => {
  const latest = useRef(listener)
  latest.current = listener
  // Before anything is asked for, so that nothing falls between the answer and the news.
  useLayoutEffect(() => {
    const told = what => latest.current(what)
    listeners.add(told)
    return () => listeners.delete(told)
  }, [])
}

/**
 * The answer of a path, asked again when the line comes back, after entries that `concerns` it and when a file that it is `from`
 * has changed.
 * @param {string | null} path null: nothing is asked
 * @param {{ concerns?: (entry: any) => boolean, from?: (file: string) => boolean, everyMs?: number }} [options]
 */
export const useAnswer = (path, { concerns = () => false, from = () => false, everyMs } = {}) => {
  const [state, setState] = useState({ path, data: answers.get(path) ?? null, trouble: null })
  const current = useRef({ run: 0, shown: 0, timer: 0, path })
  current.current.path = path

  const load = async () => {
    const asked = current.current.path
    if (asked === null) return
    current.current.run += 1
    const run = current.current.run
    let next
    try {
      const data = await ask(asked)
      remember(asked, data)
      next = { path: asked, data, trouble: null }
    } catch (trouble) {
      next = { path: asked, data: answers.get(asked) ?? null, trouble }
    }
    // What was asked later may be here already; what was not, may take its time.
    if (run <= current.current.shown) return
    current.current.shown = run
    setState(next)
  }
  /** Several entries in a row are one question. */
  const soon = () => {
    if (current.current.timer !== 0) return
    current.current.timer = setTimeout(() => {
      current.current.timer = 0
      load()
    }, 400)
  }

  // Not after the painting, as an effect would: the sooner it is asked for, the sooner it is there.
  useLayoutEffect(() => {
    load()
    const unfollow = followLine(({ again }) => again && load())
    const timer = everyMs === undefined ? 0 : setInterval(() => document.hidden || load(), everyMs)
    return () => {
      current.current.shown = current.current.run // what is still on its way is for nobody
      clearTimeout(current.current.timer)
      current.current.timer = 0
      clearInterval(timer)
      unfollow()
    }
  }, [path])
  useEntries(entry => concerns(entry) && soon())
  useFiles(files => files.some(from) && soon())

  const shown = state.path === path ? state : { data: answers.get(path) ?? null, trouble: null }
  const change = data => {
    remember(path, data)
    setState({ path, data, trouble: null })
    // What is on its way was asked before, and is asked again.
    if (current.current.shown === current.current.run) return
    current.current.shown = current.current.run
    load()
  }
  return { data: shown.data, trouble: shown.trouble, load, change }
}

/** Draws again as time goes by. */
export const useNow = (everyMs = 15_000) => {
  const [now, setNow] = useState(Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return now
}
