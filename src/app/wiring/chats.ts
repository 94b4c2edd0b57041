// The chats of this gateway and the intake behind them, with what they need from its other parts.

import { randomUUID } from 'node:crypto'
import { backendNames } from '../../base/agent.ts'
import type { Clicks } from '../../base/buttons.ts'
import type { ChatAdapter, Delivery } from '../../base/chat.ts'
import type { ChatCommands, ChatContext } from '../../base/chat-module.ts'
import type { DescentLimits } from '../../base/descent.ts'
import type { NewEvent } from '../../base/event.ts'
import type { Lanes } from '../../base/lanes.ts'
import type { Emit, Signal } from '../../base/signal.ts'
import { type Clock, day } from '../../base/time.ts'
import { within } from '../../base/within.ts'
import { createUploads, createWebchat } from '../../chat/index.ts'
import type { LiveConfig } from '../../config/index.ts'
import { completedCommands, createGate, createSuggestions, openIntake } from '../../intake/index.ts'
import { type createAttached, type createDeliveries, explainRefusal, finalKey } from '../../send/index.ts'
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

  return { webchat, uploads, farChats, ...whenReady(farChats) }
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
}

export function createIntakeWiring(parts: IntakeWiringParts) {
  const { live, clock, emit, inbox, budget, pairing, deliveries, descent } = parts
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
    deliveries: (event, text) =>
      deliveries({ key: event.key, item: event, earlier: [] }, { kind: 'final', ok: true, text }),
    reason: (why, depth) => explainRefusal(why, { depth, max: why === 'too-long' ? maxCharacters : maxDepth }),
  })
  return { commands, gate, intake }
}
