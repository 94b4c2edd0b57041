// One attempt at an event by one backend: its session, its prompt, its run from begin to end.
import type { AgentEvent, Backend, Ended, Live, McpServer, PermissionMode, Turn, Usage } from '../base/agent.ts'
import { behalfOf, type NewEvent } from '../base/event.ts'
import type { Said } from '../base/history.ts'
import type { Taken } from '../base/lanes.ts'
import type { Session, Sessions } from '../base/sessions.ts'
import type { Tell } from '../base/signal.ts'
import type { Clock } from '../base/time.ts'
import { limitEnd } from './limits.ts'
import type { Candidate } from './route.ts'
import { nothing, type UsageTold, usageOfTurn } from './usage.ts'
import { watchRun } from './watch.ts'

export interface AttemptParts {
  readonly sessions: Sessions
  readonly clock: Clock
  readonly tell: Tell
  readonly newSessionId: () => string
  /** Asked for with each run. */
  settings(): {
    readonly maxTurns: number
    readonly allowedTools: readonly string[]
    readonly permissionMode: PermissionMode
    readonly workingDir: string
    readonly silenceMs: number
    readonly ceilingMs: number
    /** For times of day in what a CLI says; asked for when needed, which is seldom and dear. */
    readonly timezone: () => string
  }
  systemPrompt(event: NewEvent, backend: string): Promise<string>
  /** The MCP servers for this run, and what its system prompt must say of its tools; `leave` when it is over. */
  equip(
    taken: Taken<NewEvent>,
    backend: string,
  ): { readonly mcpServers: readonly McpServer[]; readonly words: string; leave(): void }
  /** Puts the words of the events, and what must be said around them, into one prompt. */
  compose(prompt: {
    event: NewEvent
    /** Answered together with it, oldest first. */
    earlier: readonly NewEvent[]
    history: readonly Said[]
    /** The session knows the conversation except for `history`, which another backend answered. */
    resumed: boolean
    interrupted: boolean
  }): string
  /** The conversation was begun anew after this event came. */
  isCut(taken: Taken<NewEvent>): boolean
  /** What was asked and answered after this event; 0: all that may be handed over. */
  history(lane: string, after: number): readonly Said[]
}

export interface Attempt {
  readonly backend: string
  readonly ended: Ended
  readonly text: string
  /** A tool ran. */
  readonly acted: boolean
  readonly sessionWasLost: boolean
}

interface Heard {
  readonly ended: Ended
  readonly text: string
  readonly acted: boolean
  readonly firstWordMs: number | null
  readonly used: UsageTold | null
}

