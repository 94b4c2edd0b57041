// One turn: an event goes to whoever answers it, and what comes of that becomes an outcome with the letters that tell it.
import type { Ended, FailureReason, Live, TurnEnd } from '../base/agent.ts'
import type { NewEvent } from '../base/event.ts'
import type { FollowUp, Outcome, Taken } from '../base/lanes.ts'
import type { Chance } from '../base/time.ts'
import { type Attempt, type AttemptParts, openAttempts } from './attempt.ts'
import type { Candidate, Route } from './route.ts'
import { cutOff } from './watch.ts'

export interface TurnParts extends AttemptParts {
  readonly route: Route
  readonly chance: Chance
  openLive(taken: Taken<NewEvent>): Live
  /** What the owner wants done before and after every turn; null: nothing. */
  hook(name: InlineHook): Promise<NewEvent | null>
  /** Told before a turn begins; what it returns is awaited after it, before the outcome counts. */
  attend(taken: Taken<NewEvent>): () => Promise<void>
  /** The letters for an end; how they are worded and split is not the turn's affair. */
  letters(taken: Taken<NewEvent>, end: TurnEnd): readonly FollowUp[]
}

export type InlineHook = 'agent_begin' | 'agent_stop'

interface Failed extends Attempt {
  readonly ended: Extract<Ended, { ok: false }>
}

const unseen: Live = { text: () => undefined, action: () => undefined, close: async () => undefined }

const retries = { most: 3, baseMs: 5000 }

/** From here on a limit is one that people know of, by the hour or the day. */
const longWaitMs = 600_000

/** Who cannot answer now may not be asked first for a while; the limit that tells no end is tried again soon. */
const defaultRestMs = 60_000

