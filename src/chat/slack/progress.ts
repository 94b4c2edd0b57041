// How far we have got: up to when everything was handled, which messages were handled lately, and which threads the bot is in.
import type { ChatMemory } from '../../base/chat.ts'
import { before, compare, earlierOf, laterOf, timeOf } from './timestamp.ts'

export interface Progress {
  isDone(id: string): boolean
  began(id: string, ts: string): void
  /** `kept`: it must not be handled again, even by another process. */
  ended(id: string, ts: string, kept: boolean): void
  /** Everything older has been handled; null: this is the first start. */
  since(): string | null
  /** Messages from before the first start are not ours to answer; null: this is the first start. */
  origin(): string | null
  beginAt(ts: string): void
  /** The horizon does not move until missed messages have been handled. */
  hold(): void
  release(): void
  takesPart(channel: string, thread: string): boolean
  takePart(channel: string, thread: string): void
  /** The threads of a channel that the bot is in, the latest first. */
  threadsOf(channel: string): readonly string[]
  save(): void
}

/** Slack repeats an event for minutes, and events may overtake each other; so this much is looked at twice. */
export const overlapMs = 10 * 60_000
const mostRemembered = 5000

export function openProgress(memory: ChatMemory): Progress {
  const open = new Map<string, string>()
  const done = new Set(memory.list('did:').map(({ name }) => name.slice('did:'.length)))
  let settled = memory.get('horizon')
  let latest = settled
  let held = false
  let stored = settled
  const threadName = (channel: string, thread: string) => `in:${channel}:${thread}`

  /** Not past a message in progress. */
  const settle = () => {
    if (held || latest === null) return
    let reached = latest
    for (const ts of open.values()) reached = earlierOf(reached, before(ts, 1000))
    settled = settled === null ? reached : laterOf(settled, reached)
  }

  /** What is older than the part that is looked at twice need not be remembered. */
  const forgetOld = () => {
    if (settled === null) return
    const cutoff = timeOf(settled) - 2 * overlapMs
    for (const id of done) {
      const at = timeOf(id.slice(id.indexOf(':') + 1))
      if (at >= cutoff && done.size <= mostRemembered) continue
      done.delete(id)
      memory.put(`did:${id}`, null)
    }
  }

  return {
    isDone: id => done.has(id),
    began: (id, ts) => void open.set(id, ts),
    ended(id, ts, kept) {
      open.delete(id)
      latest = latest === null ? ts : laterOf(latest, ts)
      if (!kept) return
      done.add(id)
      memory.put(`did:${id}`, '')
    },
    since: () => settled,
    origin: () => memory.get('origin'),
    beginAt(ts) {
      memory.put('origin', ts)
      latest = ts
      settled = ts
      stored = ts
      memory.put('horizon', ts)
    },
    hold() {
      settle()
      held = true
    },
    release() {
      held = false
    },
    takesPart: (channel, thread) => memory.get(threadName(channel, thread)) !== null,
    // Also says that it was used lately.
    takePart: (channel, thread) => memory.put(threadName(channel, thread), ''),
    threadsOf: channel => memory.list(`in:${channel}:`).map(({ name }) => name.slice(`in:${channel}:`.length)),
    save() {
      settle()
      if (settled === null || (stored !== null && compare(settled, stored) <= 0)) return
      stored = settled
      memory.put('horizon', settled)
      forgetOld()
    },
  }
}