/** A session that is lost is begun afresh, once, with the history handed over. */
export function openAttempts(parts: AttemptParts) {
  const { sessions, clock, tell } = parts

  return async (taken: Taken<NewEvent>, candidate: Candidate, live: Live, signal: AbortSignal): Promise<Attempt> => {
    const backend = candidate.backend.name
    const run = () => runOnce(taken, candidate, live, signal)
    let heard = await run()
    let sessionWasLost = false
    if (!heard.ended.ok && heard.ended.why === 'session-lost' && !heard.acted && !signal.aborted) {
      sessionWasLost = await forgetSession(taken.lane, backend)
      heard = await run()
    }
    const { ended, text, acted } = heard
    return { backend, ended: withEnd(ended), text, acted, sessionWasLost }
  }

  async function runOnce(
    taken: Taken<NewEvent>,
    { backend, model }: Candidate,
    live: Live,
    signal: AbortSignal,
  ): Promise<Heard> {
    const { id, lane, attempt, interrupted } = taken
    const began = clock.now()
    if (beginsAnew(taken)) await sessions.forget(lane, backend.name)
    const known = await sessions.find(lane, backend.name)
    const [prompted, session] = await Promise.all([
      parts.systemPrompt(taken.item, backend.name),
      sessionFor(lane, backend, known),
    ])
    const { silenceMs, ceilingMs, timezone: _, ...wishes } = parts.settings()
    const prompt = promptFor(taken, known)
    const { mcpServers, words, leave } = parts.equip(taken, backend.name)
    const systemPrompt = withWords(prompted, words)
    const turn: Turn = { prompt, systemPrompt, session, model, mcpServers, ...wishes }
    tell({ type: 'turn-began', id, lane, backend: backend.name, attempt, resumed: known !== null, interrupted })
    tell({ type: 'turn-asked', id, lane, backend: backend.name, model, prompt, system: systemPrompt })
    const run = watchRun(inner => backend.run(turn, inner), { silenceMs, ceilingMs }, clock, signal)
    const heard = await follow(run, taken, backend.name, live).finally(leave)
    const usage = heard.used && usageOfTurn(heard.used, known ? known.totals : nothing)
    await settleSession(taken, backend.name, known, heard, usage?.totals ?? null).catch(troubled)
    const { ended, firstWordMs, used } = heard
    tell({
      ...{ type: 'turn-ended', id, lane, source: taken.item.source, kind: taken.item.what.kind },
      person: personOf(taken.item),
      backend: backend.name,
      model: used?.model ?? model,
      ms: clock.now() - began,
      firstWordMs,
      ok: ended.ok,
      why: ended.ok ? null : ended.why,
      detail: ended.ok ? '' : withoutWords(ended.detail, prompt),
      usage: usage?.turn ?? null,
    })
    return heard
  }

  /** Listens until the end; the events themselves go to the live view. */
  async function follow(
    events: AsyncIterable<AgentEvent>,
    taken: Taken<NewEvent>,
    backend: string,
    live: Live,
  ): Promise<Heard> {
    const { id, lane } = taken
    const began = clock.now()
    const heard = { text: '', acted: false, firstWordMs: null as number | null, used: null as UsageTold | null }
    for await (const event of events) {
      switch (event.type) {
        case 'started':
          if (event.session !== null && !parts.isCut(taken)) await confirm(lane, backend, event.session)
          break
        case 'text':
          if (heard.firstWordMs === null) {
            heard.firstWordMs = clock.now() - began
            tell({ type: 'turn-spoke', id, lane, afterMs: heard.firstWordMs })
          }
          heard.text += event.delta
          live.text(event.delta)
          break
        case 'action':
          heard.acted = true
          tell({ type: 'turn-acted', id, lane, label: event.label, phase: event.phase })
          live.action(event.label, event.phase)
          break
        case 'usage':
          heard.used = event
          break
        case 'ended':
          return { ...heard, ended: event }
        default:
          event satisfies never
      }
    }
    const detail = 'the backend fell silent without an end'
    return { ...heard, ended: { type: 'ended', ok: false, why: 'crashed', detail } }
  }

  /** A disk that does not take it now must not end a turn that runs. */
  async function confirm(lane: string, backend: string, session: string): Promise<void> {
    await sessions.remember(lane, backend, session, true).catch(troubled)
  }

  function troubled(error: unknown): void {
    tell({ type: 'workspace-trouble', file: 'the database', why: String(error) })
  }

  /** A new session gets its id on disk before it begins, so that a crash at any moment finds it again. */
  async function sessionFor(lane: string, backend: Backend, known: Session | null): Promise<Turn['session']> {
    if (known) return { id: known.id, resume: true }
    if (!backend.takesSessionIds) return null
    const id = parts.newSessionId()
    await sessions.remember(lane, backend.name, id, false)
    return { id, resume: false }
  }

  async function settleSession(
    taken: Taken<NewEvent>,
    backend: string,
    known: Session | null,
    { ended, text, acted }: Heard,
    totals: Usage | null,
  ): Promise<void> {
    const { id, lane } = taken
    const now = await sessions.find(lane, backend)
    // An id that the backend never took up would be "lost" next time.
    if (parts.isCut(taken) || (!ended.ok && !known && !now?.confirmed)) return sessions.forget(lane, backend)
    // It has heard the message also when it was stopped or failed on the way.
    const heardIt = ended.ok || ended.why === 'stopped' || acted || text !== ''
    const before = known === null ? nothing : now?.id === known.id ? known.totals : null
    sessions.advance(lane, backend, heardIt ? id : (known?.through ?? 0), totals ?? before)
  }

  /** True if the person should hear of it: there was a conversation to lose. */
  async function forgetSession(lane: string, backend: string): Promise<boolean> {
    const known = await sessions.find(lane, backend)
    await sessions.forget(lane, backend)
    if (!known?.confirmed) return false
    tell({ type: 'session-lost', lane })
    return true
  }

  function promptFor(taken: Taken<NewEvent>, known: Session | null): string {
    const said = standsAlone(taken.item) ? [] : parts.history(taken.lane, known?.through ?? 0)
    return parts.compose({
      event: taken.item,
      earlier: taken.earlier.map(one => one.item),
      history: said.filter(one => one.state === 'answered'),
      resumed: known !== null,
      interrupted: taken.interrupted,
    })
  }

  function withEnd(ended: Ended): Ended {
    if (ended.ok || ended.why !== 'rate-limited' || ended.until !== undefined) return ended
    const until = limitEnd(ended.detail, clock.now(), parts.settings().timezone())
    return until === null ? ended : { ...ended, until }
  }
}

/** Jobs, hooks and webhooks begin each time afresh: a session that grew with every run would cost more with every run. */
const standsAlone = ({ what: { kind } }: NewEvent) =>
  kind === 'heartbeat' || kind === 'cron' || kind === 'hook' || kind === 'webhook'

const beginsAnew = ({ item, attempt, retries, interrupted }: Taken<NewEvent>) =>
  standsAlone(item) && attempt === 1 && retries === 0 && !interrupted

/** Behind all else: the longest part stays the same from turn to turn. */
export const withWords = (systemPrompt: string, words: string): string =>
  words === '' ? systemPrompt : `${systemPrompt}\n\n${words}`

const personOf = (event: NewEvent) => behalfOf(event).person

/** A CLI may repeat the prompt in its last words; what people said must not reach the log with them. */
function withoutWords(detail: string, prompt: string): string {
  const pieces = prompt.split('\n').flatMap(line => line.trim().match(/.{1,24}/gsu) ?? [])
  return pieces.filter(piece => piece.length >= 4).reduce((text, piece) => text.replaceAll(piece, '…'), detail)
}
