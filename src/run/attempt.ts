// One attempt at an event by one backend: its session, its prompt, and its run from start to end.
import { createHash } from 'node:crypto'
import type { Backend, Ended, Live, McpServer, PermissionMode, Turn, Usage } from '../base/agent.ts'
import { type LaneKey, type NewEvent, principalOf } from '../base/event.ts'
import type { PastMessage } from '../base/history.ts'
import type { Taken } from '../base/lanes.ts'
import type { ReceivedPrompt, Session, Sessions } from '../base/sessions.ts'
import type { Emit } from '../base/signal.ts'
import type { Clock } from '../base/time.ts'
import { failed, nothing, usageOfTurn, watchRun } from './events.ts'
import { follow, type RunResult } from './follow.ts'
import { isNoRoom } from './process.ts'
import type { Confinement } from './profiles.ts'
import type { Requests } from './requests.ts'
import type { Candidate } from './route.ts'
import type { SteerableTurns } from './steering.ts'
import { limitEnd } from './usage-limits.ts'

export interface AttemptParts {
  readonly sessions: Sessions
  readonly clock: Clock
  readonly emit: Emit
  readonly newSessionId: () => string
  /** Read for each run. The lists of tools are those of the owner. */
  settings(lane: LaneKey): {
    readonly maxTurns: number
    readonly allowedTools: readonly string[]
    readonly askTools: readonly string[]
    readonly permissionMode: PermissionMode
    readonly workingDir: string
    readonly silenceMs: number
    readonly ceilingMs: number
    /** For times of day in the output of a CLI. A function because it is rarely needed and expensive. */
    readonly timezone: () => string
  }
  systemPrompt(event: NewEvent, backend: string, confinement: Confinement | null): Promise<string>
  /** What the turn may touch. Null: what the gateway's user may. */
  confine(taken: Taken<NewEvent>, backend: string): Promise<Confinement | null>
  /** The MCP servers for this run, and what its system prompt must say about its tools. Call `leave` when the run is over. */
  equip(
    taken: Taken<NewEvent>,
    backend: string,
  ): { readonly mcpServers: readonly McpServer[]; readonly words: string; leave(): void }
  /** Builds one prompt from the text of the events and the notes around it. */
  compose(prompt: {
    event: NewEvent
    /** Answered together with it, oldest first, without those that the session has received already. */
    earlier: readonly NewEvent[]
    /** How much of this the session has already from an attempt that failed. `some`: not the event itself. */
    received: 'nothing' | 'some' | 'all'
    history: readonly PastMessage[]
    /** The session knows the conversation, except for `history`, which another backend answered. */
    resumed: boolean
    interrupted: boolean
    /** What became of the requests of an earlier attempt; null: it had none. */
    requests: string | null
  }): string
  readonly requests: Pick<Requests, 'answerTo' | 'withdraw' | 'noteFor' | 'ended'>
  readonly steerable: SteerableTurns
  /** The conversation was reset after this event arrived. */
  wasReset(taken: Taken<NewEvent>): boolean
  /** Messages and answers after this event; 0: all that may be handed over. */
  history(lane: string, after: number): readonly PastMessage[]
}

export interface Attempt {
  readonly backend: string
  readonly ended: Ended
  readonly text: string
  /** A tool ran. */
  readonly acted: boolean
  readonly asked: boolean
  readonly sessionWasLost: boolean
}

