// Who answers an event: what was chosen for the conversation, else for this kind of event, else for all; then the stand-bys.
import type { Backend } from '../base/agent.ts'
import { agentOf } from '../base/agents.ts'
import type { Happening, LaneKey, Task, Wish } from '../base/event.ts'

export interface Candidate {
  readonly backend: Backend
  readonly model: string | null
}

export interface RouteParts {
  /** What may change while we run is asked for each time. */
  main(): Candidate
  models(): Readonly<Partial<Record<Task, Wish>>>
  /** Names of backends that take over when one cannot answer, in this order. */
  fallback(): readonly string[]
  /** Null: there is no such backend. */
  named(name: string): Backend | null
  choice(lane: LaneKey): Wish
}

/** At least one, each backend once. `wish`: what the event itself asks for. */
export type Route = (lane: LaneKey, kind: Happening['kind'], wish?: Wish) => readonly [Candidate, ...Candidate[]]

export function openRoutes({ named, choice, ...parts }: RouteParts): Route {
  /** A model belongs to its backend: another backend without a word about the model takes its own default. */
  const wished = (wish: Wish | undefined, otherwise: Candidate): Candidate => {
    const backend = wish?.backend ? (named(wish.backend) ?? otherwise.backend) : otherwise.backend
    return { backend, model: wish?.model ?? (backend === otherwise.backend ? otherwise.model : null) }
  }
  return (lane, kind, wish) => {
    const [main, models, fallback] = [parts.main(), parts.models(), parts.fallback()]
    const forAll = wished(models.default, main)
    const task = agentOf(lane) === null ? taskOf(kind) : 'subagent'
    const forTask = task === 'default' ? forAll : wished(models[task], forAll)
    const first = wished(wish, wished(choice(lane), forTask))
    const others = fallback
      .flatMap(name => named(name) ?? [])
      .map(backend => wished({ backend: backend.name, model: null }, main))
    const seen = new Set([first.backend.name])
    const standBys = others.filter(({ backend: { name } }) => !seen.has(name) && seen.add(name))
    return [first, ...standBys]
  }
}

function taskOf(kind: Happening['kind']): Task {
  switch (kind) {
    case 'heartbeat':
    case 'cron':
    case 'hook':
    case 'webhook':
      return kind
    case 'assignment':
      return 'subagent'
    case 'message':
    case 'command':
    case 'report':
      return 'default'
    default:
      return kind satisfies never
  }
}
