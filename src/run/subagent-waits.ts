// Waits of agents for the answer of another agent or for the next post on a channel. They are limited, and end with the turn or the gateway.
import { agentLane, type LaneKey, type NewEvent } from '../base/event.ts'
import type { Lanes, Outcome, Taken } from '../base/lanes.ts'
import type { Answered, Posted, SubAgentStore } from '../base/subagents.ts'
import type { Clock } from '../base/time.ts'

export interface WaitParts {
  readonly store: SubAgentStore
  readonly inbox: Pick<Lanes<NewEvent>, 'lend'>
  readonly clock: Clock
}

/** The turn that waits, and for how long. */
export interface Waiter {
  readonly lane: LaneKey
  readonly ms: number
  readonly signal: AbortSignal
}

export interface SubAgentWaits {
  /** Something has arrived that an agent may be waiting for. */
  notify(): void
  /** Ends all waits, because the gateway stops. */
  close(): void
  /** The answer of an agent to the question with this key, which is reported to `lane`. */
  answer(agent: string, key: string, lane: LaneKey, waiter: Waiter): Promise<Answered>
  /** Waits for at least one post after this one; empty: none arrived in time. */
  posts(channel: string, most: number, after: number, waiter: Waiter): Promise<readonly Posted[]>
  /** Wraps turns: skips a report that its reader has already received in a turn that succeeded. */
  skipReceived(
    take: (taken: Taken<NewEvent>, signal: AbortSignal) => Promise<Outcome>,
  ): (taken: Taken<NewEvent>, signal: AbortSignal) => Promise<Outcome>
}

/** Needed because there is no notification when work ends without a report. */
const checkEveryMs = 1000

export function openSubAgentWaits({ store, inbox, clock }: WaitParts): SubAgentWaits {
  const stopping = new AbortController()
  let arrived = new AbortController()
  /** Which lane waits for which, so that no two wait for each other. */
  const waitsFor = new Map<LaneKey, LaneKey[]>()
  /**
   * Keys of reports that a running turn of the lane has received. Kept in memory only: after a kill or a failed turn, a report comes
   * twice rather than never.
   */
  const received = new Map<LaneKey, Set<string>>()

  /** What `look` finds; null: nothing in time; undefined: too many agents wait. */
  async function until<T>(look: () => T | null, { lane, ms, signal }: Waiter): Promise<T | null | undefined> {
    const first = look()
    if (first !== null || ms <= 0) return first
    const late = new AbortController()
    const over = AbortSignal.any([signal, stopping.signal, late.signal])
    void clock.sleep(ms, over).then(() => late.abort())
    const waited = await inbox.lend(lane, async () => {
      while (!over.aborted) {
        const arrival = arrived.signal
        const found = look()
        if (found !== null) return { found }
        await clock.sleep(checkEveryMs, AbortSignal.any([over, arrival]))
      }
      return { found: look() }
    })
    late.abort()
    return waited === null ? undefined : waited.found
  }

  function isAwaitedBy(lane: LaneKey, other: LaneKey, seen = new Set<LaneKey>()): boolean {
    if (lane === other) return true
    if (seen.has(other)) return false
    seen.add(other)
    return (waitsFor.get(other) ?? []).some(next => isAwaitedBy(lane, next, seen))
  }

  async function waiting<T>(from: LaneKey, to: LaneKey, work: () => Promise<T>): Promise<T> {
    waitsFor.set(from, [...(waitsFor.get(from) ?? []), to])
    try {
      return await work()
    } finally {
      const left = waitsFor.get(from) ?? []
      left.splice(left.indexOf(to), 1)
      if (left.length === 0) waitsFor.delete(from)
    }
  }

  return {
    notify() {
      arrived.abort()
      arrived = new AbortController()
    },
    close: () => stopping.abort(),
    async answer(agent, key, lane, waiter) {
      const other = agentLane(agent)
      if (isAwaitedBy(waiter.lane, other)) return { type: 'pending', why: 'waits-for-you' }
      const found = await waiting(waiter.lane, other, () => until(() => store.answerTo(key, lane), waiter))
      if (found === undefined) return { type: 'pending', why: 'too-many' }
      if (found === null) return { type: 'pending', why: stopping.signal.aborted ? 'stopping' : 'late' }
      if (found.report === null) return { type: 'answered', ok: false, text: 'It was stopped before it answered.' }
      // If the waiter is gone, it gets the report itself later.
      if (!waiter.signal.aborted) received.set(lane, (received.get(lane) ?? new Set()).add(found.report.key))
      return { type: 'answered', ok: found.report.ok, text: found.report.text }
    },
    async posts(channel, most, after, waiter) {
      const look = () => {
        const found = store.posts(channel, most, after)
        return found.length === 0 ? null : found
      }
      return (await until(look, waiter)) ?? []
    },
    skipReceived: take => async (taken, signal) => {
      const { lane, key, earlier } = taken
      const known = received.get(lane)
      const keys = [key, ...earlier.map(one => one.key)]
      if (known && keys.every(one => known.has(one))) {
        for (const one of keys) known.delete(one)
        if (known.size === 0) received.delete(lane)
        return { type: 'done' }
      }
      const before = new Set(known)
      const outcome = await take(taken, signal)
      if (outcome.type === 'done') return outcome
      if (before.size > 0) received.set(lane, before)
      else received.delete(lane)
      return outcome
    },
  }
}
