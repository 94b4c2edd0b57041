// Everything that triggers the agent besides chat messages: schedules, webhooks, lifecycle hooks; and the ipc/outbound folder.
import type { ChatAdapter, Delivery } from '../../base/chat.ts'
import { type EventSink, type EventSource, type NewEvent, type Place, placeName } from '../../base/event.ts'
import type { Jobs } from '../../base/jobs.ts'
import type { Lanes } from '../../base/lanes.ts'
import type { Emit } from '../../base/signal.ts'
import type { Clock } from '../../base/time.ts'
import type { ReceiveWebhook } from '../../base/webhook.ts'
import { agentsFileReader, createJobs } from '../../clock/index.ts'
import type { LiveConfig } from '../../config/index.ts'
import { createLifecycle, createOutbound, createWebhooks, type Lifecycle } from '../../hooks/index.ts'
import { type Budget, withinBudget } from '../../intake/index.ts'
import { piecesOf } from '../../send/index.ts'
import { actorCalling, byHand, createJobStates, type Database, type FileGuard } from '../../store/index.ts'
import { runShell } from '../shell.ts'
import { placeObjection } from './place-objection.ts'

export interface TriggersParts {
  readonly live: LiveConfig
  readonly db: Database
  readonly clock: Clock
  readonly emit: Emit
  readonly inbox: Lanes<NewEvent>
  readonly outbox: Lanes<Delivery>
  readonly chats: ReadonlyMap<string, ChatAdapter>
  readonly accept: EventSink
  readonly budget: Budget
  readonly fileGuard: Pick<FileGuard, 'approved' | 'edit' | 'tree'>
  placeOf(channel: string | null): Place | null
  /** The value of an environment variable, for the secrets of webhooks. */
  variable(name: string): string | null
  broke(error: unknown): void
}

export interface Triggers {
  readonly jobs: Jobs
  readonly clockSource: EventSource
  readonly webhook: ReceiveWebhook
  /** Sends the files dropped into ipc/outbound, until the signal. */
  outbound(signal: AbortSignal): Promise<void>
  readonly hook: Lifecycle
}

export function createTriggers(parts: TriggersParts): Triggers {
  const { live, clock, emit, inbox, outbox, chats, accept, budget, fileGuard, placeOf, broke } = parts
  const { configDir } = live.current()
  const agentsFile = agentsFileReader(configDir, fileGuard.approved)

  const { jobs, source } = createJobs({
    dir: configDir,
    clock,
    zone: () => live.current().timezone,
    states: createJobStates(parts.db, clock),
    emit,
    run: (command, signal) => runShell(command, configDir, signal),
    // Otherwise anybody who can write the schedule could run any command, whatever tools they are allowed.
    noCommands: () =>
      live.current().allowedTools.includes('Bash')
        ? null
        : 'commands are allowed only with Bash in ALLOWED_TOOLS; use a file or an address instead.',
    busy: inbox.isBusy,
    heartbeats: () => live.current().heartbeat,
    placeOf,
    objection: place => placeObjection(live.current(), place),
    fileGuard: {
      approved: fileGuard.approved,
      edit: (file, by, change) => fileGuard.edit(file, by ? actorCalling(by) : byHand, change),
    },
    broke,
  })

  return {
    jobs,
    clockSource: {
      name: source.name,
      run: (sink, signal) => source.run(withinBudget(budget, sink), signal),
    },
    webhook: createWebhooks({
      read: agentsFile,
      secret: parts.variable,
      accept,
      placeOf,
      emit,
      now: clock.now,
    }).receive,
    outbound: createOutbound({
      workspace: configDir,
      async put(key, { place, text, files }) {
        const delivery: Delivery = { place, kind: 'final', about: null, text, ok: true, files }
        const put = await outbox.put(placeName(place), key, delivery)
        if (put.type === 'refused') throw new Error('the outbox accepts nothing now')
      },
      // Files moved to sent/ are never checked again, so a chat that is off is refused here.
      placeOf(channel) {
        const place = placeOf(channel)
        return place && chats.has(place.chat) ? place : null
      },
      isInDoubt: fileGuard.tree.isInDoubt,
      split: (place, text, files) => piecesOf(text, files, chats.get(place.chat)?.limits ?? null),
      emit,
      clock,
    }).run,
    hook: createLifecycle({
      read: agentsFile,
      placeOf,
      isAllowed: event => budget.objection(event) === null,
      emit,
      now: clock.now,
    }),
  }
}