/** If the session is lost, the attempt starts a new one, once, and hands the history over. */
export function openAttempts(parts: AttemptParts) {
  const { sessions, clock, emit } = parts

  return async (taken: Taken<NewEvent>, candidate: Candidate, live: Live, signal: AbortSignal): Promise<Attempt> => {
    const backend = candidate.backend.name
    const run = () => runOnce(taken, candidate, live, signal).catch(unlessNoRoom)
    let result = await run()
    let sessionWasLost = false
    if (!result.ended.ok && result.ended.why === 'session-lost' && !result.acted && !signal.aborted) {
      sessionWasLost = await forgetSession(taken.lane, sessionKey(backend, await parts.confine(taken, backend)))
      result = await run()
    }
    const { ended, text, acted, asked } = result
    return { backend, ended: withEnd(ended), text, acted, asked, sessionWasLost }
  }

  /** A run reports a lack of room as its end, so an error here comes from what is read before the run. */
  function unlessNoRoom(error: unknown): RunResult {
    if (!isNoRoom(error)) throw error
    return {
      ended: failed('no-room', String(error)),
      text: '',
      acted: false,
      asked: false,
      firstWordMs: null,
      used: null,
    }
  }

  async function runOnce(
    taken: Taken<NewEvent>,
    { backend, model }: Candidate,
    live: Live,
    signal: AbortSignal,
  ): Promise<RunResult> {
    const { id, lane, attempt, interrupted } = taken
    const began = clock.now()
    const confinement = await parts.confine(taken, backend.name)
    const key = sessionKey(backend.name, confinement)
    if (needsNewSession(taken)) await sessions.forget(lane, key)
    const known = await sessions.find(lane, key)
    const [prompted, session] = await Promise.all([
      parts.systemPrompt(taken.item, backend.name, confinement),
      sessionFor(lane, backend, key, known),
    ])
    const { silenceMs, ceilingMs, timezone: _, ...options } = parts.settings(lane)
    const tools = toolsOf(options, confinement)
    const prompt = promptFor(taken, known)
    const equipped = parts.equip(taken, backend.name)
    const { mcpServers, words } = confinement?.equip(equipped) ?? equipped
    const systemPrompt = withWords(prompted, words)
    const turn: Turn = { prompt, systemPrompt, session, model, mcpServers, ...options, ...confinement?.turn, ...tools }
    const asking = { taken, backend: backend.name, folder: turn.workingDir, ...tools }
    emit({ type: 'turn-began', id, lane, backend: backend.name, attempt, resumed: known !== null, interrupted })
    emit({ type: 'turn-asked', id, lane, backend: backend.name, model, prompt, system: systemPrompt })
    const run = watchRun(inner => backend.run(turn, inner), { silenceMs, ceilingMs }, clock, signal)
    const result = await follow(run, asking, live, {
      ...{ requests: parts.requests, turns: parts.steerable, clock, emit, reportProblem, signal },
      started: async id => void (parts.wasReset(taken) || (await confirm(lane, key, id))),
      stored: () => void (parts.wasReset(taken) || sessions.receive(lane, key, receivedWith(taken))),
    }).finally(equipped.leave)
    const usage = result.used && usageOfTurn(result.used, known ? known.totals : nothing)
    await settleSession(taken, key, known, result, usage?.totals ?? null).catch(reportProblem)
    const { ended, firstWordMs, used } = result
    emit({
      ...{ type: 'turn-ended', id, lane, source: taken.item.source, kind: taken.item.what.kind },
      person: personOf(taken.item),
      backend: backend.name,
      model: used?.model ?? model,
      ms: clock.now() - began,
      firstWordMs,
      ok: ended.ok,
      why: ended.ok ? null : ended.why,
      detail: ended.ok ? '' : withoutPrompt(ended.detail, prompt),
      usage: usage?.turn ?? null,
    })
    return result
  }

  /** A failed write must not end a turn that is running. */
  async function confirm(lane: string, backend: string, session: string): Promise<void> {
    await sessions.remember(lane, backend, session, true).catch(reportProblem)
  }

  function reportProblem(error: unknown): void {
    emit({ type: 'workspace-trouble', file: 'the database', why: String(error) })
  }

  /** The id of a new session is on disk before the session starts, so that it is found again after a crash at any moment. */
  async function sessionFor(
    lane: string,
    backend: Backend,
    key: string,
    known: Session | null,
  ): Promise<Turn['session']> {
    if (known) return { id: known.id, resume: true }
    if (!backend.takesSessionIds) return null
    const id = parts.newSessionId()
    await sessions.remember(lane, key, id, false)
    return { id, resume: false }
  }

  async function settleSession(
    taken: Taken<NewEvent>,
    backend: string,
    known: Session | null,
    { ended, text, acted }: RunResult,
    totals: Usage | null,
  ): Promise<void> {
    const { id, lane } = taken
    const now = await sessions.find(lane, backend)
    // An id that the backend never used would count as a lost session next time.
    if (parts.wasReset(taken) || (!ended.ok && !known && !now?.confirmed)) return sessions.forget(lane, backend)
    // The session has the message even if the run was stopped or failed later on.
    const wasReceived = ended.ok || ended.why === 'stopped' || acted || text !== ''
    const before = known === null ? nothing : now?.id === known.id ? known.totals : null
    sessions.advance(lane, backend, wasReceived ? id : (known?.through ?? 0), totals ?? before)
  }

  /** True if the user should be notified: there was a conversation to lose. */
  async function forgetSession(lane: string, backend: string): Promise<boolean> {
    const known = await sessions.find(lane, backend)
    await sessions.forget(lane, backend)
    if (!known?.confirmed) return false
    emit({ type: 'session-lost', lane })
    return true
  }

  function promptFor(taken: Taken<NewEvent>, known: Session | null): string {
    const past = startsFresh(taken.item) ? [] : parts.history(taken.lane, known?.through ?? 0)
    const received = receivedBy(taken, known)
    return parts.compose({
      event: taken.item,
      earlier: taken.earlier.filter(({ id }) => id > received).map(one => one.item),
      received: received === 0 ? 'nothing' : received < taken.id ? 'some' : 'all',
      history: past.filter(one => one.state === 'answered'),
      resumed: known !== null,
      interrupted: taken.interrupted,
      requests: isFirst(taken) ? null : parts.requests.noteFor(taken.id),
    })
  }

  function withEnd(ended: Ended): Ended {
    if (ended.ok || ended.why !== 'rate-limited' || ended.until !== undefined) return ended
    const until = limitEnd(ended.detail, clock.now(), parts.settings('').timezone())
    return until === null ? ended : { ...ended, until }
  }
}

