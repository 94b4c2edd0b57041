// The WebSocket to the gateway: connects, reconnects with backoff, and reports its state.
import { wholeDrafts } from './parts-of-drafts.js'

const firstPauseMs = 500
const longestPauseMs = 15_000

/**
 * @param {{
 *   conversation: () => string | null,
 *   frame: (frame: any) => void,
 *   state: (state: { type: 'connecting' | 'open' | 'offline' | 'locked', retryAt?: number, code?: number }) => void,
 * }} listener
 * @param {AbortSignal} signal closes the connection for good
 */
export const createConnection = (listener, signal) => {
  /** @type {WebSocket | null} */
  let socket = null
  let failures = 0
  let timer = 0
  // The gateway sends hello first; a frame sent before that could end up in another conversation.
  let greeted = false

  const connect = () => {
    clearTimeout(timer)
    listener.state({ type: 'connecting' })
    const conversation = listener.conversation()
    const query = conversation === null ? '' : `&conversation=${encodeURIComponent(conversation)}`
    const scheme = location.protocol === 'https:' ? 'wss' : 'ws'
    const opening = new WebSocket(`${scheme}://${location.host}/ws?drafts=delta${query}`)
    const whole = wholeDrafts()
    let opened = false
    socket = opening
    greeted = false
    opening.addEventListener('open', () => {
      opened = true
    })
    opening.addEventListener('message', ({ data }) => {
      if (socket !== opening) return
      const given = parsed(data)
      if (given === null) return
      const frame = whole(given)
      if (frame.type === 'hello') {
        failures = 0
        greeted = true
      }
      listener.frame(frame)
      if (frame.type === 'hello') listener.state({ type: 'open' })
    })
    opening.addEventListener('close', ({ code }) => {
      if (socket === opening) lost(opened, code)
    })
  }

  const lost = async (opened, code) => {
    socket = null
    greeted = false
    // Browsers do not say why a WebSocket was refused; a request for the page tells.
    const locked = !opened && (await tokenIsRefused())
    if (socket !== null || signal.aborted) return // reconnected or closed in the meantime
    const jitter = 0.7 + Math.random() * 0.6
    const pause = Math.min(firstPauseMs * 2 ** failures, longestPauseMs) * jitter
    failures += 1
    clearTimeout(timer) // several losses may be pending
    timer = setTimeout(connect, pause)
    listener.state({ type: locked ? 'locked' : 'offline', retryAt: Date.now() + pause, code })
  }

  const reconnect = () => {
    const old = socket
    socket = null
    hangUp(old)
    connect()
  }

  const hurry = () => {
    if (socket === null) reconnect()
  }
  addEventListener('online', hurry, { signal })
  document.addEventListener('visibilitychange', () => document.hidden || hurry(), { signal })
  signal.addEventListener('abort', () => {
    clearTimeout(timer)
    const old = socket
    socket = null
    hangUp(old)
  })

  return {
    connect,
    /** Closes the connection and opens a new one: for another conversation, or when it is dead. */
    reconnect,
    isOpen: () => greeted,
    /** False: not connected, nothing was sent. */
    send(frame) {
      if (socket === null || !greeted || socket.readyState !== WebSocket.OPEN) return false
      socket.send(JSON.stringify(frame))
      return true
    },
  }
}

/** A socket that is still connecting is closed once it is open; closed earlier, it would log an error to the console. */
const hangUp = socket => {
  if (socket?.readyState === WebSocket.CONNECTING) socket.addEventListener('open', () => socket.close())
  else socket?.close()
}

const parsed = data => {
  try {
    const frame = JSON.parse(data)
    return typeof frame === 'object' && frame !== null ? frame : null
  } catch {
    return null // not a frame
  }
}

const tokenIsRefused = async () => {
  try {
    return (
      (await fetch('/chat', { method: 'HEAD', cache: 'no-store', signal: AbortSignal.timeout(2000) })).status === 401
    )
  } catch {
    return false // no response at all
  }
}
