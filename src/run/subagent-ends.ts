// Running work of sub-agents: its progress, how it is stopped, and the reports about its end.
import type { Live } from '../base/agent.ts'
import {
  agentLane,
  agentOf,
  type LaneKey,
  type NewEvent,
  type Principal,
  principalOfAll,
  type ReportTo,
} from '../base/event.ts'
import type { FollowUp, Lanes, Taken } from '../base/lanes.ts'
import { parseModelOverride } from '../base/model-override.ts'
import { excerpt } from '../base/scrub.ts'
import { type OpenWork, reportKey, type SubAgentStore } from '../base/subagents.ts'
import type { Clock } from '../base/time.ts'

export interface EndParts {
  readonly store: SubAgentStore
  readonly inbox: Pick<Lanes<NewEvent>, 'change' | 'stop'>
  readonly clock: Clock
}

/** What a turn in the lane of a sub-agent needs. */
export interface SubAgentTurns {
  /** Reports instead of deliveries, because nobody reads this lane: a final is reported, a notice is dropped. */
  reports(taken: Taken<NewEvent>, wording: End & { readonly kind: 'final' | 'notice' }): readonly FollowUp[]
  live(taken: Taken<NewEvent>): Live
}

interface SubAgentEnds extends SubAgentTurns {
  /** False: there was nothing to stop. */
  stop(id: string): Promise<boolean>
  /** Where the end of this event is reported; null: no longer known. */
  targetOf(id: string, event: NewEvent): ReportTo | null
  reportsTo(
    targets: readonly ReportTo[],
    agent: { readonly id: string; readonly name: string },
    item: number,
    end: End,
    principal?: Principal,
  ): readonly FollowUp[]
  /** Whether it is `top`, or was started by it or below it. */
  isWithin(id: string | null, top: string): boolean
  isStopping(id: string): boolean
  /** What it is doing now; empty: unknown. */
  progressOf(id: string): string
}

interface End {
  readonly ok: boolean
  readonly text: string
}

interface Run {
  readonly agent: string
  progress: string
  /** Not null: it is being stopped, and these get the report. */
  stopTo: readonly ReportTo[] | null
}

const longestReport = 100_000
const progressShown = 300
const stopTries = { most: 300, everyMs: 10 }

export function openSubAgentEnds({ store, inbox, clock }: EndParts): SubAgentEnds {
  /** Keyed by the events that each run answers. */
  const runs = new Map<string, Run>()

  function targetOf(id: string, { what }: NewEvent): ReportTo | null {
    if (what.kind === 'assignment') return what.reportTo
    const agent = store.find(id)
    return agent && { lane: agent.parent, place: agent.place }
  }

  async function stop(id: string): Promise<boolean> {
    const top = store.find(id)
    if (!top) return false
    const parent = { lane: top.parent, place: top.place }
    /** Each gets one report, no matter how much of its work was stopped. */
    const notified = new Set<LaneKey>()
    let stopped = false
    for (let tries = 0; tries < stopTries.most; tries++) {
      const left = store.open().filter(work => isWithin(work.agent, id) && !isStopped(work))
      if (left.length === 0) break
      for (const work of [...left.filter(one => one.agent === id), ...left.filter(one => one.agent !== id)]) {
        // An agent that is stopped too gets no report. The parent of the top agent gets it instead, if it has none yet.
        const waits = targetOf(work.agent, work.event) ?? parent
        const to = isWithin(agentOf(waits.lane), id) ? parent : waits
        const isNews = !notified.has(to.lane)
        if (!(await stopWork(work, isNews ? [to] : []))) continue
        stopped = true
        notified.add(to.lane)
      }
      await clock.sleep(stopTries.everyMs, new AbortController().signal)
    }
    return stopped
  }

  const isStopped = ({ key }: OpenWork) => (runs.get(key)?.stopTo ?? null) !== null

  /** False: it is just starting or just ended. The next round will tell. */
  async function stopWork({ agent, item, key, event, state }: OpenWork, to: readonly ReportTo[]): Promise<boolean> {
    if (state === 'waiting') {
      const end = { ok: false, text: 'Stopped before it began.' }
      return inbox.change(key, null, reportsTo(to, nameOf(agent, event), item, end, event.principal))
    }
    const run = runs.get(key)
    if (!run || !inbox.stop(agentLane(agent))) return false
    run.stopTo = [...(run.stopTo ?? []), ...to]
    await store.stopping(agent, item)
    return true
  }

  function isWithin(id: string | null, top: string): boolean {
    for (let at = id; at !== null; at = agentOf(store.find(at)?.parent ?? '')) if (at === top) return true
    return false
  }

  function nameOf(id: string, { what }: NewEvent) {
    return { id, name: what.kind === 'assignment' ? what.name : (store.find(id)?.name ?? id) }
  }

  function reportsTo(
    targets: readonly ReportTo[],
    { id, name }: { readonly id: string; readonly name: string },
    item: number,
    { ok, text }: End,
    principal?: Principal,
  ): readonly FollowUp[] {
    return targets.map(({ lane, place: replyTo }, i) => {
      const key = i === 0 ? reportKey(id, item) : `${reportKey(id, item)}-${i}`
      const up = agentOf(lane)
      const model = up === null ? null : (store.find(up)?.model ?? null)
      const report: NewEvent = {
        ...{ key, lane, replyTo, source: 'agent' },
        ...(principal && { principal }),
        what: { kind: 'report', agent: id, name, ok, text: excerpt(text, longestReport) },
        ...(model === null ? {} : { modelOverride: parseModelOverride(model) }),
      }
      return { queue: 'in', lane, key, item: report }
    })
  }

  const reports: SubAgentTurns['reports'] = (taken, { kind, ...end }) => {
    const run = runs.get(taken.key)
    // From here on it cannot be stopped: its outcome is being written to disk.
    forget(taken, run)
    const id = agentOf(taken.lane)
    if (id === null || kind === 'notice') return []
    const events = [...taken.earlier.map(one => one.item), taken.item]
    const principal = principalOfAll(events)
    const targets = run?.stopTo ?? once(events.flatMap(event => targetOf(id, event) ?? []))
    return reportsTo(targets, nameOf(id, taken.item), taken.id, end, principal)
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
