// Live data for the pages: the shared event stream, and resources that are refreshed when something changes.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { createEventStream, getJson } from './api.js'

const entryListeners = new Set()
const statusListeners = new Set()
const fileListeners = new Set()
const connectionListeners = new Set()
const requestListeners = new Set()
/** The last responses by path: a page that is opened again shows them immediately while it reloads. */
const answers = new Map()
const mostAnswers = 50
const remember = (path, data) => {
  answers.delete(path)
  answers.set(path, data)
  if (answers.size > mostAnswers) answers.delete(answers.keys().next().value)
}
let wasOpen = false

/** Reports the connection: connecting, open, offline, locked; `reconnected` if it had been open before. */
export const onConnection = listener => {
  connectionListeners.add(listener)
  return () => connectionListeners.delete(listener)
}

/** Called with the number of open requests, and which one has changed: after connecting, and on each change. */
export const onRequestNews = listener => {
  requestListeners.add(listener)
  return () => requestListeners.delete(listener)
}

const stream = createEventStream({
  activity: entry => {
    for (const listener of entryListeners) listener(entry)
  },
  changed: files => {
    for (const listener of fileListeners) listener(files)
  },
  status: status => {
    for (const listener of statusListeners) listener(status)
  },
  requests: news => {
    for (const listener of requestListeners) listener(news)
  },
  state: state => {
    const reconnected = state.type === 'open' && wasOpen
    if (state.type === 'open') wasOpen = true
    for (const listener of connectionListeners) listener({ ...state, reconnected })
  },
})
export const connect = () => stream.connect()

/** @param {(entry: any) => void} listener may change between renders */
export const useEntries = listener => useLatest(entryListeners, listener)
/** @param {(files: string[]) => void} listener called with the workspace files that have changed */
export const useFiles = listener => useLatest(fileListeners, listener)
/** @param {(news: any) => void} listener called when something is asked or answered */
export const useRequestNews = listener => useLatest(requestListeners, listener)
export const useStatus = listener => useLatest(statusListeners, listener)

const useLatest = (listeners, listener) => {
  const latest = useRef(listener)
  latest.current = listener
  // Before any request, so that no event is lost between the response and the subscription.
  useLayoutEffect(() => {
    const notify = what => latest.current(what)
    listeners.add(notify)
    return () => listeners.delete(notify)
  }, [])
}

/**
 * The data of an API path, loaded again after a reconnect, after activity that `refreshOn` accepts, and when a file that
 * `refreshOnFile` accepts has changed.
 * @param {string | null} path null: nothing is loaded
 * @param {{ refreshOn?: (entry: any) => boolean, refreshOnFile?: (file: string) => boolean, everyMs?: number }} [options]
 */
export const useResource = (path, { refreshOn = () => false, refreshOnFile = () => false, everyMs } = {}) => {
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
      const data = await getJson(asked)
      remember(asked, data)
      next = { path: asked, data, trouble: null }
    } catch (trouble) {
      next = { path: asked, data: answers.get(asked) ?? null, trouble }
    }
    // A newer response may be here already.
    if (run <= current.current.shown) return
    current.current.shown = run
    setState(next)
  }
  /** Several entries in a row cause one request. */
  const soon = () => {
    if (current.current.timer !== 0) return
    current.current.timer = setTimeout(() => {
      current.current.timer = 0
      load()
    }, 400)
  }

  // Before the paint, unlike useEffect: the sooner it is requested, the sooner it is there.
  useLayoutEffect(() => {
    load()
    const unfollow = onConnection(({ reconnected }) => reconnected && load())
    const timer = everyMs === undefined ? 0 : setInterval(() => document.hidden || load(), everyMs)
    return () => {
      current.current.shown = current.current.run // pending responses are dropped
      clearTimeout(current.current.timer)
      current.current.timer = 0
      clearInterval(timer)
      unfollow()
    }
  }, [path])
  useEntries(entry => refreshOn(entry) && soon())
  useFiles(files => files.some(refreshOnFile) && soon())

  const shown = state.path === path ? state : { data: answers.get(path) ?? null, trouble: null }
  const change = data => {
    remember(path, data)
    setState({ path, data, trouble: null })
    // A pending request predates this change: its response is dropped, and the data loaded again.
    if (current.current.shown === current.current.run) return
    current.current.shown = current.current.run
    load()
  }
  return { data: shown.data, trouble: shown.trouble, load, change }
}

/** Renders again as time passes. */
export const useNow = (everyMs = 15_000) => {
  const [now, setNow] = useState(Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return now
}
