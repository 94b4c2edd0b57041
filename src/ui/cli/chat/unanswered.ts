// The messages of a session without an answer yet, in the order they were sent.

export interface Unanswered {
  asked(id: string, text: string): void
  /** Undefined if it is not ours, or is answered. */
  textOf(id: string): string | undefined
  accepted(id: string): void
  /** True if it was not waiting before. */
  waits(id: string, position: number): boolean
  begun(id: string, what: string): void
  stopping(): void
  ended(id: string): void
  count(): number
  /** What the first of them is doing and for how long. Null if there is none. */
  now(): { readonly what: string; readonly forMs: number } | null
}

interface OpenMessage {
  readonly text: string
  state: 'sending' | 'waiting' | 'running'
  what: string
  since: number
}

export function unansweredMessages(now: () => number): Unanswered {
  const open = new Map<string, OpenMessage>()

  const begin = (message: OpenMessage | undefined, what: string): void => {
    if (!message) return
    if (message.state !== 'running') message.since = now()
    message.state = 'running'
    message.what = what
  }

  return {
    asked: (id, text) => void open.set(id, { text, state: 'sending', what: 'sending', since: now() }),
    textOf: id => open.get(id)?.text,
    accepted(id) {
      const message = open.get(id)
      if (message?.state === 'sending') begin(message, 'thinking')
    },
    waits(id, position) {
      const message = open.get(id)
      if (position === 0) begin(message, 'thinking')
      if (position === 0 || !message) return false
      const news = message.state !== 'waiting'
      Object.assign(message, { state: 'waiting', what: `waiting, position ${position}` } satisfies Partial<OpenMessage>)
      return news
    },
    begun: (id, what) => begin(open.get(id), what),
    stopping() {
      for (const message of open.values()) if (message.state !== 'waiting') message.what = 'stopping'
    },
    ended(id) {
      open.delete(id)
      // A conversation is answered in order, so our next message is running now.
      const next = open.values().next().value
      if (next?.state === 'waiting') begin(next, 'thinking')
    },
    count: () => open.size,
    now() {
      const all = [...open.values()]
      const foremost = all.find(message => message.state === 'running') ?? all[0]
      if (!foremost) return null
      const waiting = all.filter(message => message.state === 'waiting' && message !== foremost).length
      const what = waiting > 0 ? `${foremost.what} · ${waiting} waiting` : foremost.what
      return { what, forMs: now() - foremost.since }
    },
  }
}
