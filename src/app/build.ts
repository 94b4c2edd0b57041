// Puts the parts together. Only wiring: an `if` about behaviour here means that a part is missing.
import { randomInt } from 'node:crypto'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { subAgentLimits } from '../base/agents.ts'
import type { AttachmentsDesk } from '../base/attachments.ts'
import type { ChatAdapter } from '../base/chat.ts'
import { readPlace } from '../base/place.ts'
import type { Signal, Tell } from '../base/signal.ts'
import type { Clock } from '../base/time.ts'
import { openBudget } from '../intake/index.ts'
import { openSkillsDesk, openWorkspace } from '../prompt/index.ts'
import { openRoutes, openSubAgents, type Scratch } from '../run/index.ts'
import { openSaying } from '../send/index.ts'
import { type Database, openLogReader, openSessionsDesk, sweepDrafts } from '../store/index.ts'
import type { OpenBackends } from './backends.ts'
import { openBoxes } from './boxes.ts'
import { openChats } from './chats.ts'
import { startOfDay } from './commands.ts'
import { chatNames } from './discord.ts'
import { logDir } from './folder.ts'
import { openLedgers } from './ledgers.ts'
import { openLettingIn } from './letting-in.ts'
import type { LiveConfig } from './live.ts'
import { logSignal } from './log.ts'
import { openMission } from './mission.ts'
import { openNotices, tellOfBudget } from './notices.ts'
import { ownerlessChats } from './owner.ts'
import { openRemembering } from './remembering.ts'
import { productRoot } from './root.ts'
import { openStatus } from './status.ts'
import { openTelling } from './telling.ts'
import { openTooling } from './tooling.ts'
import { openTurning } from './turning.ts'
import { openWaking } from './waking.ts'

export interface BuildParts {
  readonly live: LiveConfig
  readonly db: Database
  readonly scratch: Scratch
  readonly backends: OpenBackends
  readonly clock: Clock
  readonly log: Logger
  readonly version: string
  /** What starts the MCP server of the gateway. */
  readonly bridge: { readonly command: string; readonly args: readonly string[] }
  scrub(text: string): string
  ready(): boolean
  /** A variable of the environment. */
  variable(name: string): string | null
  /** Where the gateway listens, once it does. */
  url(): string
}

export type Gateway = Awaited<ReturnType<typeof buildGateway>>

