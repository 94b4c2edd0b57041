// Assembles the gateway from its parts. Only wiring: an `if` about behaviour here means that a part is missing.
import { randomBytes, randomInt } from 'node:crypto'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { AttachmentsAdmin } from '../base/attachments.ts'
import { createClicks } from '../base/buttons.ts'
import type { ChatAdapter } from '../base/chat.ts'
import { type LaneKey, readPlace } from '../base/event.ts'
import { once } from '../base/once.ts'
import type { Emit, Signal } from '../base/signal.ts'
import { subAgentLimits } from '../base/subagents.ts'
import type { Clock } from '../base/time.ts'
import { startOfDay } from '../base/zone.ts'
import { createSettings, type LiveConfig } from '../config/index.ts'
import { createBootTask } from '../hooks/index.ts'
import { createBudget, createDescentLimits } from '../intake/index.ts'
import { createSkillsAdmin, createWorkspace, markOf, wordsOf } from '../prompt/index.ts'
import { createRoutes, createSteering, openCooldowns, openSubAgents, type TempDirs } from '../run/index.ts'
import { createNotices, createUnprompted, notifyOfBudget, workLines } from '../send/index.ts'
import {
  byHand,
  createLogins,
  createLogReader,
  createSessionsAdmin,
  type Database,
  lossNote,
  type Surroundings,
  sweepDrafts,
} from '../store/index.ts'
import { createStatus } from '../ui/index.ts'
import { logSignal } from './log.ts'
import { ownerlessChats } from './ownerless.ts'
import { productRoot } from './product-root.ts'
import { logDir } from './state-folder.ts'
import type { OpenBackends } from './wiring/backends.ts'
import { chatNames } from './wiring/chat-names.ts'
import { createChats, createIntakeWiring, createQueues, createReplies } from './wiring/chats.ts'
import { archivedAfter, createMemoryWiring } from './wiring/memory.ts'
import { openOverview } from './wiring/overview.ts'
import { createPermissionsWiring, permissionsAdmin } from './wiring/permissions.ts'
import { placeObjection } from './wiring/place-objection.ts'
import { createRequestsWiring } from './wiring/requests.ts'
import { createStores } from './wiring/stores.ts'
import { createTriggers } from './wiring/triggers.ts'
import { createToolWiring, createTurnWiring } from './wiring/turns.ts'
import { showsMemoryToGuests, type Walls } from './wiring/walls.ts'

export interface BuildParts {
  readonly live: LiveConfig
  readonly db: Database
  readonly tempDirs: TempDirs
  readonly backends: OpenBackends
  readonly walls: Walls
  readonly clock: Clock
  readonly log: Logger
  readonly version: string
  /** The command that starts the gateway's MCP server. */
  readonly bridge: { readonly command: string; readonly args: readonly string[] }
  scrub(text: string): string
  /** Removes only the secrets. */
  hide(text: string): string
  ready(): boolean
  /** The value of an environment variable. */
  variable(name: string): string | null
  /** Where the CLIs, and the gateway itself, find files outside of the workspace. */
  readonly around: Surroundings
  /** The gateway's own address; known once it listens. */
  readonly address: { readonly url: string }
}

export type Gateway = Awaited<ReturnType<typeof buildGateway>>

