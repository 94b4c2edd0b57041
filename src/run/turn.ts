// One turn: an event becomes a run of a backend, and its end an outcome with the letters that tell it.
import type { AgentEvent, Backend, Ended, Live, McpServer, PermissionMode, TurnEnd, Usage } from '../base/agent.ts'
import type { NewEvent } from '../base/event.ts'
import type { Said } from '../base/history.ts'
import type { FollowUp, Outcome, Taken } from '../base/lanes.ts'
import type { Sessions } from '../base/sessions.ts'
import type { Tell } from '../base/signal.ts'
import type { Chance, Clock } from '../base/time.ts'
import { watchRun } from './watch.ts'

export interface TurnParts {
  readonly backend: Backend
  readonly sessions: Sessions
  readonly clock: Clock
  readonly chance: Chance
  readonly tell: Tell
  readonly newSessionId: () => string
  readonly settings: {
    readonly model: string | null
    readonly maxTurns: number
    readonly allowedTools: readonly string[]
    readonly permissionMode: PermissionMode
    readonly mcpServers: readonly McpServer[]
    readonly workingDir: string
    readonly silenceMs: number
    readonly ceilingMs: number
  }
  systemPrompt(): Promise<string>
  /** Puts the words of the event, and what must be said around them, into one prompt. */
  compose(prompt: {
    text: string
    history: readonly Said[]
    interrupted: boolean
    collected: readonly string[]
  }): string
  history(lane: string): readonly Said[]
  openLive(taken: Taken<NewEvent>): Live
  /** The letters for an end; how they are worded and split is not the turn's affair. */
  letters(taken: Taken<NewEvent>, end: TurnEnd): readonly FollowUp[]
  /** A folder of the run's own, gone when `use` has ended. */
  withScratch<T>(use: (dir: string) => Promise<T>): Promise<T>
}

interface Run {
  readonly ended: Ended
  readonly text: string
  readonly acted: boolean
  readonly usage: Usage | null
}

const retries = { most: 3, baseMs: 5000 }

/** The reason an abort carries when it is the gateway that stops, not the person. */
export const cutOff = 'cut-off'

