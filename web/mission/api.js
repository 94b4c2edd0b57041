// The way to the gateway: questions and orders over fetch, with words for what goes wrong, and the line of live events.

const firstPauseMs = 500
const longestPauseMs = 15_000
/** A page nobody looks at lets its line go: a browser has only six for all its tabs. */
const hiddenMs = 30_000

/** What went wrong, in words that can be shown. */
export class Trouble extends Error {
  /** @param {string} words @param {number} status 0: there was no answer @param {any} [body] what the gateway said besides */
  constructor(words, status, body = null) {
    super(words)
    this.status = status
    this.body = body
  }
}

/** @param {string} path @param {AbortSignal} [signal] */
export const ask = (path, signal) => call(path, { signal })

/** @param {string} path @param {object} body */
export const tell = (path, body) =>
  call(path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) })

const call = async (path, options) => {
  let response
  try {
    response = await fetch(path, { cache: 'no-store', ...options })
  } catch (error) {
    if (options.signal?.aborted) throw error
    throw new Trouble('The gateway does not answer. Is it running?', 0)
  }
  const body = await response.json().catch(() => null) // a proxy may answer with a page
  if (response.ok && body !== null) return body
  throw new Trouble(wordsFor(response.status, body), response.status, body)
}

const wordsFor = (status, body) => {
  if (status === 401) return 'The link has changed. Open the one that “npx aetheel status” prints.'
  const said = body?.why ?? body?.reason ?? body?.error
  if (typeof said === 'string' && said !== '') return said
  if (status === 404) return 'This gateway does not have that.'
  return `The gateway could not do that (${status}).`
}

/**
 * Comes back by itself, after growing pauses, and asks for what was missed.
 * @param {{
 *   activity: (entry: object) => void,
 *   changed: (files: string[]) => void,      files of the workspace
 *   status: (status: object) => void,
 *   state: (state: { type: 'connecting' | 'open' | 'offline' | 'locked', retryAt?: number }) => void,
 * }} listener
 */
export const openLine = listener => {
  /** @type {EventSource | null} */
  let source = null
  let last = null
  let failures = 0
  let timer = 0
  let hiding = 0

  const connect = () => {
    clearTimeout(timer)
    source?.close()
    listener.state({ type: 'connecting' })
    const opening = new EventSource(last === null ? '/events' : `/events?after=${last}`)
    source = opening
    opening.onopen = () => {
      failures = 0
      listener.state({ type: 'open' })
    }
    opening.addEventListener('activity', event => {
      const entry = parsed(event.data)
      if (typeof entry?.id !== 'number') return
      last = Math.max(last ?? 0, entry.id)
      listener.activity(entry)
    })
    opening.addEventListener('changed', event => {
      const news = parsed(event.data)
      if (Array.isArray(news?.files)) listener.changed(news.files)
    })
    opening.addEventListener('status', event => {
      const status = parsed(event.data)
      if (status !== null) listener.status(status)
    })
    // The browser would try again by itself, but not after a refusal, and not sooner when it is asked to.
    opening.onerror = () => {
      opening.close()
      if (source === opening) lost()
    }
  }

  const lost = async () => {
    source = null
    const locked = await tokenIsRefused()
    if (source !== null) return // someone was in a hurry meanwhile
    const pause = Math.min(firstPauseMs * 2 ** failures, longestPauseMs) * (0.7 + Math.random() * 0.6)
    failures += 1
    clearTimeout(timer)
    timer = setTimeout(connect, pause)
    listener.state({ type: locked ? 'locked' : 'offline', retryAt: Date.now() + pause })
  }

  const hurry = () => {
    if (source === null) connect()
  }
  addEventListener('online', hurry)
  document.addEventListener('visibilitychange', () => {
    clearTimeout(hiding)
    if (!document.hidden) return hurry()
    hiding = setTimeout(() => {
      clearTimeout(timer)
      source?.close()
      source = null
    }, hiddenMs)
  })
  return { connect }
}

const parsed = data => {
  try {
    return JSON.parse(data)
  } catch {
    return null // not ours
  }
}

const tokenIsRefused = async () => {
  try {
    return (await fetch('/', { method: 'HEAD', cache: 'no-store', signal: AbortSignal.timeout(2000) })).status === 401
  } catch {
    return false // nobody answers at all
  }
}
