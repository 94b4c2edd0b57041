// The chats of this gateway, and what they ask of its other parts.
import { randomUUID } from 'node:crypto'
import type { ChatAdapter, Letter } from '../base/chat.ts'
import type { NewEvent, Standing } from '../base/event.ts'
import type { Lanes } from '../base/lanes.ts'
import type { Signal, Tell } from '../base/signal.ts'
import type { Clock } from '../base/time.ts'
import { chats as knownChats, openUploads } from '../chat/index.ts'
import type { openGate, openIntake } from '../intake/index.ts'
import { finalKey, type openAttached } from '../send/index.ts'
import type { gatewayCommands } from './commands.ts'
import { discordSettings, suggestFor } from './discord.ts'
import type { Ledgers } from './ledgers.ts'
import type { LiveConfig } from './live.ts'

const historyShown = 200
const day = 86_400_000

export interface ChatsParts {
  readonly live: LiveConfig
  readonly clock: Clock
  readonly tell: Tell
  /** To be filled. */
  readonly chats: Map<string, ChatAdapter>
  readonly ledgers: Pick<Ledgers, 'shelf' | 'history' | 'talks' | 'usage' | 'chatStates' | 'uploadBook'>
  readonly inbox: Lanes<NewEvent>
  readonly outbox: Lanes<Letter>
  readonly intake: ReturnType<typeof openIntake>
  readonly gate: ReturnType<typeof openGate>
  readonly commands: ReturnType<typeof gatewayCommands>
  readonly attached: ReturnType<typeof openAttached>
  bug(error: unknown): void
}

export async function openChats(parts: ChatsParts) {
  const { live, clock, tell, chats, inbox, outbox, intake, gate, commands, attached, bug } = parts
  const { shelf, history, talks, usage, chatStates, uploadBook } = parts.ledgers
  const config = live.current()
  const uploads = openUploads({ workspace: config.configDir, clock, newId: randomUUID, book: uploadBook })
  const webchat = knownChats.webchat({
    attach: uploads.attach,
    refuse: intake.refuse,
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
  const connected = Promise.withResolvers<void>()
  if (!discord) connected.resolve()

  return {
    webchat,
    uploads,
    /** Those that have a far side, which may be out of reach. */
    farChats: [...chats.keys()].filter(name => name !== webchat.name),
    /** Resolves when every one of them has reached it. */
    connected: connected.promise,
    listen(signal: Signal): void {
      if (signal.type === 'chat-ready') connected.resolve()
    },
  }
}

/** A disk that takes nothing must not keep a newcomer from what can be read. */
async function soon(work: Promise<void>, clock: Clock): Promise<void> {
  const done = new AbortController()
  await Promise.race([work, clock.sleep(2000, done.signal)])
  done.abort()
}
