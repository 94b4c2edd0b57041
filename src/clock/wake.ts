// The event a job becomes when it fires.
import { backendNames } from '../base/agent.ts'
import type { LaneKey, NewEvent, Place, Wish } from '../base/event.ts'
import type { Job } from '../base/jobs.ts'

export const laneOf = ({ kind, name }: Pick<Job, 'kind' | 'name'>): LaneKey => `${kind}:${name}`

/** `moment` makes it one event however often it is put: the due time, or `now-…` for a run by hand. */
export function eventOf(job: Job, moment: string, replyTo: Place | null): NewEvent {
  const { kind, name, instruction } = job
  return {
    key: `${laneOf(job)}@${moment}`,
    lane: laneOf(job),
    what: { kind, name, instruction },
    replyTo,
    source: kind,
    ...(job.model !== null && { wish: wishOf(job.model) }),
  }
}

/** `codex/gpt-5` names a backend; `anthropic/claude` is the name of a model. */
function wishOf(model: string): Wish {
  const slash = model.indexOf('/')
  const backend = backendNames.find(name => name === model.slice(0, Math.max(slash, 0)))
  if (backend === undefined) return { backend: null, model }
  return { backend, model: model.slice(slash + 1) || null }
}