export async function buildGateway(parts: BuildParts) {
  const { live, db, tempDirs, backends, clock, log, version, scrub, ready } = parts
  /** The configuration at start. `live` has the values that may have changed since. */
  const config = live.current()
  const listeners: ((signal: Signal) => void)[] = [signal => logSignal(log, signal)]
  const emit: Emit = signal => {
    for (const listener of listeners) listener(signal)
  }

  const stores = createStores({ live, db, clock, emit })
  const { queueStore, sessions, conversationSettings, usage, pairing, conversations } = stores
  listeners.push(usage.listen)
  const workspace = createWorkspace({
    dir: config.configDir,
    emit,
    shippedSkills: join(productRoot(), 'templates/skills'),
    approved: file => memoryWiring.fileGuard.approved(file),
  })

  const skills = createSkillsAdmin({
    dir: config.configDir,
    templates: join(productRoot(), 'templates'),
    approved: file => memoryWiring.fileGuard.approved(file),
  })

  const verbosityOf = (lane: LaneKey) => conversationSettings.verbosity(lane) ?? live.current().verbosity
  const chats = new Map<string, ChatAdapter>()
  const { attached, scopeOf, deliveries, deliver, followUpsOf } = createReplies({
    ...{ live, clock, emit, chats, scrub },
    attachments: stores.history.attachments,
    workListed: (event, lane) => (verbosityOf(lane) === 'full' ? workLines(mission.work.of(event)) : ''),
    reports: (taken, wording) => subagents.reports(taken, wording),
  })
  const bug = (error: unknown) => log.error({ err: error }, 'internal error')

  const { inbox, outbox } = await createQueues({ queueStore, db, clock, config, emit, followUpsOf, deliver, bug })
  const descent = createDescentLimits({
    store: stores.descents,
    rules: ({ owner }) => live.current().views.descent[owner ? 'owner' : 'guest'],
    now: clock.now,
  })
  const subagents = openSubAgents({
    store: stores.store,
    inbox,
    accept: event => intake.accept(event),
    clock,
    limits: { ...subAgentLimits, perGuest: () => live.current().guest.subagents },
    takeTurns: descent.takeTurns,
    newId: () => randomInt(36 ** 3, 36 ** 4).toString(36),
  })

  queueStore.watch('in', () => subagents.notify())

  const route = createRoutes({
    main: () => ({ backend: backends.main, model: live.current().agent.model }),
    models: () => live.current().views.models,
    fallback: () => live.current().agent.fallback,
    named: backends.named,
    choice: conversationSettings.choice,
  })
  const cooldowns = openCooldowns(clock, emit)
  const names = chatNames(config)
  const placeOf = (channel: string | null) => readPlace(channel ?? live.current().heartbeat.defaultChannel, names)
  const notify = createNotices({ outbox, place: () => placeOf(null), warn: text => log.warn(text) })
  const today = () => startOfDay(clock.now(), live.current().timezone)
  const budget = createBudget({
    rules: () => live.current().budget,
    spent: () => usage.spentSince(today()),
  })
  const memoryWiring = createMemoryWiring({
    ...{ live, db, clock, emit, scrub, notify },
    hide: parts.hide,
    around: parts.around,
  })
  listeners.push(signal => {
    if (archivedAfter.has(signal.type)) memoryWiring.archive()
  })
  const triggers = createTriggers({
    ...{ live, db, clock, emit, inbox, outbox, chats, budget, placeOf },
    accept: event => intake.accept(event),
    fileGuard: memoryWiring.fileGuard,
    variable: parts.variable,
    broke: bug,
  })
  const mission = await openOverview({
    ...{ live, db, clock, emit, inbox, usage, jobs: triggers.jobs, openRequests: stores.requests.countOpen },
    status: () => report.status(),
    hide: parts.hide,
  })
  listeners.push(...mission.listeners)
  const steering = createSteering({
    inbox: () => inbox,
    words: event => wordsOf(event, markOf(randomBytes(10).toString('hex'))),
    followUps: event =>
      deliveries(
        { key: event.key, item: event, earlier: [] },
        { kind: 'final', ok: true, text: 'Told to the turn that was running.' },
      ),
  })
  const { commands, gate, intake } = createIntakeWiring({
    ...{ steering, history: stores.history, outbox, bug },
    ...{ live, clock, emit, backends, route, cooldowns, inbox, budget, subagents, deliveries, descent },
    ...{ conversationSettings, sessions, usage, pairing },
    jobs: triggers.jobs,
    memory: memoryWiring.memory,
    work: mission.work,
    verbosityOf,
    status: () => report.status(),
  })
  const clicks = createClicks()
  const { webchat, uploads, farChats, connected, listen } = await createChats({
    ...{ live, clock, emit, chats, stores, inbox, outbox, intake, gate, commands, attached, clicks, steering, bug },
  })
  listeners.push(listen)

  const permissions = createPermissionsWiring(config.configDir, memoryWiring.fileGuard)
  const requests = createRequestsWiring({
    ...{ live, clock, emit, chats, clicks, inbox, outbox, store: stores.requests, conversationSettings },
    ...{ hide: parts.hide, broke: bug },
    permissions,
    accept: event => intake.accept(event),
    ownersPlace: () => placeOf(null),
  })
  listeners.push(requests.listen)
  const { toolServer, equipment } = createToolWiring({
    askUser: requests.question,
    live,
    emit,
    takeMessage: descent.takeMessage,
    messages: {
      ...createUnprompted({ chats, attached, outbox }),
      scopeOf,
      objection: place => placeObjection(live.current(), place),
    },
    jobs: triggers.jobs,
    memory: { ...memoryWiring.memory, isOpenToGuests: () => showsMemoryToGuests(live.current()) },
    facts: memoryWiring.brain,
    tasks: memoryWiring.tasks,
    content: memoryWiring.content,
    agents: subagents,
    bridge: parts.bridge,
    address: parts.address,
    broke: (tool, error) => log.error({ err: error, tool }, 'tool failed'),
  })

  const { takeTurn, prewarm } = createTurnWiring({
    ...{
      live,
      clock,
      emit,
      chats,
      stores,
      route,
      cooldowns,
      workspace,
      equipment,
      subagents,
      followUpsOf,
      requests,
      steering,
      verbosityOf,
    },
    walls: parts.walls,
    fileGuard: memoryWiring.fileGuard,
    hook: triggers.hook,
  })

  const bootTask = createBootTask({
    ...{ inbox, placeOf, store: stores.boots, now: clock.now },
    accept: event => intake.accept(event),
    instructions: workspace.bootInstructions,
  })

  const loss = lossNote(db.lost)
  const report = await createStatus({
    version,
    backend: backends.main.name,
    startedAt: clock.now(),
    chats: farChats,
    ready,
    now: clock.now,
    counts: queueStore.counts,
    delayed: queueStore.delayed,
    budget: budget.view,
    openRequests: stores.requests.countOpen,
    database: db,
    notes: loss === null ? [] : [loss],
    resting: cooldowns.list,
    walls: parts.walls.view,
  })
  listeners.push(report.listen)
  listeners.push(signal => {
    const view = signal.type === 'turn-ended' ? budget.view() : null
    if (view) notifyOfBudget(view, today(), notify)
  })
  await subagents.recover()

  return {
    workspace,
    triggers,
    subagents,
    memoryWiring,
    inbox,
    outbox,
    webchat,
    chats: [...chats.values()],
    connected,
    intake,
    gate,
    requests,
    toolServer,
    conversations,
    logins: (token: string) => createLogins(db, clock, token),
    admin: {
      mission: mission.admin,
      pairing,
      jobs: triggers.jobs,
      sessions: createSessionsAdmin(sessions, conversationSettings, clock),
      memory: memoryWiring.memory,
      subagents,
      requests: requests.admin,
      permissions: permissionsAdmin(permissions, clock),
      records: memoryWiring,
      files: memoryWiring.fileGuard.own,
      skills,
      settings: once(() =>
        createSettings({
          live,
          file: {
            approved: () => memoryWiring.fileGuard.approved('bot-config.json'),
            edit: change => memoryWiring.fileGuard.edit('bot-config.json', byHand, change),
          },
        }),
      ),
      logs: async () => ({
        ...(await createLogReader(logDir(config.configDir))),
        kept: config.views.log.file !== null,
      }),
    },
    attachments: { take: uploads.take, uploaded: uploads.uploaded, sent: attached.download } satisfies AttachmentsAdmin,
    emit,
    report,
    bootTask,
    /** Handles the inbox. Turns that still run when `cut` aborts are interrupted. */
    takeTurns: (cut: AbortSignal): typeof takeTurn => {
      const take = subagents.skipReceived(bootTask.listen(takeTurn))
      return (taken, signal) => take(taken, AbortSignal.any([signal, cut]))
    },
    prewarm,
    deliver,
    /** Remote chats that are on although nobody is allowed to use them yet. */
    ownerless: () => ownerlessChats(farChats, live.current().views.gate, pairing.anybody()),
    /** The database is older than it was before: events accepted since then are lost, and the owner must be notified. */
    async reportLoss() {
      if (loss === null) return
      log.error({ items: db.lost }, loss)
      await notify(`loss:${clock.now()}`, loss)
      db.lossReported()
    },
    /** Runs before the first turn: attributes file changes made while the gateway was down. */
    async settleKilled(survived: boolean) {
      await memoryWiring.begin(queueStore.killed(), survived)
      await queueStore.killedDealtWith()
    },
    async forgetOld(signal: AbortSignal) {
      const gone = await stores.forgetOld(signal)
      await uploads.tidy()
      await sweepDrafts(config.configDir, clock.now())
      return gone
    },
    async flush() {
      await tempDirs.removed()
      await stores.flush()
      await memoryWiring.flush()
      await mission.flush()
    },
  }
}
