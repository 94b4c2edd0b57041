// The crash campaign on Telegram: people write all the time, also while the gateway is down, and it is killed again and again.
// Telegram has no nonce, stumbles after storing, wants patience and refuses edits; half of the answers have the same words.
// Usage: npm run test:crash -- --chat telegram --kills 100 [--seed 7]
import type { Chat, Failure, StoredMessage } from '../fakes/telegram/index.ts'
import { pause, unaccounted } from '../fakes/temporary.ts'
import { processesWith } from '../harness/gateway.ts'
import { openStage } from '../harness/telegram.ts'
import type { ChatCampaign } from './chats.ts'
import { randomFrom } from './random.ts'

export async function runTelegramCampaign({ kills, seed }: { kills: number; seed: number }): Promise<ChatCampaign> {
  await using stage = await openStage()
  const { telegram } = stage
  const chance = randomFrom(seed)
  const bob = telegram.user('Bob')
  const forum = telegram.group('Forum', 'supergroup', true)
  const [alone, other] = [telegram.alone(telegram.ada), telegram.alone(bob)]
  const rooms: readonly Chat[] = [alone, other, alone, other, forum, telegram.group('Basic', 'group')]
  const topics = [telegram.topic(forum), telegram.topic(forum)]
  const said = new Map<string, { message: StoredMessage; chat: Chat; text: string }>()
  const idOf = (chat: number, id: number) => `${chat}.${id}`
  const env = {
    ...{ BUSY: 'queue', MAX_QUEUE_DEPTH: '100000', LOG_LEVEL: 'warn', CLAUDE_STAND_IN_STEP_MS: '15', RATE_LIMIT: '0' },
    OWNERS: `telegram:${telegram.ada.id},telegram:${bob.id}`,
  }
  const finals = (chat: Chat) => telegram.finals(chat).filter(({ replyTo }) => replyTo !== null)
  const places = [...new Set(rooms)]
  const answered = () => places.reduce((sum, chat) => sum + finals(chat).length, 0)
  const say = () => {
    const chat = rooms[Math.floor(chance() * rooms.length)] ?? alone
    const text = chance() < 0.5 ? `message number ${said.size} of them all` : same
    const files = chance() < 0.1 ? [{ kind: 'document' as const, name: 'a.txt', bytes: 'hello' }] : []
    const topic = chat === forum ? { topic: topics[Math.floor(chance() * 2)] ?? 0 } : {}
    const who = chat === other ? bob : telegram.ada
    const message = telegram.say(who, chat, text, { mention: chat.type !== 'private', files, ...topic })
    said.set(idOf(chat.id, message.id), { message, chat, text })
  }
  let over = false
  const talking = (async () => {
    // Telegram takes about one answer per second in a chat, so people wait for some of them.
    for (; !over; await pause(50 + chance() * 400)) if (said.size - answered() < 25) say()
  })()
  const callOffs: (() => void)[] = []
  for (let kill = 0; kill < kills; kill++) {
    for (const [likely, method, failure] of troubles)
      if (chance() < likely) callOffs.push(telegram.fail(method, failure))
    const gateway = await stage.start(env)
    await pause(chance() * 1500)
    await gateway.stop('SIGKILL')
  }
  over = true
  await talking
  for (const callOff of callOffs) callOff()
  const gateway = await stage.start(env)
  const answersTo = (chat: Chat, id: number) => finals(chat).filter(({ replyTo }) => replyTo === id)
  const open = () => [...said.values()].filter(({ chat, message }) => answersTo(chat, message.id).length === 0)
  // As long as there is progress, it is only slow.
  for (let [left, since] = [open().length, performance.now()]; left > 0 && performance.now() - since < 90_000; ) {
    await pause(100)
    const now = open().length
    if (now !== left) [left, since] = [now, performance.now()]
  }
  const buttons = () => places.flatMap(chat => telegram.answers(chat).filter(one => one.buttons.length > 0))
  for (const until = performance.now() + 10_000; performance.now() < until && buttons().length > 0; ) await pause(50)
  await pause(500)

  const broken: string[] = []
  let [good, failed] = [0, 0]
  for (const { message, chat, text } of said.values()) {
    const answers = answersTo(chat, message.id)
    if (answers.length !== 1) broken.push(`${text} in ${chat.title} has ${answers.length} answers`)
    for (const one of answers) {
      if (one.text.includes(text) || (text === same && one.text === 'Done.')) good++
      else failed++
      if (one.topic !== message.topic) broken.push(`${text} was answered in another topic`)
    }
  }
  for (const chat of places)
    for (const topic of chat === forum ? topics : [null]) {
      const order = finals(chat).filter(one => one.topic === topic)
      const asked = [...said.values()].filter(one => one.chat === chat && one.message.topic === topic)
      const early = order.findIndex((one, at) => one.replyTo !== asked[at]?.message.id)
      if (early >= 0) broken.push(`${chat.title}: answer ${early} of ${order.length} is out of order`)
    }
  if (buttons().length > 0) broken.push(`${buttons().length} drafts were left behind`)
  const missing = await unaccounted(gateway)
  if (missing !== 0) broken.push(`the sum does not hold: ${missing}`)
  const code = await gateway.stop()
  if (code !== 0) broken.push(`the last gateway ended with ${code}: ${gateway.output().slice(-500)}`)
  if (processesWith(`HOME=${stage.home.dir}`).length > 0) broken.push('processes were left behind')
  return { said: said.size, answered: good, failed, broken }
}

const same = '[[say:Done.]]'

/** What befalls Telegram between two kills, and how likely it is. */
const troubles: readonly (readonly [number, string, Failure])[] = [
  [0.3, 'sendMessage', { status: 502, storeFirst: true }],
  [0.3, 'sendMessage', { status: 503, times: 2 }],
  [0.3, 'sendMessage', { status: 429, retryAfter: 1 }],
  [0.2, 'sendMessage', { cut: true, storeFirst: true }],
  [0.2, 'sendMessage', { cut: true }],
  [0.2, 'editMessageText', { status: 400, description: "message can't be edited" }],
  [0.2, 'editMessageText', { status: 502, storeFirst: true }],
  [0.1, 'editMessageReplyMarkup', { status: 500 }],
  [0.1, 'deleteMessage', { status: 503 }],
  [0.2, 'getUpdates', { status: 502 }],
  [0.2, 'getUpdates', { cut: true, storeFirst: true }],
  [0.1, 'getFile', { status: 500 }],
  [0.1, 'sendMessageDraft', { status: 429, retryAfter: 1 }],
]