export function openTurns(parts: TurnParts): (taken: Taken<NewEvent>, signal: AbortSignal) => Promise<Outcome> {
  const { backend, sessions, clock, settings, tell } = parts

  return async (taken, signal) => {
    const began = clock.now()
    const live = parts.openLive(taken)
    let lost = false
    let run: Run
    try {
      run = await parts.withScratch(dir => runOnce(taken, live, dir, false, signal))
      if (!run.ended.ok && run.ended.why === 'session-lost') {
        lost = await forgetSession(taken)
        run = await parts.withScratch(dir => runOnce(taken, live, dir, true, signal))
      }
    } finally {
      await live.close()
    }
    const { ended } = run
    tell({
      type: 'turn-ended',
      id: taken.id,
      lane: taken.lane,
      backend: backend.name,
      ms: clock.now() - began,
      ok: ended.ok,
      why: ended.ok ? null : ended.why,
      detail: ended.ok ? '' : withoutWords(ended.detail, promptFor(taken, true)),
      usage: run.usage,
    })
    return outcomeOf(taken, run, lost, signal)
  }

  async function runOnce(
    taken: Taken<NewEvent>,
    live: Live,
    scratchDir: string,
    afresh: boolean,
    signal: AbortSignal,
  ): Promise<Run> {
    const [systemPrompt, session] = await Promise.all([parts.systemPrompt(), sessionFor(taken)])
    const turn = {
      prompt: promptFor(taken, afresh || !session?.resume),
      systemPrompt,
      session,
      model: settings.model,
      maxTurns: settings.maxTurns,
      allowedTools: settings.allowedTools,
      permissionMode: settings.permissionMode,
      mcpServers: settings.mcpServers,
      workingDir: settings.workingDir,
      scratchDir,
    }
    const resumed = session?.resume ?? false
    tell({
      type: 'turn-began',
      id: taken.id,
      lane: taken.lane,
      backend: backend.name,
      attempt: taken.attempt,
      resumed,
      interrupted: taken.interrupted,
    })
    const run = await follow(
      watchRun(
        inner => backend.run(turn, inner),
        { silenceMs: settings.silenceMs, ceilingMs: settings.ceilingMs },
        clock,
        signal,
      ),
      taken,
      live,
    )
    // An id that the backend never took up would be "lost" next time.
    if (!run.ended.ok && session && !session.resume && !(await sessions.find(taken.lane, backend.name))?.confirmed)
      await sessions.forget(taken.lane)
    return run
  }

  /** Listens until the end; the events themselves go to the live view. */
  async function follow(events: AsyncIterable<AgentEvent>, taken: Taken<NewEvent>, live: Live): Promise<Run> {
    const began = clock.now()
    let text = ''
    let acted = false
    let usage: Usage | null = null
    for await (const event of events) {
      switch (event.type) {
        case 'started':
          if (event.session !== null) await confirm(taken.lane, event.session)
          break
        case 'text':
          if (text === '') tell({ type: 'turn-spoke', id: taken.id, lane: taken.lane, afterMs: clock.now() - began })
          text += event.delta
          live.text(event.delta)
          break
        case 'action':
          acted = true
          live.action(event.label, event.phase)
          break
        case 'usage':
          usage = event.usage
          break
        case 'ended':
          return { ended: event, text, acted, usage }
        default:
          event satisfies never
      }
    }
    const ended = {
      type: 'ended',
      ok: false,
      why: 'crashed',
      detail: 'the backend fell silent without an end',
    } as const
    return { ended, text, acted, usage }
  }

  /** A disk that does not take it now must not end a turn that runs. */
  async function confirm(lane: string, session: string): Promise<void> {
    try {
      await sessions.remember(lane, backend.name, session, true)
    } catch (error) {
      tell({ type: 'workspace-trouble', file: 'the database', why: String(error) })
    }
  }

  /** A new session gets its id on disk before it begins, so that a crash at any moment finds it again. */
  async function sessionFor(taken: Taken<NewEvent>): Promise<{ id: string; resume: boolean } | null> {
    const known = await sessions.find(taken.lane, backend.name)
    if (known) return { id: known.id, resume: true }
    if (!backend.takesSessionIds) return null
    const id = parts.newSessionId()
    await sessions.remember(taken.lane, backend.name, id, false)
    return { id, resume: false }
  }

  /** True if the person should hear of it: there was a conversation to lose. */
  async function forgetSession(taken: Taken<NewEvent>): Promise<boolean> {
    const known = await sessions.find(taken.lane, backend.name)
    await sessions.forget(taken.lane)
    if (!known?.confirmed) return false
    tell({ type: 'session-lost', lane: taken.lane })
    return true
  }

  function promptFor(taken: Taken<NewEvent>, newSession: boolean): string {
    return parts.compose({
      text: wordsOf(taken.item),
      history: newSession ? parts.history(taken.lane).filter(said => said.state === 'answered') : [],
      interrupted: taken.interrupted,
      collected: taken.earlier.map(one => wordsOf(one.item)),
    })
  }

  function outcomeOf(taken: Taken<NewEvent>, run: Run, sessionWasLost: boolean, signal: AbortSignal): Outcome {
    const { ended } = run
    const letters = (end: TurnEnd) => parts.letters(taken, end)
    if (ended.ok) return { type: 'done', followUps: letters({ type: 'answered', text: ended.text, sessionWasLost }) }
    if (ended.why === 'stopped')
      return signal.reason === cutOff
        ? { type: 'cut' }
        : { type: 'done', followUps: letters({ type: 'stopped', text: run.text }) }
    const again = retryAt(taken, run)
    if (again !== null) {
      tell({ type: 'turn-put-off', id: taken.id, lane: taken.lane, why: ended.why, until: again.at })
      return { type: 'later', ...again, followUps: letters({ type: 'put-off', why: ended.why, until: again.at }) }
    }
    const { why, detail, until } = ended
    return {
      type: 'failed',
      why,
      followUps: letters({ type: 'failed', why, detail, ...(until === undefined ? {} : { until }) }),
    }
  }

  /** Only what passes by itself, and never after the agent has acted. */
  function retryAt(taken: Taken<NewEvent>, { ended, text, acted }: Run): { at: number; retry: boolean } | null {
    if (ended.ok || acted) return null
    if (ended.why === 'rate-limited' && ended.until !== undefined && ended.until > clock.now())
      return { at: ended.until, retry: false }
    const passes =
      ended.why === 'overloaded' || ended.why === 'rate-limited' || (ended.why === 'crashed' && text === '')
    if (!passes || taken.retries >= retries.most) return null
    return { at: clock.now() + retries.baseMs * 2 ** taken.retries * (0.75 + parts.chance() / 2), retry: true }
  }
}

export function wordsOf({ what }: NewEvent): string {
  return 'text' in what ? what.text : what.instruction
}

/** A CLI may repeat the prompt in its last words; what people said must not reach the log with them. */
function withoutWords(detail: string, prompt: string): string {
  const pieces = prompt.split('\n').flatMap(line => line.trim().match(/.{1,24}/gsu) ?? [])
  return pieces.filter(piece => piece.length >= 4).reduce((text, piece) => text.replaceAll(piece, '…'), detail)
}
