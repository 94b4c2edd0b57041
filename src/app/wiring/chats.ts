// The way in and out: the chats, the intake behind them, the inbox and the outbox, and what people receive at the end of a turn.
import { randomUUID } from 'node:crypto'
import { backendNames, type TurnEnd } from '../../base/agent.ts'
import type { Clicks } from '../../base/buttons.ts'
import type { ChatAdapter, Delivery } from '../../base/chat.ts'
import type { ChatCommands, ChatContext } from '../../base/chat-module.ts'
import type { DescentLimits } from '../../base/descent.ts'
import { agentOf, isBackground, type LaneKey, type NewEvent, type Principal } from '../../base/event.ts'
import type { FollowUp, Lanes, Outcome, QueueStore, Taken } from '../../base/lanes.ts'
import { guestFolder, guestFolderOf } from '../../base/profile.ts'
import type { Emit, Signal } from '../../base/signal.ts'
import { type Clock, day } from '../../base/time.ts'
import { within } from '../../base/within.ts'
import { oncePerZone } from '../../base/zone.ts'
import { createUploads, createWebchat } from '../../chat/index.ts'
import type { Config, LiveConfig } from '../../config/index.ts'
import { completedCommands, createGate, createSuggestions, openIntake, steeredWords } from '../../intake/index.ts'
import { openLanes } from '../../lanes/index.ts'
import { loginWith, type Steering } from '../../run/index.ts'
import {
  createAttached,
  createDeliver,
  createDeliveries,
  explainRefusal,
  finalKey,
  type Wording,
  wordingFor,
  wordingOf,
} from '../../send/index.ts'
import { type Database, DatabaseUnusable } from '../../store/index.ts'
import { remoteChatsOn } from './chat-names.ts'
import { type CommandsParts, gatewayCommands } from './commands.ts'
import type { Stores } from './stores.ts'

const historyShown = 200
export interface ChatsParts {
  readonly live: LiveConfig
  readonly clock: Clock
  readonly emit: Emit
  /** Filled here. */
  readonly chats: Map<string, ChatAdapter>
  readonly stores: Pick<Stores, 'queueStore' | 'history' | 'conversations' | 'usage' | 'chatStates' | 'uploadStore'>
  readonly inbox: Lanes<NewEvent>
  readonly outbox: Lanes<Delivery>
  readonly intake: ReturnType<typeof openIntake>
  readonly gate: ReturnType<typeof createGate>
  readonly commands: ReturnType<typeof gatewayCommands>
  readonly attached: ReturnType<typeof createAttached>
  readonly clicks: Pick<Clicks, 'clicked'>
  readonly steering: Pick<Steering, 'steer'>
  bug(error: unknown): void
}

export async function createChats(parts: ChatsParts) {
  const { live, clock, emit, chats, inbox, outbox, intake, gate, commands, attached, clicks, bug } = parts
  const { queueStore, history, conversations, usage, chatStates, uploadStore } = parts.stores
  const config = live.current()
  const uploads = createUploads({ workspace: config.configDir, clock, newId: randomUUID, store: uploadStore })
  const webchat = createWebchat({
    attach: uploads.attach,
    refuse: intake.refuse,
    change: intake.change,
    stop: inbox.stop,
    async steer(lane, key) {
      const steered = await parts.steering.steer(lane, key)
      return steered === 'steered' ? null : steeredWords[steered]
    },
    deliverWaiting: lane => soon(outbox.wake(lane), clock),
    sent: queueStore.sent,
    broke: bug,
    waiting: async lane => (await inbox.waiting(lane)).map(({ item, position }) => ({ event: item, position })),
    positions: inbox.positions,
    history: conversation => conversations.before(conversation, null, historyShown),
    final: eventKey => history.delivery(finalKey(eventKey)),
    onFinal: listener =>
      queueStore.watch('out', ({ key, lane }) => {
        if (lane.startsWith('webchat:') && key.endsWith(finalKey(''))) listener(key.slice(0, -finalKey('').length))
      }),
    fetched: eventKey => outbox.change(finalKey(eventKey), null),
    wasCancelled: history.wasCancelled,
  })
  chats.set(webchat.name, webchat)

  const chatCommands: ChatCommands = {
    list: commands.list.map(({ takes = null, answer, ...row }) => ({ ...row, takes, asks: answer === null })),
    completes: completedCommands,
    suggest: createSuggestions({
      backends: backendNames,
      model: config.agent.model,
      models: () => [...Object.values(config.views.models), ...usage.since(clock.now() - 30 * day)],
    }),
  }
  const contextOf = (name: string): ChatContext => ({
    workspace: { dir: config.configDir, readFile: attached.read },
    commands: chatCommands,
    people: { knows: sender => gate.who(sender) !== null, known: () => gate.people(name) },
    deliveries: {
      put: (key, delivery) => outbox.put(`${name}:${delivery.place.conversation}`, key, delivery),
      isUnderway: conversation => outbox.isBusy(`${name}:${conversation}`),
      sent: queueStore.sent,
    },
    memory: chatStates.of(name),
    clicked: click => clicks.clicked(click, gate.who(click.sender)),
    ...{ clock, chance: Math.random, emit, change: intake.change, broke: bug },
  })
  const remote = remoteChatsOn(config)
  for (const chat of remote) chats.set(chat.name, await chat.open(config, contextOf(chat.name)))
  /** Chats with a remote server, which may be unreachable. */
  const farChats = remote.map(({ name }) => name)

  const ready = whenReady(farChats)
  return {
    ...{ webchat, uploads, farChats, connected: ready.connected },
    listen(signal: Signal): void {
      ready.listen(signal)
      if ('request' in signal) webchat.request(signal.request)
    },
  }
}

