// Puts the parts together. Only wiring: an `if` about behaviour here means that a part is missing.
import { randomInt, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { TurnEnd } from '../base/agent.ts'
import { agentOf, subAgentLimits } from '../base/agents.ts'
import type { ChatAdapter, Letter } from '../base/chat.ts'
import type { NewEvent, Standing } from '../base/event.ts'
import type { Taken } from '../base/lanes.ts'
import { readPlace } from '../base/place.ts'
import type { Signal, Tell } from '../base/signal.ts'
import type { Clock } from '../base/time.ts'
import { oncePerZone } from '../base/zone.ts'
import { chats as knownChats } from '../chat/index.ts'
import { openBudget, openGate, openIntake } from '../intake/index.ts'
import {
  assemble,
  capabilities,
  composePrompt,
  describeSender,
  openSkillsDesk,
  openWorkspace,
  recallHistory,
  timeLine,
  wordsOf,
} from '../prompt/index.ts'
import { openRoutes, openSubAgents, openTurns, type Scratch, withWords } from '../run/index.ts'
import {
  explainRefusal,
  finalKey,
  openAttached,
  openDelivery,
  openDrafts,
  openLetters,
  openSaying,
  wordingFor,
  wordingOf,
} from '../send/index.ts'
import {
  type Database,
  openChatStates,
  openConversations,
  openHistory,
  openMirrorFile,
  openPairing,
  openSessions,
  openSessionsDesk,
  openShelf,
  openSubAgentBook,
  openTalks,
  openUsage,
} from '../store/index.ts'
import { type OpenBackends, sampleTurn } from './backends.ts'
import { openBoxes } from './boxes.ts'
import { gatewayCommands, startOfDay } from './commands.ts'
import { chatNames, discordSettings, suggestFor } from './discord.ts'
import type { LiveConfig } from './live.ts'
import { logSignal } from './log.ts'
import { openMission } from './mission.ts'
import { openNotices, tellOfBudget } from './notices.ts'
import { ownerlessChats } from './owner.ts'
import { openRemembering } from './remembering.ts'
import { productRoot } from './root.ts'
import { openStatus } from './status.ts'
import { openTooling } from './tooling.ts'
import { openWaking } from './waking.ts'

/** Longer than any prompt a person writes, shorter than what hurts. */
const maxCharacters = 200_000
const historyShown = 200
const historyHandedOver = { messages: 40, characters: 24_000 }
const day = 86_400_000
/** What turns took is small and worth looking back at. */
const usageDays = 400

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

  const shelf = openShelf(db, clock, true)
  const sessionsFile = openMirrorFile(
    join(config.configDir, 'sessions.json'),
    () => `${JSON.stringify(sessions.all(), null, 2)}\n`,
    300,
    error => tell({ type: 'workspace-trouble', file: 'sessions.json', why: String(error) }),
  )
  const sessions = openSessions(db, clock, sessionsFile.touch)
  const history = openHistory(db)
  const talks = openTalks(db, history, 'webchat')
  const conversations = openConversations(db, clock)
  const usage = openUsage(db, clock)
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
  const chatStates = openChatStates(db, clock)
  const attached = openAttached(config.configDir)
  const letters = openLetters(chats, attached.linkedIn)
  const voice = { scrub, formatTime: timeFormat(() => live.current().timezone) }
  /** Ends of sub-agents are told to whoever waits for them, all others to people. */
  const told = (taken: Taken<NewEvent>, end: TurnEnd) => {
    if (agentOf(taken.lane) !== null) return subagents.reports(taken, wordingOf(end, voice))
    const wording = wordingFor(taken.item.what.kind, end, voice)
    return wording ? letters(taken, wording) : []
  }
  const deliver = openDelivery(chats, clock, tell)
  const bug = (error: unknown) => log.error({ err: error }, 'a part broke')

  const { inbox, outbox } = await openBoxes({ shelf, clock, config, tell, told, bug })
  const book = openSubAgentBook(db, clock)
  const subagents = openSubAgents({
    book,
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
  const commands = gatewayCommands({
    live,
    clock,
    backends,
    route,
    conversations,
    sessions,
    inbox,
    usage,
    budget,
    subagents,
    jobs: waking.jobs,
    memory: remembering.memory,
    status: () => report.status(),
  })
  const pairing = openPairing(db, clock, below => randomInt(below))
  const gate = openGate({
    rules: () => live.current().gate,
    now: clock.now,
    decided: pairing.decided,
    request: pairing.request,
  })
  const intake = openIntake({
    inbox,
    tell,
    maxCharacters,
    gate,
    budget,
    hear: commands.hear,
    letters: (event, text) => letters({ key: event.key, item: event, earlier: [] }, { kind: 'final', ok: true, text }),
    reason: (why, depth) =>
      explainRefusal(why, { depth, max: why === 'too-long' ? maxCharacters : config.queue.maxDepth }),
  })

  const webchat = knownChats.webchat({
    change: intake.change,
    stop: inbox.stop,
    deliverWaiting: lane => soon(outbox.wake(lane), clock),
    sent: shelf.sent,
    broke: bug,
    waiting: async lane => (await inbox.waiting(lane)).map(({ item, position }) => ({ event: item, position })),
    history: conversation => talks.before(conversation, null, historyShown),
    final: eventKey => history.letter(finalKey(eventKey)),
    onFinal: listener =>
      shelf.watch('out', ({ key }) => key.endsWith(finalKey('')) && listener(key.slice(0, -finalKey('').length))),
    fetched: eventKey => outbox.change(finalKey(eventKey), null),
    wasCancelled: history.wasCancelled,
  })
  chats.set(webchat.name, webchat)

  const settings = discordSettings(config)
  const discord = settings && {
    ...{ ...settings, clock, chance: Math.random, tell, change: intake.change, sent: shelf.sent, broke: bug },
    commands: commands.list.map(({ takes = null, answer, ...row }) => ({ ...row, takes, asks: answer === null })),
    suggest: suggestFor(config, () => usage.since(clock.now() - 30 * day)),
    memory: chatStates.of('discord'),
    knows: (standing: Standing) => gate.who(standing) !== null,
    write: (key: string, letter: Letter) => outbox.put(`discord:${letter.place.conversation}`, key, letter),
    readFile: attached.read,
  }
  if (discord) chats.set('discord', await knownChats.discord(discord))
  const farChats = [...chats.keys()].filter(name => name !== webchat.name)
  const connected = Promise.withResolvers<void>()
  if (!discord) connected.resolve()
  listeners.push(signal => signal.type === 'chat-ready' && connected.resolve())

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

  const systemPrompt = async (_: NewEvent | null, backend: string) => {
    const [sections, skills] = await Promise.all([workspace.read(), workspace.skills()])
    const { configDir, allowedTools } = live.current()
    return assemble(sections, {
      capabilities: capabilities({ configDir, allowedTools, gateway: equipment.told(backend) }),
      skills,
    })
  }
  const openDraft = openDrafts(chats, clock, tell)
  const takeTurn = openTurns({
    route,
    sessions,
    clock,
    chance: Math.random,
    tell,
    newSessionId: randomUUID,
    settings: () => {
      const { agent, allowedTools, permissionMode, query } = live.current()
      return {
        maxTurns: agent.maxTurns,
        allowedTools,
        permissionMode,
        workingDir: config.configDir,
        silenceMs: query.timeoutMs,
        ceilingMs: query.maxMs,
        timezone: () => live.current().timezone,
      }
    },
    systemPrompt,
    equip: equipment.equip,
    hook: waking.hook,
    attend: remembering.keeper.attend,
    compose: ({ event, earlier, history: said, resumed, interrupted }) =>
      composePrompt({
        text: wordsOf(event),
        time: timeLine(clock.now(), live.wall),
        collected: earlier.map(wordsOf),
        interrupted,
        note: remembering.keeper.noteFor(event.lane),
        history: recallHistory(
          said.map(({ role, text, at, sender }) => ({
            ...{ role: role === 'user' ? 'person' : 'agent', text, at },
            ...(sender && { who: describeSender(sender) }),
          })),
          historyHandedOver.characters,
          resumed ? 'since' : 'all',
        ),
      }),
    isCut: ({ id, lane }) => conversations.freshFrom(lane) >= id,
    history: (lane, after) =>
      history.answered(lane, Math.max(after, conversations.freshFrom(lane)), historyHandedOver.messages),
    openLive: taken => (agentOf(taken.lane) === null ? openDraft(taken) : subagents.live(taken)),
    letters: told,
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
    /** Resolves when every chat that has a far side has reached it. */
    connected: connected.promise,
    intake,
    gate,
    pairing,
    sessions: openSessionsDesk(sessions, conversations, clock),
    desk,
    skills,
    mission: mission.desk,
    talks,
    tell,
    report,
    takeTurn: (taken: Taken<NewEvent>, signal: AbortSignal) => takeTurn(taken, signal),
    deliver,
    /** Chats that anybody can write to while nobody is let in. */
    ownerless: () => ownerlessChats(farChats, live.current().gate, pairing.anybody()),
    /** The latest conversation finds its backend up already. */
    async prewarm() {
      const latest = sessions.latest()
      if (!latest) return
      const [{ backend, model }] = route(latest.lane, 'message')
      const session = await sessions.find(latest.lane, backend.name)
      if (!session) return
      const { mcpServers, words } = equipment.ahead(latest.lane, backend.name)
      const turn = {
        ...sampleTurn(live.current()),
        model,
        mcpServers,
        systemPrompt: withWords(await systemPrompt(null, backend.name), words),
      }
      await backend.prepare({ ...turn, session: { id: session.id, resume: true } })
    },
    async forgetOld(signal: AbortSignal) {
      const cutoff = clock.now() - live.current().retentionDays * day
      await book.forgetBefore(cutoff)
      await chatStates.forgetBefore(cutoff)
      await usage.forgetBefore(Math.min(cutoff, clock.now() - usageDays * day))
      return shelf.forgetBefore(cutoff, signal)
    },
    async flush() {
      await scratch.tidied()
      await sessionsFile.flush()
      await remembering.flush()
      await mission.flush()
    },
  }
}

/** A disk that takes nothing must not keep a newcomer from what can be read. */
async function soon(work: Promise<void>, clock: Clock): Promise<void> {
  const done = new AbortController()
  await Promise.race([work, clock.sleep(2000, done.signal)])
  done.abort()
}

/** The zone is looked up with the first time to be told: Intl is 8 MB and 13 ms. */
function timeFormat(zone: () => string): (ms: number) => string {
  const format = oncePerZone({ weekday: 'short', hour: '2-digit', minute: '2-digit' }, 'en-GB')
  return ms => format(zone()).format(ms)
}