export function openTurns(parts: TurnParts): (taken: Taken<NewEvent>, signal: AbortSignal) => Promise<Outcome> {
  const { clock, tell } = parts
  const attempt = openAttempts(parts)
  const restingUntil = new Map<string, number>()

  return async (taken, signal) => {
    const live = parts.openLive(taken)
    const leave = parts.attend(taken)
    try {
      await inline('agent_begin', taken, signal)
      const { last, before } = await ask(taken, live, signal)
      const outcome = outcomeOf(taken, last, before, signal)
      if (outcome.type !== 'done' && outcome.type !== 'failed') return outcome
      // Nobody waits for their answer until a hook has run, and a kill in it does not undo the turn.
      return { ...outcome, afterwards: () => inline('agent_stop', taken, signal) }
    } finally {
      await leave()
      await live.close()
    }
  }

  /** A run of its own, for the sake of what it does; what it says goes nowhere, and how it ends changes nothing. */
  async function inline(name: InlineHook, taken: Taken<NewEvent>, signal: AbortSignal): Promise<void> {
    if (taken.item.what.kind === 'hook' || signal.aborted) return
    try {
      const event = await parts.hook(name)
      if (event !== null) await runHook(event, taken, signal)
    } catch (error) {
      tell({ type: 'workspace-trouble', file: 'agents.md', why: `the hook ${name} broke: ${String(error)}` })
    }
  }

  async function runHook(event: NewEvent, taken: Taken<NewEvent>, signal: AbortSignal): Promise<void> {
    // A lane for each turn: two that run side by side must not share a session.
    const lane = `${event.lane}:${taken.id}`
    const [candidate] = rested(parts.route(lane, 'hook', event.wish))
    // And a key: what it says by a tool must not be taken for what the turn itself has said already.
    const key = `${taken.key}#${lane}`
    const fresh = { ...taken, lane, key, item: event, attempt: 1, retries: 0, interrupted: false, earlier: [] }
    const leave = parts.attend(fresh)
    try {
      await attempt(fresh, candidate, unseen, signal)
      await parts.sessions.forget(lane, candidate.backend.name)
    } finally {
      await leave()
    }
  }

  /** One after the other, as long as the reason is one that another backend does not have. */
  async function ask(taken: Taken<NewEvent>, live: Live, signal: AbortSignal) {
    const before: Failed[] = []
    const [first, ...others] = rested(parts.route(taken.lane, taken.item.what.kind, taken.item.wish))
    let last = await attempt(taken, first, live, signal)
    for (const next of others) {
      const { ended } = last
      if (ended.ok || signal.aborted) break
      const failed = { ...last, ended }
      const why = reasonToMove(taken, failed)
      if (why === null) break
      tell({ type: 'turn-moved', id: taken.id, lane: taken.lane, from: last.backend, to: next.backend.name, why })
      before.push(failed)
      last = await attempt(taken, next, live, signal)
    }
    return { last, before }
  }

  /** Whoever is known to be at its limit comes last, if there is somebody else. */
  function rested(candidates: readonly [Candidate, ...Candidate[]]): readonly [Candidate, ...Candidate[]] {
    const rests = ({ backend }: Candidate) => (restingUntil.get(backend.name) ?? 0) > clock.now()
    const [first, ...others] = [...candidates.filter(one => !rests(one)), ...candidates.filter(rests)]
    return first ? [first, ...others] : candidates
  }

  /** Null: another one would not fare better; and never after it has acted. */
  function reasonToMove(taken: Taken<NewEvent>, { ended, acted, text, backend }: Failed): FailureReason | null {
    if (acted) return null
    switch (ended.why) {
      case 'rate-limited':
        restingUntil.set(backend, ended.until ?? clock.now() + defaultRestMs)
        return ended.why
      case 'not-installed':
      case 'not-logged-in':
        return ended.why
      case 'overloaded':
        return taken.retries >= retries.most ? ended.why : null
      case 'crashed':
        return taken.retries >= retries.most && text === '' ? ended.why : null
      default:
        return null
    }
  }

  function outcomeOf(taken: Taken<NewEvent>, last: Attempt, before: readonly Failed[], signal: AbortSignal): Outcome {
    const letters = (end: TurnEnd) => parts.letters(taken, end)
    const { ended, sessionWasLost } = last
    if (ended.ok) {
      const instead = before.map(one => ({ backend: one.backend, why: one.ended.why }))
      const { backend } = last
      return {
        type: 'done',
        followUps: letters({ type: 'answered', text: ended.text, backend, sessionWasLost, instead }),
      }
    }
    if (ended.why === 'stopped' || signal.aborted)
      return signal.reason === cutOff
        ? { type: 'cut' }
        : { type: 'done', followUps: letters({ type: 'stopped', text: last.text }) }
    const failures = [...before, { ...last, ended }]
    const again = retryAt(taken, failures)
    if (again !== null) {
      const { at, retry, why, backend } = again
      tell({ type: 'turn-put-off', id: taken.id, lane: taken.lane, why, until: at })
      return { type: 'later', at, retry, followUps: letters({ type: 'put-off', why, backend, until: at }) }
    }
    // The one that was to answer tells more than the last stand-by, unless that one got further.
    const { ended: told, backend } = last.acted ? { ...last, ended } : (before[0] ?? { ...last, ended })
    const { why, detail, until } = told
    const end = { type: 'failed', why, detail, backend, ...(until === undefined ? {} : { until }) } as const
    return { type: 'failed', why, followUps: letters(end) }
  }

  /** Only what passes by itself, and never after the agent has acted. */
  function retryAt(taken: Taken<NewEvent>, failures: readonly Failed[]) {
    if (failures.some(one => one.acted)) return null
    const passing = failures.filter(
      ({ ended: { why }, text }) =>
        why === 'overloaded' || why === 'rate-limited' || (why === 'crashed' && text === ''),
    )
    const [soonest] = passing
      .map(({ ended, backend }) => ({ why: ended.why, at: ended.until ?? 0, backend }))
      .filter(({ why, at }) => why === 'rate-limited' && at > clock.now())
      .sort((a, b) => a.at - b.at)
    // A limit of hours is waited for, however often; one of seconds that comes again and again is another kind of trouble.
    if (soonest && soonest.at - clock.now() >= longWaitMs) return { ...soonest, retry: false }
    const [first] = passing
    if (!first || taken.retries >= retries.most) return null
    if (soonest) return { ...soonest, retry: true }
    const at = clock.now() + retries.baseMs * 2 ** taken.retries * (0.75 + parts.chance() / 2)
    return { why: first.ended.why, at, backend: first.backend, retry: true }
  }
}