export async function buildGateway(parts: BuildParts) {
  const { live, db, scratch, backends, clock, log, version, scrub, ready } = parts
  /** As it was at the start; what may change since is asked of `live`. */
  const config = live.current()
  const listeners: ((signal: Signal) => void)[] = [signal => logSignal(log, signal)]
  const tell: Tell = signal => {
    for (const listener of listeners) listener(signal)
  }

  const ledgers = openLedgers({ live, db, clock, tell })
  const { shelf, sessions, conversations, usage, pairing, talks } = ledgers
  listeners.push(usage.listen)
  const workspace = openWorkspace({
    dir: config.configDir,
    tell,
    shippedSkills: join(productRoot(), 'templates/skills'),
    approved: file => remembering.keeper.approved(file),
  })

  const skills = openSkillsDesk({
    dir: config.configDir,
    templates: join(productRoot(), 'templates'),
    approved: file => remembering.keeper.approved(file),
  })

  const chats = new Map<string, ChatAdapter>()
  const { attached, letters, deliver, told } = openTelling({
    ...{ live, clock, tell, chats, scrub },
    reports: (taken, wording) => subagents.reports(taken, wording),
  })
  const bug = (error: unknown) => log.error({ err: error }, 'a part broke')

  const { inbox, outbox } = await openBoxes({ shelf, clock, config, tell, told, bug })
  const subagents = openSubAgents({
    book: ledgers.book,
    inbox,
    accept: event => intake.accept(event),
    clock,
    limits: subAgentLimits,
    newId: () => randomInt(36 ** 3, 36 ** 4).toString(36),
  })

  const route = openRoutes({
    main: () => ({ backend: backends.main, model: live.current().agent.model }),
    models: () => live.current().models,
    fallback: () => live.current().agent.fallback,
    named: backends.named,
    choice: conversations.choice,
  })
  const names = chatNames(config)
  const placeOf = (channel: string | null) => readPlace(channel ?? live.current().heartbeat.defaultChannel, names)
  const notify = openNotices({ outbox, place: () => placeOf(null), warn: text => log.warn(text) })
  const today = () => startOfDay(clock.now(), live.current().timezone)
  const budget = openBudget({
    rules: () => live.current().budget,
    spent: () => usage.spentSince(today()),
  })
  const remembering = openRemembering({ live, db, clock, tell, scrub, notify })
  listeners.push(remembering.listen)
  const waking = openWaking({
    ...{ live, db, clock, tell, inbox, outbox, chats, budget, placeOf },
    accept: event => intake.accept(event),
    keeper: remembering.keeper,
    variable: parts.variable,
    broke: bug,
  })
  const mission = openMission({
    ...{ live, db, clock, tell, inbox, usage, jobs: waking.jobs },
    status: () => report.status(),
  })
  listeners.push(mission.listen)
  const { commands, gate, intake } = openLettingIn({
    ...{ live, clock, tell, backends, route, inbox, budget, subagents, letters },
    ...{ conversations, sessions, usage, pairing },
    jobs: waking.jobs,
    memory: remembering.memory,
    status: () => report.status(),
  })
  const { webchat, uploads, farChats, connected, listen } = await openChats({
    ...{ live, clock, tell, chats, ledgers, inbox, outbox, intake, gate, commands, attached, bug },
  })
  listeners.push(listen)

  const { desk, equipment } = openTooling({
    live,
    tell,
    speech: openSaying({ chats, attached, outbox }),
    jobs: waking.jobs,
    memory: remembering.memory,
    facts: remembering.brain,
    tasks: remembering.tasks,
    content: remembering.content,
    agents: subagents,
    bridge: parts.bridge,
    url: parts.url,
    broke: (tool, error) => log.error({ err: error, tool }, 'a tool broke'),
  })

  const { takeTurn, prewarm } = openTurning({
    ...{ live, clock, tell, chats, ledgers, route, workspace, equipment, subagents, told },
    keeper: remembering.keeper,
    hook: waking.hook,
  })

  const report = openStatus({
    version,
    backend: backends.main.name,
    startedAt: clock.now(),
    chats: farChats,
    ready,
    now: clock.now,
    counts: shelf.counts,
    budget: budget.view,
  })
  listeners.push(report.listen)
  listeners.push(signal => {
    const view = signal.type === 'turn-ended' ? budget.view() : null
    if (view) tellOfBudget(view, today(), notify)
  })
  await subagents.recover()

  return {
    workspace,
    waking,
    subagents,
    remembering,
    inbox,
    outbox,
    webchat,
    chats: [...chats.values()],
    connected,
    intake,
    gate,
    pairing,
    sessions: openSessionsDesk(sessions, conversations, clock),
    desk,
    skills,
    mission: mission.desk,
    talks,
    attachments: { take: uploads.take, uploaded: uploads.uploaded, sent: attached.download } satisfies AttachmentsDesk,
    settings: once(async () => {
      const { openSettings } = await import('./settings.ts')
      return openSettings({ live, keeper: remembering.keeper })
    }),
    logs: async () => ({ ...(await openLogReader(logDir(config.configDir))), kept: config.log.file !== null }),
    tell,
    report,
    takeTurn,
    prewarm,
    deliver,
    /** Chats that anybody can write to while nobody is let in. */
    ownerless: () => ownerlessChats(farChats, live.current().gate, pairing.anybody()),
    async forgetOld(signal: AbortSignal) {
      const gone = await ledgers.forgetOld(signal)
      await uploads.tidy()
      await sweepDrafts(config.configDir, clock.now())
      return gone
    },
    async flush() {
      await scratch.tidied()
      await ledgers.flush()
      await remembering.flush()
      await mission.flush()
    },
  }
}

/** What most who start a gateway never ask for. */
function once<T>(open: () => Promise<T>): () => Promise<T> {
  let opened: Promise<T> | null = null
  return () => {
    opened ??= open()
    return opened
  }
}
