// The commands of the chat, with what they act upon.
import { backendNames } from '../base/agent.ts'
import type { SubAgents } from '../base/agents.ts'
import type { NewEvent } from '../base/event.ts'
import type { Jobs } from '../base/jobs.ts'
import type { Lanes } from '../base/lanes.ts'
import type { MemoryLog, MemorySearch } from '../base/memory.ts'
import type { Clock } from '../base/time.ts'
import { fromWallTime, wallTime, writtenTime } from '../base/zone.ts'
import { type Budget, openCommands } from '../intake/index.ts'
import type { Route } from '../run/index.ts'
import type { Conversations, SessionStore, UsageBook } from '../store/index.ts'
import type { OpenBackends } from './backends.ts'
import { type LiveConfig, reloadInWords } from './live.ts'
import type { openStatus } from './status.ts'

const day = 86_400_000

export interface CommandsParts {
  readonly live: LiveConfig
  readonly clock: Clock
  readonly backends: OpenBackends
  readonly route: Route
  readonly conversations: Conversations
  readonly sessions: SessionStore
  readonly inbox: Lanes<NewEvent>
  readonly usage: UsageBook
  readonly budget: Budget
  readonly subagents: SubAgents
  readonly status: ReturnType<typeof openStatus>['status']
  readonly jobs: Jobs
  readonly memory: MemorySearch & MemoryLog
}

export function gatewayCommands(parts: CommandsParts) {
  const { live, clock, backends, route, conversations, sessions, inbox, usage, subagents } = parts
  return openCommands({
    backends: backendNames,
    answering(lane) {
      const [{ backend, model }] = route(lane, 'message')
      return { backend: backend.name, model }
    },
    async choose(lane, choice) {
      await conversations.choose(lane, choice)
      // What waits for somebody else's limit need not wait any longer.
      void inbox.wake(lane)
    },
    check: async name =>
      (await backends.named(name)?.check(AbortSignal.timeout(20_000))) ?? {
        ok: false,
        detail: `${name} is not known.`,
      },
    async beginAnew(lane) {
      await sessions.forgetLane(lane)
      await conversations.beginAnew(lane)
    },
    stop: inbox.stop,
    waiting: async lane =>
      (await inbox.waiting(lane)).map(({ item, position }) => ({
        position,
        text: 'text' in item.what ? item.what.text : '',
      })),
    status: parts.status,
    reload: async () => reloadInWords(await parts.live.reload()),
    subagents,
    now: clock.now,
    usage: () => ({
      today: usage.since(startOfDay(clock.now(), live.current().timezone)),
      month: usage.since(clock.now() - 30 * day),
      budget: parts.budget.view(),
    }),
    jobs: parts.jobs,
    memory: parts.memory,
    time: ms => writtenTime(ms, live.current().timezone),
  })
}

export function startOfDay(now: number, zone: string): number {
  return fromWallTime({ ...wallTime(now, zone), hour: 0, minute: 0 }, zone)
}
