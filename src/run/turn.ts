// One turn: asks the backends for an answer to an event and turns the result into an outcome with its deliveries.
import type { Ended, FailureReason, Live, TurnEnd } from '../base/agent.ts'
import { hookLane, type NewEvent } from '../base/event.ts'
import type { FollowUp, Outcome, Taken } from '../base/lanes.ts'
import type { Chance } from '../base/time.ts'
import { type Attempt, type AttemptParts, isFirst, openAttempts } from './attempt.ts'
import { cutOff } from './events.ts'
import type { Candidate, Cooldowns, Route } from './route.ts'

export interface TurnParts extends AttemptParts {
  readonly route: Route
  readonly chance: Chance
  readonly cooldowns: Cooldowns
  /** Whether this machine has enough resources left to start another turn. */
  hasRoom(): boolean
  openLive(taken: Taken<NewEvent>): Live
  /** The hook that the owner has set to run before or after every turn; null: none. */
  hook(name: InlineHook): Promise<NewEvent | null>
  /**
   * The file guard: called before a turn starts. What it returns is awaited after the turn, before the outcome takes effect. `ready` is
   * awaited before the turn, and resolves with why it must not run.
   */
  guardTurn(taken: Taken<NewEvent>): { (): Promise<void>; readonly ready?: Promise<string | null> }
  /** What follows from an end: deliveries to people, or the report of a sub-agent. Wording and splitting are decided elsewhere. */
  followUpsOf(taken: Taken<NewEvent>, end: TurnEnd): readonly FollowUp[]
}

export type InlineHook = 'agent_begin' | 'agent_stop'

interface Failed extends Attempt {
  readonly ended: Extract<Ended, { ok: false }>
}

const noLive: Live = { text: () => undefined, action: () => undefined, close: async () => undefined }

const retries = { most: 3, baseMs: 5000 }

/** From this length on, a limit is one that people know about, such as an hourly or daily one. */
const longWaitMs = 600_000

/** How often to check whether there is room again. */
const roomEveryMs = 5000

