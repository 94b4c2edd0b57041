// Which backend answers an event: the one chosen for the conversation, else for this kind of event, else for all; then the fallbacks.
// A backend that failed recently is in cooldown, and the next one is asked first.
import type { Backend, FailureReason } from '../base/agent.ts'
import { agentOf, type EventPayload, type LaneKey, type ModelOverride, type Task } from '../base/event.ts'
import type { Emit } from '../base/signal.ts'
import type { Clock } from '../base/time.ts'

export interface Candidate {
  readonly backend: Backend
  readonly model: string | null
}

export interface RouteParts {
  /** Functions, because these settings may change while the gateway runs. */
  main(): Candidate
  models(): Readonly<Partial<Record<Task, ModelOverride>>>
  /** Names of the backends that take over when one cannot answer, in this order. */
  fallback(): readonly string[]
  /** Null: there is no such backend. */
  named(name: string): Backend | null
  choice(lane: LaneKey): ModelOverride
}

/** At least one candidate, each backend once. `modelOverride`: what the event itself asks for. */
export type Route = (
  lane: LaneKey,
  kind: EventPayload['kind'],
  modelOverride?: ModelOverride,
) => readonly [Candidate, ...Candidate[]]

export function createRoutes({ named, choice, ...parts }: RouteParts): Route {
  /** A model belongs to its backend. If another backend is chosen without a model, it uses its own default. */
  const overridden = (modelOverride: ModelOverride | undefined, otherwise: Candidate): Candidate => {
    const backend = modelOverride?.backend ? (named(modelOverride.backend) ?? otherwise.backend) : otherwise.backend
    return { backend, model: modelOverride?.model ?? (backend === otherwise.backend ? otherwise.model : null) }
  }
  return (lane, kind, modelOverride) => {
    const [main, models, fallback] = [parts.main(), parts.models(), parts.fallback()]
    const forAll = overridden(models.default, main)
    const task = agentOf(lane) === null ? taskOf(kind) : 'subagent'
    const forTask = task === 'default' ? forAll : overridden(models[task], forAll)
    const first = overridden(modelOverride, overridden(choice(lane), forTask))
    const others = fallback
      .flatMap(name => named(name) ?? [])
      .map(backend => overridden({ backend: backend.name, model: null }, main))
    const seen = new Set([first.backend.name])
    const fallbacks = others.filter(({ backend: { name } }) => !seen.has(name) && seen.add(name))
    return [first, ...fallbacks]
  }
}

function taskOf(kind: EventPayload['kind']): Task {
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

export interface Cooldown {
  readonly backend: string
  readonly why: FailureReason
  readonly until: number
}

export interface Cooldowns {
  /** It failed for a reason that the next message would meet too. `until`: when the backend says that this ends. */
  begin(backend: string, why: FailureReason, until?: number): void
  isCoolingDown(backend: string): boolean
  /** It has not answered since its last cooldown. */
  isWeak(backend: string): boolean
  /** It answered, or somebody chose it: it is asked as before. */
  end(backend: string): void
  list(): readonly Cooldown[]
}

/** The cooldown doubles each time until the backend answers. */
const firstMs = 60_000
const longestMs = 1_800_000

export function openCooldowns(clock: Clock, emit: Emit): Cooldowns {
  const cooldowns = new Map<string, Cooldown & { readonly since: number; readonly times: number }>()
  // A clock that was set back ends the cooldown: otherwise it could last for an unknown time.
  const current = () =>
    [...cooldowns.values()].filter(({ since, until }) => since <= clock.now() && clock.now() < until)

  return {
    begin(backend, why, until) {
      const times = (cooldowns.get(backend)?.times ?? 0) + 1
      const since = clock.now()
      const end = until ?? since + Math.min(longestMs, firstMs * 2 ** (times - 1))
      cooldowns.set(backend, { backend, why, since, times, until: end })
      emit({ type: 'backend-cooldown', backend, why, until: end })
    },
    isCoolingDown: backend => current().some(one => one.backend === backend),
    isWeak: backend => cooldowns.has(backend),
    end: backend => void cooldowns.delete(backend),
    list: () => current().map(({ backend, why, until }) => ({ backend, why, until })),
  }
}
