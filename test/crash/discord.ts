// The crash campaign on Discord: people write all the time, also while the gateway is down, and it is killed again and again.
// Usage: node test/crash/discord.ts --kills 50 [--seed 7]
import { parseArgs } from 'node:util'
import type { Channel, StoredMessage } from '../fakes/discord/index.ts'
import { pause, unaccounted } from '../fakes/temporary.ts'
import { finals, openStage } from '../harness/discord.ts'
import { processesWith } from '../harness/gateway.ts'

export interface DiscordCampaign {
  readonly said: number
  readonly answered: number
  readonly failed: number
  readonly resumed: number
  /** Empty: everything promised was kept. */
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
    const text = `message number ${said.size} of them all`
    const attachments = chance() < 0.1 ? [{ name: 'a.txt', bytes: 'hello' }] : []
    said.set(discord.say(discord.ada, room, text, { mention: true, attachments }).id, { room, text })
  }
  // Nothing from before the first start is answered, and nobody can look for direct messages in a place never heard of.
  const first = await stage.start(env)
  for (const room of rooms) say(room)
  await discord.until(() => rooms.every(room => finals(discord, room).length === 1), 20_000)
  await first.stop('SIGKILL')

  let over = false
  const talking = (async () => {
    for (; !over; await pause(20 + chance() * 250)) say()
  })()
  const broken: string[] = []
  for (let kill = 0; kill < kills; kill++) {
    if (chance() < 0.3) discord.fail('POST /channels/:id/messages', { status: 502, storeFirst: true })
    if (chance() < 0.2) discord.fail('GET /channels/:id/messages', { status: 500 })
    const gateway = await stage.start(env)
    await pause(chance() * 1500)
    await gateway.stop('SIGKILL')
    if (chance() < 0.4) discord.forgetSession()
  }
  over = true
  await talking
  const gateway = await stage.start(env)
  const answersTo = (id: string, room: Channel): readonly StoredMessage[] =>
    finals(discord, room).filter(({ reference }) => reference === id)
  const open = () => [...said].filter(([id, { room }]) => answersTo(id, room).length === 0)
  for (const until = performance.now() + 120_000; performance.now() < until && open().length > 0; ) await pause(50)
  await pause(500)

  let [answered, failed] = [0, 0]
  for (const [id, { room, text }] of said) {
    const answers = answersTo(id, room)
    if (answers.length !== 1) broken.push(`${text} has ${answers.length} answers`)
    for (const { content } of answers) {
      if (content.includes(text)) answered++
      else failed++
    }
  }
  for (const room of rooms) {
    const order = finals(discord, room).map(({ reference }) => reference)
    const asked = [...said].filter(([, one]) => one.room === room).map(([id]) => id)
    // A draft stands where it was begun, so a message that was cut off is answered higher up, never lower down.
    if (new Set(order).size !== asked.length) broken.push(`${room.id}: ${order.length} answers to ${asked.length}`)
    const drafts = discord.answers(room).filter(({ components }) => components.length > 0)
    if (drafts.length > 0) broken.push(`${drafts.length} drafts were left behind`)
  }
  const missing = await unaccounted(gateway)
  if (missing !== 0) broken.push(`the sum does not hold: ${missing}`)
  const resumed = discord.gateway('resume').length
  const code = await gateway.stop()
  if (code !== 0) broken.push(`the last gateway ended with ${code}: ${gateway.output().slice(-500)}`)
  if (processesWith(`HOME=${stage.home.dir}`).length > 0) broken.push('processes were left behind')
  return { said: said.size, answered, failed, resumed, broken }
}

/** mulberry32: small, and the same on every machine. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { kills: { type: 'string', default: '50' }, seed: { type: 'string', default: String(Date.now() % 1e5) } },
  })
  console.log(`crash campaign on Discord: ${values.kills} kills, seed ${values.seed}`)
  const result = await runDiscordCampaign({ kills: Number(values.kills), seed: Number(values.seed) })
  console.log(JSON.stringify(result, null, 2))
  process.exitCode = result.broken.length === 0 ? 0 : 1
}
