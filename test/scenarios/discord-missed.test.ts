// Messages missed while the gateway was down wait in the queue, however many there are and in whichever channel.
import { describe, expect, test } from 'vitest'
import type { Channel, User } from '../fakes/discord/index.ts'
import { eventually, exitOf, statusOf, unaccounted } from '../fakes/temporary.ts'
import { finals, openStage, type Stage } from '../harness/discord.ts'
import { runCommand } from '../harness/gateway.ts'

const texts = (stage: Stage, channel: Channel) => finals(stage.discord, channel).map(({ content }) => content)

test.each([
  ['resumed', false],
  ['new', true],
])(
  'messages missed in more channels than are answered in parallel wait, and are not refused (session %s)',
  async (_, gone) => {
    await using stage = await openStage()
    const { discord } = stage
    const channels = Array.from({ length: 6 }, (_, n) => discord.channel(discord.home, `room-${n}`))
    const env = { MAX_CONCURRENT_QUERIES: '2', MAX_QUEUE_DEPTH: '3', BUSY: 'reject' }
    const first = await stage.start(env)
    discord.say(discord.ada, discord.general, 'hello', { mention: true })
    await stage.answer(discord.general, 'turn 1: hello')
    await first.stop()
    if (gone) discord.forgetSession()
    for (const text of ['one', 'two'])
      for (const channel of channels) discord.say(discord.ada, channel, text, { mention: true })
    const gateway = await stage.start(env)
    for (const channel of channels) await stage.answer(channel, 'turn 2: two', 20_000)
    for (const channel of channels) expect(texts(stage, channel)).toEqual(['turn 1: one', 'turn 2: two'])
    expect(await unaccounted(gateway)).toBe(0)
    await eventually('it is idle', async () => (await statusOf(gateway)).events.running === 0)
    // A new message is refused as busy, as usual.
    for (const channel of channels.slice(0, 2)) discord.say(discord.ada, channel, '[[tool:3000]]', { mention: true })
    await eventually('both run', () => stage.home.begun().length === 15)
    discord.say(discord.ada, discord.general, 'now', { mention: true })
    await stage.answer(discord.general, 'Busy:')
  },
)

describe('a first direct message, sent while the gateway was down and its session lost', () => {
  /** Somebody approved by the owner with a code. */
  async function pairedWith(stage: Stage, name: string): Promise<User> {
    const { discord, home } = stage
    const user = discord.user(name)
    discord.member(discord.home, user)
    discord.say(user, discord.general, 'let me in', { mention: true })
    const { content } = await stage.answer(discord.general, 'pair approve')
    const run = runCommand(home, ['pair', 'approve', /\*\*(.+?)\*\*/.exec(content)?.[1] ?? ''])
    expect(await exitOf({ exit: run.exit, output: run.stderr })).toBe(0)
    return user
  }

  const opened = ({ discord }: Stage) => discord.requests('POST /users/@me/channels')

  test('of an owner, a listed user and an approved person is answered; strangers are not searched for', async () => {
    await using stage = await openStage()
    const { discord } = stage
    const [bob, eve] = [discord.user('bob'), discord.user('eve')]
    // One id does not exist: a refusal for one user is not a failure.
    const env = { ALLOWED_USERS: `discord:${bob.id},discord:1234,tavern:77` }
    const first = await stage.start(env)
    const cleo = await pairedWith(stage, 'cleo')
    await first.stop()
    discord.forgetSession()
    for (const user of [discord.ada, bob, cleo, eve]) discord.say(user, discord.dm(user), `I am ${user.username}`)
    const second = await stage.start(env)
    for (const user of [discord.ada, bob, cleo]) await stage.answer(discord.dm(user), `turn 1: I am ${user.username}`)
    // The last one is looked up after the others, and nothing waits for it.
    await eventually('everybody who is known was looked up', () => opened(stage).length === 4)
    expect(opened(stage).map(({ body }) => body)).toEqual(
      [discord.ada.id, cleo.id, bob.id, '1234'].map(recipient_id => ({ recipient_id })),
    )
    // Missed messages of unknown people are found once they write again.
    discord.say(eve, discord.dm(eve), 'and I')
    await stage.answer(discord.dm(eve), 'pair approve')
    expect(await unaccounted(second)).toBe(0)
    await second.stop()

    // Their channels are not opened again, but still checked.
    discord.forgetSession()
    discord.say(bob, discord.dm(bob), 'once more')
    await stage.start(env)
    await stage.answer(discord.dm(bob), 'turn 2: once more')
    expect(opened(stage).filter(({ status }) => status === 200)).toHaveLength(3)
  })

  test('is answered after a kill, even if Discord did not let its channel be opened before', async () => {
    await using stage = await openStage()
    const { discord } = stage
    const direct = discord.dm(discord.ada)
    await (await stage.start()).stop()
    discord.forgetSession()
    discord.say(discord.ada, direct, 'first')
    const relent = discord.fail('POST /users/@me/channels', { status: 429, retryAfter: 60, times: 1000 })
    const second = await stage.start()
    await discord.until(() => opened(stage).length > 0)
    discord.say(discord.ada, discord.general, 'meanwhile', { mention: true })
    await stage.answer(discord.general, 'turn 1: meanwhile')
    await second.stop('SIGKILL')
    relent()
    discord.forgetSession()
    await stage.start()
    await stage.answer(direct, 'turn 1: first')
  })

  test('comes before messages sent after the gateway is back', async () => {
    await using stage = await openStage()
    const { discord } = stage
    const direct = discord.dm(discord.ada)
    await (await stage.start()).stop()
    discord.forgetSession()
    discord.say(discord.ada, direct, 'first')
    discord.fail('POST /users/@me/channels', { delayMs: 3000, times: 1 })
    await stage.start()
    await discord.until(() => opened(stage).length > 0)
    discord.say(discord.ada, direct, 'second')
    await stage.answer(direct, 'second')
    expect(texts(stage, direct)).toEqual(['turn 1: first', 'turn 2: second'])
  })
})
