// The chat commands, and what they act on.
import { backendNames, permissionModes, type Verbosity, verbosities } from '../../base/agent.ts'
import type { LaneKey, NewEvent } from '../../base/event.ts'
import type { Jobs } from '../../base/jobs.ts'
import type { Lanes } from '../../base/lanes.ts'
import type { MemoryLog, MemorySearch } from '../../base/memory.ts'
import type { SubAgents } from '../../base/subagents.ts'
import { type Clock, day } from '../../base/time.ts'
import { startOfDay, writtenTime } from '../../base/zone.ts'
import { type LiveConfig, reloadInWords } from '../../config/index.ts'
import { type Budget, createCommands } from '../../intake/index.ts'
import type { Cooldowns, Route, Steering } from '../../run/index.ts'
import { workDocument } from '../../send/index.ts'
import type { ConversationSettings, SessionStore, UsageStore, WorkStore } from '../../store/index.ts'
import type { GatewayStatus } from '../../ui/index.ts'
import type { OpenBackends } from './backends.ts'
import type { Stores } from './stores.ts'

export interface CommandsParts {
  readonly live: LiveConfig
  readonly clock: Clock
  readonly backends: OpenBackends
  readonly route: Route
  readonly cooldowns: Pick<Cooldowns, 'end'>
  readonly conversationSettings: ConversationSettings
  readonly sessions: SessionStore
  readonly inbox: Lanes<NewEvent>
  readonly steering: Pick<Steering, 'steer'>
  readonly history: Pick<Stores['history'], 'before'>
  readonly usage: UsageStore
  readonly budget: Budget
  readonly subagents: SubAgents
  readonly status: () => GatewayStatus
  readonly jobs: Jobs
  readonly memory: MemorySearch & MemoryLog
  readonly work: Pick<WorkStore, 'lastOf'>
  verbosityOf(lane: LaneKey): Verbosity
}

export function gatewayCommands(parts: CommandsParts) {
  const { live, clock, backends, route, conversationSettings, sessions, inbox, usage, subagents } = parts
  return createCommands({
    backends: backendNames,
    answering(lane) {
      const [{ backend, model }] = route(lane, 'message')
      return { backend: backend.name, model }
    },
    async choose(lane, choice) {
      await conversationSettings.choose(lane, choice)
      // Choosing a backend by name ends its cooldown: the owner may have just logged in.
      if (choice.backend !== null) parts.cooldowns.end(choice.backend)
      // Messages deferred by another backend's limit need not wait any longer.
      void inbox.wake(lane)
    },
    check: async name =>
      (await backends.named(name)?.check(AbortSignal.timeout(20_000))) ?? {
        ok: false,
        detail: `${name} is not known.`,
      },
    checkModel: async (name, model) =>
      (await backends
        .named(name)
        ?.checkModel?.(model, live.current().configDir, AbortSignal.timeout(20_000))
        .catch(() => null)) ?? null,
    async startOver(lane) {
      await sessions.forgetLane(lane)
      await conversationSettings.startOver(lane)
    },
    stop: inbox.stop,
    steer: lane => parts.steering.steer(lane),
    lastText: lane =>
      parts.history.before(lane, null, 20).messages.findLast(({ role }) => role === 'user')?.text ?? null,
    modes: permissionModes,
    mode(lane) {
      const own = conversationSettings.mode(lane)
      return { mode: own ?? live.current().permissionMode, own: own !== null }
    },
    chooseMode: (lane, mode) =>
      conversationSettings.chooseMode(lane, permissionModes.find(one => one === mode) ?? null),
    waiting: async lane =>
      (await inbox.waiting(lane)).map(({ item, position }) => ({
        position,
        text: 'text' in item.what ? item.what.text : '',
      })),
    status: parts.status,
    reload: async () => reloadInWords(await live.reloadOnRequest()),
    subagents,
    now: clock.now,
    usage: () => ({
      today: usage.since(startOfDay(clock.now(), live.current().timezone)),
      month: usage.since(clock.now() - 30 * day),
      budget: parts.budget.view(),
    }),
    lastUsage: usage.lastOf,
    work(lane) {
      const found = parts.work.lastOf(lane)
      if (!found) return null
      return { steps: found.items.filter(({ kind }) => kind === 'action').length, document: workDocument(found) }
    },
    verbosities,
    verbosity: lane => ({ verbosity: parts.verbosityOf(lane), own: conversationSettings.verbosity(lane) !== null }),
    chooseVerbosity: (lane, how) =>
      conversationSettings.chooseVerbosity(lane, verbosities.find(one => one === how) ?? null),
    jobs: parts.jobs,
    memory: parts.memory,
    time: ms => writtenTime(ms, live.current().timezone),
  })
}