export function createTurns(parts: TurnParts): (taken: Taken<NewEvent>, signal: AbortSignal) => Promise<Outcome> {
  const { clock, cooldowns, emit } = parts
  const attempt = openAttempts(parts)
  /** Events that were deferred for lack of room before anything was done for them. */
  const notBegun = new Set<number>()

  return async (given, signal) => {
    const taken = notBegun.delete(given.id) ? { ...given, putOff: false } : given
    // No turn is better than half a turn: without file descriptors the persona would be missing, or its changes would go unnoticed.
    if (!parts.hasRoom()) {
      if (isFirst(taken)) notBegun.add(taken.id)
      return untilThereIsRoom(given)
    }
    const live = parts.openLive(taken)
    const leave = parts.guardTurn(taken)
    try {
      const why = (await leave.ready) ?? null
      if (why !== null) return refused(taken, why)
      // Once per event: the hook costs money, and a retry is not another event.
      if (isFirst(taken)) await inline('agent_begin', taken, signal)
      const { last, before } = await ask(taken, live, signal)
      const outcome = outcomeOf(taken, last, before, signal)
      if (outcome.type !== 'done' && outcome.type !== 'failed') return outcome
      // An earlier attempt may have asked, too.
      if (!isFirst(taken) || last.asked || before.some(one => one.asked))
        await parts.requests.ended(taken.id).catch(reportProblem)
      // The answer does not wait for the hook, and a kill during the hook does not undo the turn.
      return { ...outcome, afterwards: () => inline('agent_stop', taken, signal) }
    } finally {
      await leave()
      await live.close()
    }
  }

  /** What it asked is withdrawn at the next start, then. */
  function reportProblem(error: unknown): void {
    emit({ type: 'workspace-trouble', file: 'the database', why: String(error) })
  }

  /** Uses up none of its attempts and retries, because nothing was run. */
  function untilThereIsRoom(taken: Taken<NewEvent>, backend = ''): Outcome {
    const until = clock.now() + roomEveryMs * (0.75 + parts.chance() / 2)
    const why = 'no-room'
    emit({ type: 'turn-put-off', id: taken.id, lane: taken.lane, why, until })
    return { type: 'later', at: until, followUps: parts.followUpsOf(taken, { type: 'put-off', why, backend, until }) }
  }

  function refused(taken: Taken<NewEvent>, detail: string): Outcome {
    const why = 'refused'
    emit({ type: 'workspace-trouble', file: 'the workspace', why: `keeps a turn from running: ${detail}` })
    return { type: 'failed', why, followUps: parts.followUpsOf(taken, { type: 'failed', why, detail, backend: '' }) }
  }

  /** A separate run for its side effects. Its answer is dropped, and its end changes nothing. */
  async function inline(name: InlineHook, taken: Taken<NewEvent>, signal: AbortSignal): Promise<void> {
    if (taken.item.what.kind === 'hook' || signal.aborted) return
    try {
      const event = await parts.hook(name)
      if (event !== null) await runHook(name, event, taken, signal)
    } catch (error) {
      emit({ type: 'workspace-trouble', file: 'agents.md', why: `the hook ${name} failed: ${String(error)}` })
    }
  }

  async function runHook(
    name: InlineHook,
    event: NewEvent,
    taken: Taken<NewEvent>,
    signal: AbortSignal,
  ): Promise<void> {
    const lane = hookLane(name, taken.id)
    const [candidate] = coolingDownLast(parts.route(lane, 'hook', event.modelOverride))
    // It needs its own key too: what it sends with a tool must not be taken for something the turn has sent already.
    const key = `${taken.key}#${lane}`
    const fresh = {
      ...taken,
      lane,
      key,
      item: event,
      attempt: 1,
      retries: 0,
      interrupted: false,
      putOff: false,
      earlier: [],
    }
    const leave = parts.guardTurn(fresh)
    try {
      if (((await leave.ready) ?? null) !== null) return
      await attempt(fresh, candidate, noLive, signal)
      await parts.sessions.forget(lane, candidate.backend.name)
    } finally {
      await leave()
    }
  }

  /** Asks one backend after the other, as long as the failure is one that another backend may not have. */
  async function ask(taken: Taken<NewEvent>, live: Live, signal: AbortSignal) {
    const before: Failed[] = []
    const [first, ...others] = coolingDownLast(parts.route(taken.lane, taken.item.what.kind, taken.item.modelOverride))
    const run = async (candidate: Candidate) => {
      const done = await attempt(taken, candidate, live, signal)
      if (done.ended.ok) cooldowns.end(done.backend)
      const why = signal.aborted ? null : reasonToMove(taken, done)
      // Without a fallback it is asked in any case.
      if (why !== null && why !== 'crashed' && others.length > 0)
        cooldowns.begin(done.backend, why, untilOf(done.ended))
      return { done, why }
    }
    let { done: last, why } = await run(first)
    for (const next of others) {
      const { ended } = last
      if (ended.ok || why === null) break
      emit({ type: 'turn-moved', id: taken.id, lane: taken.lane, from: last.backend, to: next.backend.name, why })
      before.push({ ...last, ended })
      ;({ done: last, why } = await run(next))
    }
    return { last, before }
  }

  /** Moves backends in cooldown to the end. */
  function coolingDownLast(candidates: readonly [Candidate, ...Candidate[]]): readonly [Candidate, ...Candidate[]] {
    const isCoolingDown = ({ backend }: Candidate) => cooldowns.isCoolingDown(backend.name)
    const [first, ...others] = [...candidates.filter(one => !isCoolingDown(one)), ...candidates.filter(isCoolingDown)]
    return first ? [first, ...others] : candidates
  }

  /** Null: do not try another backend, because it would not do better or because this one has used a tool. */
  function reasonToMove(taken: Taken<NewEvent>, { ended, acted, text, backend }: Attempt): FailureReason | null {
    if (acted || ended.ok) return null
    switch (ended.why) {
      case 'rate-limited':
      case 'not-installed':
      case 'not-logged-in':
        return ended.why
      case 'overloaded':
        // If it has not answered since its last cooldown, do not wait for it again.
        return taken.retries >= retries.most || cooldowns.isWeak(backend) ? ended.why : null
      case 'crashed':
        return taken.retries >= retries.most && text === '' ? ended.why : null
      default:
        return null
    }
  }

  function outcomeOf(taken: Taken<NewEvent>, last: Attempt, before: readonly Failed[], signal: AbortSignal): Outcome {
    const followUpsOf = (end: TurnEnd) => parts.followUpsOf(taken, end)
    const { ended, sessionWasLost } = last
    if (ended.ok) {
      const instead = before.map(one => ({ backend: one.backend, why: one.ended.why }))
      const { backend } = last
      const { type: _, ok: __, ...answer } = ended
      return { type: 'done', followUps: followUpsOf({ type: 'answered', ...answer, backend, sessionWasLost, instead }) }
    }
    if (ended.why === 'stopped' || signal.aborted)
      return signal.reason === cutOff
        ? { type: 'cut' }
        : { type: 'done', followUps: followUpsOf({ type: 'stopped', text: last.text }) }
    if (ended.why === 'no-room') return untilThereIsRoom(taken, last.backend)
    const failures = [...before, { ...last, ended }]
    const again = retryAt(taken, failures)
    if (again !== null) {
      const { at, retry, why, backend } = again
      emit({ type: 'turn-put-off', id: taken.id, lane: taken.lane, why, until: at })
      return { type: 'later', at, retry, followUps: followUpsOf({ type: 'put-off', why, backend, until: at }) }
    }
    // The failure of the first choice says more than that of the last fallback, unless the fallback got further.
    const { ended: reported, backend } = last.acted ? { ...last, ended } : (before[0] ?? { ...last, ended })
    const { why, detail, until } = reported
    const end = { type: 'failed', why, detail, backend, ...(until === undefined ? {} : { until }) } as const
    return { type: 'failed', why, followUps: followUpsOf(end) }
  }

  /** Only for failures that pass by themselves, and never after the agent has used a tool. */
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
    // A limit of hours is always waited for. A limit of seconds that keeps coming back is a different problem, so it counts as a retry.
    if (soonest && soonest.at - clock.now() >= longWaitMs) return { ...soonest, retry: false }
    const [first] = passing
    if (!first || taken.retries >= retries.most) return null
    if (soonest) return { ...soonest, retry: true }
    const at = clock.now() + retries.baseMs * 2 ** taken.retries * (0.75 + parts.chance() / 2)
    return { why: first.ended.why, at, backend: first.backend, retry: true }
  }
}

const untilOf = (ended: Ended): number | undefined => (ended.ok ? undefined : ended.until)
