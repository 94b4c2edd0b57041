// The crash campaign on Discord: people write all the time, also while the gateway is down, and it is killed again and again.
// Half of them get the same text as an answer, and Discord fails, rate-limits, refuses edits and soon forgets nonces.
// Usage: npm run test:crash -- --chat discord --kills 50 [--seed 7]
import type { Channel, Failure, FakeDiscord, StoredMessage } from '../fakes/discord/index.ts'
import { pause, unaccounted } from '../fakes/temporary.ts'
import { finals, openStage } from '../harness/discord.ts'
import { processesWith } from '../harness/gateway.ts'
import { randomFrom } from './random.ts'

export interface DiscordCampaign {
  readonly said: number
  readonly answered: number
  readonly failed: number
  readonly resumed: number
  /** Empty: all guarantees were kept. */
  readonly broken: readonly string[]
}

export async function runDiscordCampaign({ kills, seed }: { kills: number; seed: number }): Promise<DiscordCampaign> {
  await using stage = await openStage()
  const { discord } = stage
  const chance = randomFrom(seed)
  const rooms: Channel[] = [discord.general, discord.channel(discord.home, 'other'), discord.dm(discord.ada)]
  const said = new Map<string, { room: Channel; text: string }>()
  const env = {
    ...{ BUSY: 'queue', MAX_QUEUE_DEPTH: '100000', LOG_LEVEL: 'warn', CLAUDE_STAND_IN_STEP_MS: '15' },
  }
  const say = (room = rooms[Math.floor(chance() * rooms.length)] ?? discord.general) => {
    const text = chance() < 0.5 ? `message number ${said.size} of them all` : same
    const attachments = chance() < 0.1 ? [{ name: 'a.txt', bytes: 'hello' }] : []
    said.set(discord.say(discord.ada, room, text, { mention: true, attachments }).id, { room, text })
  }
  // Nothing from before the first start is answered, and nobody can look for direct messages in channels it has never seen.
  const first = await stage.start(env)
  for (const room of rooms) say(room)
  await discord.until(() => rooms.every(room => finals(discord, room).length === 1), 20_000)
  await first.stop('SIGKILL')

  let over = false
  const talking = (async () => {
    // On a slow machine they wait for some of the answers; otherwise it would never end.
    const unanswered = () => said.size - rooms.reduce((sum, room) => sum + finals(discord, room).length, 0)
    for (; !over; await pause(20 + chance() * 250)) if (unanswered() < 60) say()
  })()
  const broken: string[] = []
  const stumbles: (() => void)[] = []
  for (let kill = 0; kill < kills; kill++) {
    for (const [likely, match, failure] of troubles) if (chance() < likely) stumbles.push(discord.fail(match, failure))
    // As if each restart took minutes.
    discord.forgetNonces()
    const gateway = await stage.start(env)
    await pause(chance() * 1500)
    await gateway.stop('SIGKILL')
    if (chance() < 0.4) discord.forgetSession()
  }
  over = true
  await talking
  for (const callOff of stumbles) callOff()
  discord.forgetNonces()
  const gateway = await stage.start(env)
  const answersTo = (id: string, room: Channel): readonly StoredMessage[] =>
    finals(discord, room).filter(({ reference }) => reference === id)
  const open = () => [...said].filter(([id, { room }]) => answersTo(id, room).length === 0)
  // While there is progress, it is only slow.
  for (let [left, since] = [open().length, performance.now()]; left > 0 && performance.now() - since < 60_000; ) {
    await pause(100)
    const now = open().length
    if (now !== left) [left, since] = [now, performance.now()]
  }
  const buttons = () => rooms.flatMap(room => discord.answers(room).filter(({ components }) => components.length > 0))
  for (const until = performance.now() + 10_000; performance.now() < until && buttons().length > 0; ) await pause(50)
  await pause(500)

  let [answered, failed] = [0, 0]
  for (const [id, { room, text }] of said) {
    const answers = answersTo(id, room)
    if (answers.length !== 1) broken.push(`${text} has ${answers.length} answers`)
    for (const { content } of answers) {
      if (content.includes(text) || (text === same && content === 'Done.')) answered++
      else failed++
    }
  }
  for (const room of rooms) {
    const order = finals(discord, room).map(({ reference }) => reference)
    const asked = [...said].filter(([, one]) => one.room === room).map(([id]) => id)
    if (order.length !== asked.length) broken.push(`${room.id}: ${order.length} answers to ${asked.length}`)
    const early = order.findIndex((id, at) => id !== asked[at])
    if (early >= 0) broken.push(`${room.id}: answer ${early} of ${order.length} is out of order`)
  }
  if (buttons().length > 0) broken.push(`${buttons().length} drafts were left behind`)
  const missing = await unaccounted(gateway)
  if (missing !== 0) broken.push(`the sum does not hold: ${missing}`)
  const resumed = discord.gateway('resume').length
  const code = await gateway.stop()
  if (code !== 0) broken.push(`the last gateway ended with ${code}: ${gateway.output().slice(-500)}`)
  if (processesWith(`HOME=${stage.home.dir}`).length > 0) broken.push('processes were left behind')
  return { said: said.size, answered, failed, resumed, broken }
}

const same = '[[say:Done.]]'
const posts = 'POST /channels/:id/messages'
const edits = 'PATCH /channels/:id/messages/:message'

/** Problems of Discord between two kills, with their probability. */
const troubles: readonly (readonly [number, Parameters<FakeDiscord['fail']>[0], Failure])[] = [
  [0.3, posts, { status: 502, storeFirst: true }],
  [0.3, posts, { status: 503, times: 2 }],
  [0.3, posts, { status: 429, retryAfter: 0.3 }],
  [0.2, posts, { hang: 'cut', storeFirst: true }],
  [0.2, edits, { status: 400, body: { message: 'Thread is archived', code: 50_083 } }],
  [0.2, edits, { status: 404, body: { message: '404: Not Found', code: 404 } }],
  [0.2, edits, { status: 502, storeFirst: true }],
  [0.1, 'DELETE /channels/:id/messages/:message', { status: 503 }],
  [0.2, 'GET /channels/:id/messages', { status: 500 }],
]