/** The turns of guests have the tools of their profile, and nobody is asked for more. */
function toolsOf(owners: Pick<Turn, 'allowedTools' | 'askTools'>, confinement: Confinement | null) {
  if (confinement === null || confinement.turn.profile.principal === 'owner') {
    const { allowedTools, askTools } = owners
    return { allowedTools, askTools }
  }
  return { allowedTools: confinement.turn.allowedTools, askTools: [] }
}

/** Sessions of a profile with a home of its own are found only there. */
const sessionKey = (backend: string, confinement: Confinement | null) =>
  confinement?.turn.profile.home ? `${backend}@${confinement.turn.profile.name}` : backend

/** Jobs, hooks and webhooks start a new session each time: one that grew with every run would cost more with every run. */
const startsFresh = ({ what: { kind } }: NewEvent) =>
  kind === 'heartbeat' || kind === 'cron' || kind === 'hook' || kind === 'webhook'

/** Nothing has been tried for this event yet. */
export const isFirst = ({ attempt, putOff, interrupted }: Taken<NewEvent>): boolean =>
  attempt === 1 && !putOff && !interrupted

const needsNewSession = (taken: Taken<NewEvent>) => startsFresh(taken.item) && isFirst(taken)

/** What a session has received once it has this event. */
const receivedWith = (taken: Taken<NewEvent>): ReceivedPrompt => digested([...taken.earlier, taken])

/** The newest of these events that the session has with its current text; 0: none. */
function receivedBy(taken: Taken<NewEvent>, known: Session | null): number {
  const before = known?.received
  if (!before) return 0
  const same = [...taken.earlier, taken].filter(({ id }) => id <= before.event)
  return same.length > 0 && digested(same).digest === before.digest ? before.event : 0
}

const digested = (events: readonly { readonly id: number; readonly item: NewEvent }[]): ReceivedPrompt => ({
  event: events.at(-1)?.id ?? 0,
  digest: createHash('sha256')
    .update(JSON.stringify(events.map(({ item }) => item.what)))
    .digest('base64url'),
})

/** Appended last, so that the longest part of the prompt stays the same from turn to turn. */
export const withWords = (systemPrompt: string, words: string): string =>
  words === '' ? systemPrompt : `${systemPrompt}\n\n${words}`

const personOf = (event: NewEvent) => principalOf(event).person

/** A CLI may repeat the prompt in its error message; what people wrote must not reach the log. */
function withoutPrompt(detail: string, prompt: string): string {
  const pieces = prompt.split('\n').flatMap(line => line.trim().match(/.{1,24}/gsu) ?? [])
  return pieces.filter(piece => piece.length >= 4).reduce((text, piece) => text.replaceAll(piece, '…'), detail)
}
