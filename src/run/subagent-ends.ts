// The work of sub-agents while it runs, and how it ends: seen from outside, stopped, reported to whoever waits for it.
import { backendNames, type Live } from '../base/agent.ts'
import { agentLane, agentOf, type OpenWork, reportKey, type SubAgentBook } from '../base/agents.ts'
import type { Behalf, LaneKey, NewEvent, ReportTo, Wish } from '../base/event.ts'
import type { FollowUp, Lanes, Taken } from '../base/lanes.ts'
import { excerpt } from '../base/scrub.ts'
import type { Clock } from '../base/time.ts'

export interface EndParts {
  readonly book: SubAgentBook
  readonly inbox: Pick<Lanes<NewEvent>, 'change' | 'stop'>
  readonly clock: Clock
}

/** What a turn in the lane of a sub-agent asks for. */
export interface SubAgentTurns {
  /** Instead of letters, as nobody reads along: a final is reported, a notice concerns nobody. */
  reports(taken: Taken<NewEvent>, wording: End & { readonly kind: 'final' | 'notice' }): readonly FollowUp[]
  live(taken: Taken<NewEvent>): Live
}

interface SubAgentEnds extends SubAgentTurns {
  /** False: there was nothing to stop. */
  stop(id: string): Promise<boolean>
  /** Who hears how this event ended; null: nobody knows any more. */
  targetOf(id: string, event: NewEvent): ReportTo | null
  reportsTo(
    targets: readonly ReportTo[],
    agent: { readonly id: string; readonly name: string },
    item: number,
    end: End,
    behalf?: Behalf,
  ): readonly FollowUp[]
  /** Whether it is `top`, or was started by it or below it. */
  isWithin(id: string | null, top: string): boolean
  isStopping(id: string): boolean
  /** What it does right now; empty: nothing is known. */
  progressOf(id: string): string
}

interface End {
  readonly ok: boolean
  readonly text: string
}

interface Run {
  readonly agent: string
  progress: string
  /** Not null: it is being stopped, and these are to hear of it. */
  stopTo: readonly ReportTo[] | null
}

const longestReport = 100_000
const progressShown = 300
const stopTries = { most: 300, everyMs: 10 }

