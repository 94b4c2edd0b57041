// Requests to the gateway, with error messages that can be shown, and the stream of live events.
import { fetchJson, takePrefetched } from './prefetch.js'

const firstPauseMs = 500
const longestPauseMs = 15_000
/** A hidden page closes its stream: a browser allows only six connections for all tabs together. */
const hiddenMs = 30_000

/** A failed request. Its message can be shown. */
export class ApiError extends Error {
  /** @param {string} message @param {number} status 0: there was no response @param {any} answer the body of the response */
  constructor(message, status, answer = null) {
    super(message)
    this.status = status
    this.answer = answer
  }
}

/** @param {string} path @param {AbortSignal} [signal] */
export const getJson = (path, signal) => call(path, { signal }, takePrefetched(path))

/** @param {string} path @param {object} body @param {string} [method] */
export const sendJson = (path, body, method = 'POST') =>
  call(path, { method, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) })

/** @param {string} path */
export const sendDelete = path => call(path, { method: 'DELETE' })

const call = async (path, options, asked = fetchJson(path, options)) => {
  let answer
  try {
    answer = await asked
  } catch (error) {
    if (options.signal?.aborted) throw error
    throw new ApiError('The gateway is not responding. Is it running?', 0)
  }
  if (answer.ok && answer.body !== null) return answer.body
  throw new ApiError(messageFor(answer.status, answer.body), answer.status, answer.body)
}

const messageFor = (status, body) => {
  if (status === 401) return 'The link has changed. Run “npx aetheel status” to get the new one.'
  const reason = body?.why ?? body?.reason ?? body?.error
  if (typeof reason === 'string' && reason !== '') return reason
  if (status === 404) return 'Not found on this gateway.'
  return `The request failed (${status}).`
}

/**
 * The event stream. Reconnects by itself with backoff, and catches up on missed events.
 * @param {{
 *   activity: (entry: object) => void,
 *   changed: (files: string[]) => void,      files of the workspace
 *   status: (status: object) => void,
 *   requests: (news: { open: number, changed: object | null }) => void,
 *   state: (state: { type: 'connecting' | 'open' | 'offline' | 'locked', retryAt?: number }) => void,
 * }} listener
 */
export const createEventStream = listener => {
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
    opening.addEventListener('requests', event => {
      const news = parsed(event.data)
      if (Number.isSafeInteger(news?.open)) listener.requests(news)
    })
    // EventSource would reconnect by itself, but not after an HTTP error, and not on demand.
    opening.onerror = () => {
      opening.close()
      if (source === opening) lost()
    }
  }

  const lost = async () => {
    source = null
    const locked = await tokenIsRefused()
    if (source !== null) return // reconnected in the meantime
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
    return null // not JSON
  }
}

const tokenIsRefused = async () => {
  try {
    return (await fetch('/', { method: 'HEAD', cache: 'no-store', signal: AbortSignal.timeout(2000) })).status === 401
  } catch {
    return false // no response at all
  }
}
