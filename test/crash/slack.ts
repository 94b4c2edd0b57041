// The crash campaign on Slack: people write all the time, also while the gateway is down, and it is killed again and again.
// Half of them get the same words for an answer, and Slack stumbles, wants patience and refuses edits.
import type { Channel, Failure } from '../fakes/slack/index.ts'
import { pause, unaccounted } from '../fakes/temporary.ts'
import { processesWith } from '../harness/gateway.ts'
import { drafts, finals, openStage } from '../harness/slack.ts'
import type { ChatCampaign } from './chats.ts'
import { randomFrom } from './random.ts'

interface Room {
  readonly channel: Channel
  /** The root of the thread; null: answers to mentions open one each. */
  readonly thread: string | null
}

export async function runSlackCampaign({ kills, seed }: { kills: number; seed: number }): Promise<ChatCampaign> {
  await using stage = await openStage({ ackMs: 500, repeats: true })
  const { slack } = stage
  const chance = randomFrom(seed)
  const direct = slack.dm(slack.ada)
  const said = new Map<string, { room: Room; text: string }>()
  const env = { BUSY: 'queue', MAX_QUEUE_DEPTH: '100000', LOG_LEVEL: 'warn', CLAUDE_STAND_IN_STEP_MS: '15' }
  const other = slack.channel('other', [slack.ada])
  const rooms: Room[] = [
    { channel: slack.general, thread: null },
    { channel: direct, thread: null },
  ]
  const say = (room: Room) => {
    const text = chance() < 0.5 ? `message number ${said.size} of them all` : same
    const files = chance() < 0.1 ? [{ name: 'a.txt', bytes: 'hello' }] : []
    const thread = room.thread === null ? {} : { thread: room.thread }
    const { ts } = slack.say(slack.ada, room.channel, text, { mention: room.channel.kind !== 'im', files, ...thread })
    said.set(`${room.channel.id}:${ts}`, { room, text })
    return ts
  }
  // Nothing from before the first start is answered.
  const first = await stage.start(env)
  // One thread in a channel, and one with the assistant.
  for (const channel of [other, direct]) rooms.push({ channel, thread: say({ channel, thread: null }) })
  await slack.until(() => [...said.keys()].every(id => answersTo(id).length === 1), 20_000)
  await first.stop('SIGKILL')

  function answersTo(id: string) {
    const { room } = said.get(id) ?? {}
    return room ? finals(slack, room.channel).filter(({ metadata }) => metadata?.event_payload.about === id) : []
  }
  const open = () => [...said.keys()].filter(id => answersTo(id).length === 0)
  let over = false
  const talking = (async () => {
    // On a slow machine they wait for some of the answers, or the end would never come.
    for (; !over; await pause(20 + chance() * 250)) {
      const room = rooms[Math.floor(chance() * rooms.length)]
      if (room && open().length < 60) say(room)
    }
  })()
  const broken: string[] = []
  const stumbles: (() => void)[] = []
  for (let kill = 0; kill < kills; kill++) {
    for (const [likely, method, failure] of troubles) if (chance() < likely) stumbles.push(slack.fail(method, failure))
    const gateway = await stage.start(env)
    await pause(chance() * 1500)
    if (chance() < 0.2) slack.disconnect('refresh_requested', 200)
    if (chance() < 0.1) slack.drop()
    await gateway.stop('SIGKILL')
  }
  over = true
  await talking
  for (const callOff of stumbles) callOff()
  const gateway = await stage.start(env)
  // As long as there is progress, it is only slow.
  for (let [left, since] = [open().length, performance.now()]; left > 0 && performance.now() - since < 60_000; ) {
    await pause(100)
    const now = open().length
    if (now !== left) [left, since] = [now, performance.now()]
  }
  const channels = [slack.general, other, direct]
  const left = () => channels.flatMap(channel => drafts(slack, channel))
  for (const until = performance.now() + 10_000; performance.now() < until && left().length > 0; ) await pause(50)
  await pause(500)

  let [answered, failed] = [0, 0]
  for (const [id, { text }] of said) {
    const answers = answersTo(id)
    if (answers.length !== 1) broken.push(`${text} (${id}) has ${answers.length} answers`)
    for (const { text: words } of answers) {
      if (words.includes(text) || (text === same && words === 'Done.')) answered++
      else failed++
    }
  }
  const all = channels.reduce((sum, channel) => sum + finals(slack, channel).length, 0)
  if (all !== said.size) broken.push(`${all} answers to ${said.size} messages`)
  for (const room of rooms.filter(({ thread, channel }) => thread !== null || channel.kind === 'im')) {
    const asked = [...said].filter(([, one]) => one.room === room).map(([id]) => id)
    const order = finals(slack, room.channel)
      .map(({ metadata }) => String(metadata?.event_payload.about))
      .filter(id => asked.includes(id))
    const early = order.findIndex((id, at) => id !== asked[at])
    if (early >= 0) broken.push(`${room.channel.id}: answer ${early} of ${order.length} is out of order`)
  }
  if (left().length > 0) broken.push(`${left().length} drafts were left behind`)
  const missing = await unaccounted(gateway)
  if (missing !== 0) broken.push(`the sum does not hold: ${missing}`)
  const code = await gateway.stop()
  if (code !== 0) broken.push(`the last gateway ended with ${code}: ${gateway.output().slice(-500)}`)
  if (processesWith(`HOME=${stage.home.dir}`).length > 0) broken.push('processes were left behind')
  return { said: said.size, answered, failed, broken }
}

const same = '[[say:Done.]]'

/** What befalls Slack between two kills, and how likely it is. */
const troubles: readonly (readonly [number, string, Failure])[] = [
  [0.3, 'chat.postMessage', { status: 502, storeFirst: true }],
  [0.3, 'chat.postMessage', { status: 503, times: 2 }],
  [0.3, 'chat.postMessage', { status: 429, retryAfter: 1 }],
  [0.2, 'chat.postMessage', { cut: true, storeFirst: true }],
  [0.2, 'chat.postMessage', { error: 'internal_error', storeFirst: true }],
  [0.2, 'chat.update', { error: 'cant_update_message' }],
  [0.2, 'chat.update', { status: 502, storeFirst: true }],
  [0.2, 'chat.startStream', { cut: true, storeFirst: true }],
  [0.1, 'chat.delete', { status: 503 }],
  [0.2, 'conversations.history', { status: 500 }],
  [0.2, 'conversations.replies', { status: 429, retryAfter: 1 }],
  [0.1, 'users.conversations', { status: 500 }],
]
