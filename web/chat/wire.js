// The line to the gateway: connects, comes back after growing pauses, and says what it is doing.

const firstPauseMs = 500
const longestPauseMs = 15_000

/**
 * @param {{
 *   conversation: () => string | null,
 *   frame: (frame: any) => void,
 *   state: (state: { type: 'connecting' | 'open' | 'offline' | 'locked', retryAt?: number, code?: number }) => void,
 * }} listener
 * @param {AbortSignal} signal ends it, and closes the line
 */
export const openWire = (listener, signal) => {
  /** @type {WebSocket | null} */
  let socket = null
  let failures = 0
  let timer = 0
  // The gateway speaks first; what is sent before its hello could belong to another conversation.
  let greeted = false

  const connect = () => {
    clearTimeout(timer)
    listener.state({ type: 'connecting' })
    const conversation = listener.conversation()
    const query = conversation === null ? '' : `?conversation=${encodeURIComponent(conversation)}`
    const opening = new WebSocket(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/ws${query}`)
    let opened = false
    socket = opening
    greeted = false
    opening.addEventListener('open', () => {
      opened = true
    })
    opening.addEventListener('message', ({ data }) => {
      if (socket !== opening) return
      const frame = parsed(data)
      if (frame === null) return
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
    // A browser does not tell why a WebSocket was refused; the page itself can be asked.
    const locked = !opened && (await tokenIsRefused())
    if (socket !== null || signal.aborted) return // someone was in a hurry meanwhile, or has left
    const jitter = 0.7 + Math.random() * 0.6
    const pause = Math.min(firstPauseMs * 2 ** failures, longestPauseMs) * jitter
    failures += 1
    clearTimeout(timer) // whoever is in a hurry loses a line more than once
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
    /** Drops the line and takes a new one: another conversation, or one that has gone dead. */
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

/** One that is not open yet is closed when it is: before that, a browser complains in its console. */
const hangUp = socket => {
  if (socket?.readyState === WebSocket.CONNECTING) socket.addEventListener('open', () => socket.close())
  else socket?.close()
}

const parsed = data => {
  try {
    const frame = JSON.parse(data)
    return typeof frame === 'object' && frame !== null ? frame : null
  } catch {
    return null // not ours
  }
}

const tokenIsRefused = async () => {
  try {
    return (
      (await fetch('/chat', { method: 'HEAD', cache: 'no-store', signal: AbortSignal.timeout(2000) })).status === 401
    )
  } catch {
    return false // nobody answers at all
  }
}