export function openSubAgentEnds({ book, inbox, clock }: EndParts): SubAgentEnds {
  /** By the keys of the events that it answers. */
  const runs = new Map<string, Run>()

  function targetOf(id: string, { what }: NewEvent): ReportTo | null {
    if (what.kind === 'assignment') return what.reportTo
    const agent = book.find(id)
    return agent && { lane: agent.parent, place: agent.place }
  }

  async function stop(id: string): Promise<boolean> {
    const top = book.find(id)
    if (!top) return false
    const parent = { lane: top.parent, place: top.place }
    /** One report is enough for each, whatever of theirs was stopped. */
    const told = new Set<LaneKey>()
    let stopped = false
    for (let tries = 0; tries < stopTries.most; tries++) {
      const left = book.open().filter(work => isWithin(work.agent, id) && !isStopped(work))
      if (left.length === 0) break
      for (const work of [...left.filter(one => one.agent === id), ...left.filter(one => one.agent !== id)]) {
        // Whoever is stopped as well need not be told; then the parent of all is, if it was not yet.
        const waits = targetOf(work.agent, work.event) ?? parent
        const to = isWithin(agentOf(waits.lane), id) ? parent : waits
        const isNews = !told.has(to.lane)
        if (!(await stopWork(work, isNews ? [to] : []))) continue
        stopped = true
        told.add(to.lane)
      }
      await clock.sleep(stopTries.everyMs, new AbortController().signal)
    }
    return stopped
  }

  const isStopped = ({ key }: OpenWork) => (runs.get(key)?.stopTo ?? null) !== null

  /** False: it is between waiting and working, or just came to its end; the next look will tell. */
  async function stopWork({ agent, item, key, event, state }: OpenWork, to: readonly ReportTo[]): Promise<boolean> {
    if (state === 'waiting') {
      const end = { ok: false, text: 'Stopped before it began.' }
      return inbox.change(key, null, reportsTo(to, nameOf(agent, event), item, end, event.behalf))
    }
    const run = runs.get(key)
    if (!run || !inbox.stop(agentLane(agent))) return false
    run.stopTo = [...(run.stopTo ?? []), ...to]
    await book.stopping(agent, item)
    return true
  }

  function isWithin(id: string | null, top: string): boolean {
    for (let at = id; at !== null; at = agentOf(book.find(at)?.parent ?? '')) if (at === top) return true
    return false
  }

  function nameOf(id: string, { what }: NewEvent) {
    return { id, name: what.kind === 'assignment' ? what.name : (book.find(id)?.name ?? id) }
  }

  function reportsTo(
    targets: readonly ReportTo[],
    { id, name }: { readonly id: string; readonly name: string },
    item: number,
    { ok, text }: End,
    behalf: Behalf = { owner: false, person: null },
  ): readonly FollowUp[] {
    return targets.map(({ lane, place: replyTo }, i) => {
      const key = i === 0 ? reportKey(id, item) : `${reportKey(id, item)}-${i}`
      const up = agentOf(lane)
      const wish = wishOf(up === null ? null : (book.find(up)?.model ?? null))
      const report: NewEvent = {
        ...{ key, lane, replyTo, source: 'agent', behalf },
        what: { kind: 'report', agent: id, name, ok, text: excerpt(text, longestReport) },
        ...(wish && { wish }),
      }
      return { box: 'in', lane, key, item: report }
    })
  }

  const reports: SubAgentTurns['reports'] = (taken, { kind, ...end }) => {
    const run = runs.get(taken.key)
    // From here on it cannot be stopped: its end is on its way to the disk.
    forget(taken, run)
    const id = agentOf(taken.lane)
    if (id === null || kind === 'notice') return []
    const events = [...taken.earlier.map(one => one.item), taken.item]
    const owner = events.every(event => event.behalf?.owner === true)
    const behalf = { owner, person: taken.item.behalf?.person ?? null }
    const targets = run?.stopTo ?? once(events.flatMap(event => targetOf(id, event) ?? []))
    return reportsTo(targets, nameOf(id, taken.item), taken.id, end, behalf)
  }

  function live(taken: Taken<NewEvent>): Live {
    const run: Run = { agent: agentOf(taken.lane) ?? '', progress: '', stopTo: null }
    for (const key of keysOf(taken)) runs.set(key, run)
    let text = ''
    return {
      text(delta) {
        text = (text + delta).slice(-progressShown)
        run.progress = text
      },
      action(doing, phase) {
        if (phase === 'started') run.progress = doing
      },
      close: async () => forget(taken, run),
    }
  }

  function forget(taken: Taken<NewEvent>, run: Run | undefined): void {
    for (const key of keysOf(taken)) if (runs.get(key) === run) runs.delete(key)
  }

  const runsOf = (id: string) => [...runs.values()].filter(run => run.agent === id)

  return {
    reports,
    live,
    stop,
    targetOf,
    reportsTo,
    isWithin,
    isStopping: id => runsOf(id).some(run => run.stopTo !== null),
    progressOf: id => excerpt(runsOf(id)[0]?.progress ?? '', progressShown),
  }
}

const keysOf = ({ key, earlier }: Taken<NewEvent>) => [key, ...earlier.map(one => one.key)]

const once = (targets: readonly ReportTo[]): readonly ReportTo[] => [
  ...new Map(targets.map(one => [one.lane, one])).values(),
]

/** `codex`, `codex/gpt-5`, `/gpt-5` and `gpt-5`; undefined: nothing is wished for. */
export function wishOf(model: string | null): Wish | undefined {
  if (model === null) return undefined
  const [first = '', ...rest] = model.split('/')
  const isBackend = backendNames.some(name => name === first)
  if (isBackend) return { backend: first, model: rest.join('/') || null }
  return { backend: null, model: model.replace(/^\//, '') }
}