export function whenReady(names: readonly string[]) {
  const awaited = new Set(names)
  const { promise, resolve } = Promise.withResolvers<void>()
  if (awaited.size === 0) resolve()
  return {
    /** Resolves when all of them have been ready once. */
    connected: promise,
    listen(signal: Signal): void {
      if (signal.type !== 'chat-ready') return
      awaited.delete(signal.chat)
      if (awaited.size === 0) resolve()
    },
  }
}

/** A disk that refuses writes must not keep a new connection from what can be read. */
const soon = async (work: Promise<void>, clock: Clock): Promise<void> => void (await within(work, 2000, clock))

// The intake: the gate, the commands that are answered immediately, and the queue.

/** Longer than any prompt a person writes, short enough to do no harm. */
const maxCharacters = 200_000

export interface IntakeWiringParts extends CommandsParts {
  readonly emit: Emit
  readonly pairing: Stores['pairing']
  readonly descent: Pick<DescentLimits, 'admits'>
  readonly deliveries: ReturnType<typeof createDeliveries>
  readonly outbox: Lanes<Delivery>
  bug(error: unknown): void
}

export function createIntakeWiring(parts: IntakeWiringParts) {
  const { live, clock, emit, inbox, outbox, budget, pairing, deliveries, descent, steering, bug } = parts
  const say = (event: NewEvent, wording: Wording) => deliveries({ key: event.key, item: event, earlier: [] }, wording)

  /** Somebody who has asked for it learns why it is not possible. */
  async function steer(event: NewEvent, asked: boolean): Promise<void> {
    const result = await steering.steer(event.lane, event.key)
    if (result === 'steered' || !asked) return
    const notice = { kind: 'notice', ok: true, tag: 'steer', text: steeredWords[result] } as const
    for (const { lane, key, item } of say(event, notice)) await outbox.put(lane, key, item as Delivery)
  }

  const { maxDepth } = live.current().queue
  const commands = gatewayCommands(parts)
  const gate = createGate({
    rules: () => live.current().views.gate,
    now: clock.now,
    decided: pairing.decided,
    letIn: pairing.letIn,
    request: pairing.request,
  })
  const intake = openIntake({
    inbox,
    emit,
    maxCharacters,
    gate,
    budget,
    admits: descent.admits,
    parse: commands.parse,
    steer: (event, asked) => void steer(event, asked).catch(bug),
    steersAlways: () => live.current().queue.mode === 'steer',
    deliveries: (event, answer) =>
      say(event, { kind: 'final', ok: true, ...(typeof answer === 'string' ? { text: answer } : answer) }),
    reason: (why, depth) => explainRefusal(why, { depth, max: why === 'too-long' ? maxCharacters : maxDepth }),
  })
  return { commands, gate, intake }
}

// The two queues of the gateway, inbox and outbox, with their messages for failures.

const maxAttempts = 3

export interface QueuesParts {
  readonly queueStore: QueueStore
  readonly db: Pick<Database, 'trouble'>
  readonly clock: Clock
  readonly config: Config
  readonly emit: Emit
  /** What follows from the end of a turn: deliveries, or the report of a sub-agent. */
  followUpsOf(taken: Taken<NewEvent>, end: TurnEnd): readonly FollowUp[]
  /** Sends a delivery that is not stored. */
  deliver(delivery: Taken<Delivery>, signal: AbortSignal): Promise<Outcome>
  bug(error: unknown): void
}

/** The same problem is reported again after this time. */
const warnAgainMs = 60_000
/** A delivery that is not stored is tried once. */
const deliverMs = 30_000

export async function createQueues({ queueStore, db, clock, config, emit, followUpsOf, deliver, bug }: QueuesParts) {
  const warnOnce = createWarnOnce(clock, why => emit({ type: 'workspace-trouble', file: 'the database', why }))

  function stuck(error: unknown): 'again' | 'never' {
    warnOnce(String(error))
    const kind = db.trouble()?.kind
    return kind === 'damaged' || kind === 'gone' ? 'never' : 'again'
  }

  /** Notifies the people who wait that there will be no answer, even though that cannot be stored either. */
  function unstored(taken: Taken<NewEvent>): void {
    const { kind = 'damaged', why = '' } = db.trouble() ?? {}
    const deliveries = followUpsOf(taken, { type: 'broke', error: new DatabaseUnusable(kind, why) })
    for (const { queue, lane, key, item } of deliveries) {
      if (queue !== 'out') continue
      const delivery = { ...taken, lane, key, item: item as Delivery, retries: 0, interrupted: false, earlier: [] }
      deliver(delivery, AbortSignal.timeout(deliverMs)).catch(bug)
    }
  }

  const inbox: Lanes<NewEvent> = await openLanes<NewEvent>(queueStore, clock, {
    queue: 'in',
    atOnce: config.queue.maxConcurrent,
    maxDepth: config.queue.maxDepth,
    busy: config.queue.busy,
    background: isBackground,
    alwaysWaits: ({ missed }) => missed === true,
    collect: config.queue.collect,
    taking: 'durably',
    maxAttempts,
    giveUp(taken) {
      emit({ type: 'event-set-aside', id: taken.id, lane: taken.lane, attempts: maxAttempts })
      return {
        type: 'failed',
        why: 'set aside',
        followUps: followUpsOf(taken, { type: 'set-aside', attempts: maxAttempts }),
      }
    },
    broke(taken, error) {
      bug(error)
      return { type: 'failed', why: 'broke', followUps: followUpsOf(taken, { type: 'broke', error }) }
    },
    stuck,
    unstored,
  })
  const outbox: Lanes<Delivery> = await openLanes<Delivery>(queueStore, clock, {
    queue: 'out',
    atOnce: Number.POSITIVE_INFINITY,
    maxDepth: Number.POSITIVE_INFINITY,
    busy: 'queue',
    collect: false,
    // Two minutes, given the pauses between delivery attempts.
    patience: 8,
    ahead: delivery => delivery.command === true,
    // An answer does not wait for the disk a second time; a delivery that is sent again is recognised by its key.
    taking: 'lightly',
    // A delivery interrupted by crashes is far more often a victim of the crash than its cause.
    maxAttempts: 20,
    giveUp({ id, item }) {
      emit({ type: 'delivery-refused', id, place: item.place, length: item.text.length, why: 'cut off too often' })
      return { type: 'failed', why: 'set aside' }
    },
    broke(_, error) {
      bug(error)
      return { type: 'failed', why: 'broke' }
    },
    stuck,
  })
  return { inbox, outbox }
}

function createWarnOnce(clock: Clock, emit: (why: string) => void): (why: string) => void {
  let last = { why: '', at: 0 }
  return why => {
    const now = clock.now()
    if (last.why === why && Math.abs(now - last.at) < warnAgainMs) return
    last = { why, at: now }
    emit(why)
  }
}

// What people receive at the end of a turn, and how it is delivered.

export interface RepliesParts {
  readonly live: LiveConfig
  readonly clock: Clock
  readonly emit: Emit
  /** The chats that are on, once they are created. */
  readonly chats: ReadonlyMap<string, ChatAdapter>
  scrub(text: string): string
  /** The files that were given in a conversation. */
  attachments(lane: LaneKey): readonly string[]
  /** What was done for an event, for the end of its answer; empty: nothing, or the conversation does not want it. */
  workListed(event: number, lane: LaneKey): string
  /** Queues the report of a sub-agent. */
  reports(taken: Taken<NewEvent>, wording: ReturnType<typeof wordingOf>): readonly FollowUp[]
}

export function createReplies({ live, clock, emit, chats, scrub, attachments, reports, workListed }: RepliesParts) {
  const attached = createAttached(live.current().configDir)
  const scopeOf = ({ lane, principal }: { readonly lane: LaneKey; readonly principal: Principal }) =>
    principal.owner ? undefined : { folder: guestFolder(lane, [principal.person]), files: attachments(lane) }
  const scopeOfAll = (events: readonly NewEvent[]) => {
    const folder = guestFolderOf(events)
    return folder === null ? undefined : { folder, files: attachments(events.at(-1)?.lane ?? '') }
  }
  const deliveries = createDeliveries(chats, {
    find: attached.find,
    scopeOf: scopeOfAll,
  })
  const voice = { scrub, formatTime: timeFormat(() => live.current().timezone), loginWith }
  return {
    attached,
    scopeOf,
    deliveries,
    deliver: createDeliver(chats, clock, emit),
    /** A sub-agent's result goes to the conversation that started it, all other results to people. */
    followUpsOf(taken: Taken<NewEvent>, end: TurnEnd): readonly FollowUp[] {
      if (agentOf(taken.lane) !== null) return reports(taken, wordingOf(end, voice))
      const wording = wordingFor(taken.item.what.kind, end, voice)
      const work = wording && end.type === 'answered' ? workListed(taken.id, taken.lane) : ''
      return wording
        ? deliveries(taken, work === '' ? wording : { ...wording, text: `${wording.text}\n\n${work}` })
        : []
    },
  }
}

/** The zone is looked up when the first time is formatted: loading Intl takes 8 MB and 13 ms. */
function timeFormat(zone: () => string): (ms: number) => string {
  const format = oncePerZone({ weekday: 'short', hour: '2-digit', minute: '2-digit' }, 'en-GB')
  return ms => format(zone()).format(ms)
}
