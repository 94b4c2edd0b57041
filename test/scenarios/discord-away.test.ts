// Discord messages sent while the gateway is down, killed or disconnected are answered, each once.
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import type { FakeDiscord } from '../fakes/discord/index.ts'
import { eventually, pause, unaccounted } from '../fakes/temporary.ts'
import { finals, openStage, type Stage } from '../harness/discord.ts'

const texts = (stage: Stage, channel = stage.discord.general) =>
  finals(stage.discord, channel).map(({ content }) => content)
const asked = (stage: Stage) => stage.home.begun().map(({ prompt }) => prompt.split('\n').at(-1))

describe('after a restart', () => {
  test('the session is resumed, and missed messages are answered in order', async () => {
    await using stage = await openStage()
    const { discord } = stage
    const first = await stage.start()
    discord.say(discord.ada, discord.general, 'one', { mention: true })
    await stage.answer(discord.general, 'turn 1: one')
    await first.stop()
    for (const text of ['two', 'three']) discord.say(discord.ada, discord.general, text, { mention: true })
    const second = await stage.start()
    await stage.answer(discord.general, 'turn 3: three')
    expect(texts(stage)).toEqual(['turn 1: one', 'turn 2: two', 'turn 3: three'])
    expect(discord.gateway('identify')).toHaveLength(1)
    expect(discord.gateway('resume')).toHaveLength(1)
    expect(second.output()).toMatch(/"bot":"aetheel","guilds":1,"resumed":true/)
    // After a resume, people, channels and guilds are looked up again.
    expect(stage.home.begun().at(-1)?.prompt).toContain('in #general of Our Server]')
  })

  test('when the session is gone, missed messages are fetched: in all channels, oldest first, each once', async () => {
    await using stage = await openStage()
    const { discord } = stage
    const quiet = discord.channel(discord.home, 'quiet')
    const direct = discord.dm(discord.ada)
    const first = await stage.start()
    discord.say(discord.ada, discord.general, 'one', { mention: true })
    await stage.answer(discord.general, 'turn 1: one')
    discord.say(discord.ada, direct, 'hello')
    await stage.answer(direct, 'turn 1: hello')
    const thread = discord.thread(discord.general, 'talk')
    discord.say(discord.ada, thread, 'a', { mention: true })
    await stage.answer(thread, 'turn 1: a')
    await first.stop()

    discord.forgetSession()
    for (let i = 0; i < 120; i++) discord.say(discord.ada, discord.general, 'chatter')
    for (const text of ['two', 'three']) discord.say(discord.ada, discord.general, text, { mention: true })
    discord.say(discord.ada, direct, 'still there?')
    discord.say(discord.ada, thread, 'b')
    discord.say(discord.ada, quiet, 'anybody?', { mention: true })
    const young = discord.thread(quiet, 'new')
    discord.say(discord.ada, young, 'me too', { mention: true })
    const gateway = await stage.start()
    await stage.answer(discord.general, 'turn 3: three')
    await stage.answer(direct, 'turn 2: still there?')
    await stage.answer(thread, 'turn 2: b')
    await stage.answer(quiet, 'turn 1: anybody?')
    await stage.answer(young, 'turn 1: me too')
    expect(texts(stage)).toEqual(['turn 1: one', 'turn 2: two', 'turn 3: three'])
    expect(asked(stage)).toHaveLength(9)
    expect(await unaccounted(gateway)).toBe(0)
  })

  test('people allowed by a role or a channel, including its threads, are still allowed after a restart', async () => {
    await using stage = await openStage()
    const { discord } = stage
    const role = discord.role(discord.home, 'friends')
    const open = discord.channel(discord.home, 'open')
    const [bob, eve] = [discord.user('bob'), discord.user('eve')]
    discord.member(discord.home, bob, [role])
    discord.member(discord.home, eve)
    const env = { ALLOWED_ROLES: role.id, ALLOWED_CHANNELS: open.id }
    const first = await stage.start(env)
    discord.say(bob, discord.general, 'one', { mention: true })
    await stage.answer(discord.general, 'turn 1: one')
    const thread = discord.thread(open, 'talk')
    await first.stop()

    // Resumed: Discord does not send channels and members again.
    discord.say(eve, thread, 'in a thread', { mention: true })
    const second = await stage.start(env)
    await stage.answer(thread, 'turn 1: in a thread')
    await second.stop()

    // A fetched message does not include the roles.
    discord.forgetSession()
    discord.say(bob, discord.general, 'two', { mention: true })
    discord.say(eve, thread, 'again')
    await stage.start(env)
    await stage.answer(discord.general, 'turn 2: two')
    await stage.answer(thread, 'turn 2: again')
  })

  test('messages older than the limit, or from before the first start, are not answered', async () => {
    let ahead = -48 * 3_600_000
    await using stage = await openStage({ now: () => Date.now() + ahead })
    const { discord } = stage
    discord.say(discord.ada, discord.general, 'before your time', { mention: true })
    const first = await stage.start()
    discord.say(discord.ada, discord.general, 'one', { mention: true })
    await stage.answer(discord.general, 'turn 1: one')
    await first.stop()
    discord.forgetSession()
    ahead = -25 * 3_600_000
    discord.say(discord.ada, discord.general, 'too old', { mention: true })
    ahead = -23 * 3_600_000
    discord.say(discord.ada, discord.general, 'young enough', { mention: true })
    await stage.start()
    await stage.answer(discord.general, 'turn 2: young enough')
    expect(asked(stage)).toEqual(['one', 'young enough'])
  })

  test.each([
    ['resumed', false],
    ['new', true],
  ])('many messages that a guest wrote over hours while it was down are all answered (session %s)', async (_, gone) => {
    let ahead = -3_600_000
    await using stage = await openStage({ now: () => Date.now() + ahead })
    const { discord } = stage
    const bob = discord.user('bob')
    discord.member(discord.home, bob)
    const env = { ALLOWED_USERS: `discord:${bob.id}`, RATE_LIMIT: '2' }
    const first = await stage.start(env)
    discord.say(bob, discord.general, 'one', { mention: true })
    await stage.answer(discord.general, 'turn 1: one')
    await first.stop()
    if (gone) discord.forgetSession()
    for (let i = 2; i <= 8; i++) {
      ahead += 120_000
      discord.say(bob, discord.general, `message ${i}`, { mention: true })
    }
    // One more than the limit per minute.
    for (let i = 0; i < 2; i++) discord.say(bob, discord.general, `flood ${i}`, { mention: true })
    await stage.start(env)
    await stage.answer(discord.general, 'turn 9: flood 0')
    await stage.answer(discord.general, 'Too fast')
    expect(asked(stage)).toHaveLength(9)
  })

  test('channels that it may not read are skipped, and the rest is caught up', async () => {
    await using stage = await openStage()
    const { discord } = stage
    const secret = discord.channel(discord.home, 'secret')
    discord.permissions(secret, ['ViewChannel'])
    const first = await stage.start()
    discord.say(discord.ada, discord.general, 'one', { mention: true })
    await stage.answer(discord.general, 'turn 1: one')
    await first.stop()
    discord.say(discord.ada, secret, 'among ourselves')
    discord.say(discord.ada, discord.general, 'two', { mention: true })
    discord.forgetSession()
    await stage.start()
    await stage.answer(discord.general, 'turn 2: two')
    expect(discord.requests().filter(({ status }) => status === 403)).toEqual([])
  })

  test('a session is not resumed if our own identity is no longer known', async () => {
    await using stage = await openStage()
    const { discord } = stage
    const first = await stage.start()
    discord.say(discord.ada, discord.general, 'one', { mention: true })
    await stage.answer(discord.general, 'turn 1: one')
    await first.stop()
    const db = new DatabaseSync(join(stage.home.configDir, '.aetheel/aetheel.db'))
    db.exec("DELETE FROM chat_state WHERE name = 'self'")
    db.close()
    discord.say(discord.ada, discord.general, 'two', { mention: true })
    await stage.start()
    await stage.answer(discord.general, 'turn 2: two')
    expect(discord.gateway('identify')).toHaveLength(2)
  })

  test('a message that arrives while it stops is answered after the next start', async () => {
    await using stage = await openStage()
    const { discord } = stage
    const first = await stage.start()
    discord.say(discord.ada, discord.general, 'one [[tool:1500]]', { mention: true })
    await eventually('it runs', () => stage.home.begun().length === 1)
    const stopped = first.stop()
    await eventually('it is stopping', () => first.output().includes('"stopping"'))
    discord.say(discord.ada, discord.general, 'two', { mention: true })
    await stopped
    expect(texts(stage)).toEqual(['turn 1: one [[tool:1500]]'])
    await stage.start()
    await stage.answer(discord.general, 'turn 2: two')
    expect(texts(stage)).toHaveLength(2)
  })
})

describe('killed', () => {
  test('in the middle of a turn, it resumes the turn in the same draft, and posts everything once', async () => {
    await using stage = await openStage()
    const { discord } = stage
    const env = { CLAUDE_STAND_IN_STEP_MS: '30', BACKEND_WARM: 'false' }
    const first = await stage.start(env)
    const words = Array.from({ length: 100 }, (_, i) => `w${i}`).join(' ')
    discord.say(discord.ada, discord.general, words, { mention: true })
    const draft = await discord.until(() => discord.answers(discord.general)[0])
    await first.stop('SIGKILL')
    discord.say(discord.ada, discord.general, 'and then', { mention: true })
    await stage.start(env)
    await stage.answer(discord.general, 'and then')
    await eventually('both are answered', () => texts(stage).length === 2)
    expect(finals(discord, discord.general)[0]?.id).toBe(draft.id)
    expect(discord.answers(discord.general)).toHaveLength(2)
  })

  test('between Discord storing an answer and our receiving the response: it is posted once', async () => {
    await using stage = await openStage()
    const { discord } = stage
    const first = await stage.start()
    discord.fail('POST /channels/:id/messages', { storeFirst: true, hang: true, times: 1 })
    discord.say(discord.ada, discord.general, 'one', { mention: true })
    await discord.until(() => texts(stage).length === 1)
    await first.stop('SIGKILL')
    await stage.start()
    discord.say(discord.ada, discord.general, 'two', { mention: true })
    await stage.answer(discord.general, 'turn 2: two')
    expect(texts(stage)).toEqual(['turn 1: one', 'turn 2: two'])
  })

  test('the same, but so long ago that Discord has forgotten the nonce', async () => {
    await using stage = await openStage({ nonceMs: 1 })
    const { discord } = stage
    const first = await stage.start()
    discord.fail('POST /channels/:id/messages', { storeFirst: true, hang: true, times: 1 })
    discord.say(discord.ada, discord.general, 'one', { mention: true })
    await discord.until(() => texts(stage).length === 1)
    await first.stop('SIGKILL')
    await pause(20)
    await stage.start()
    discord.say(discord.ada, discord.general, 'two', { mention: true })
    await stage.answer(discord.general, 'turn 2: two')
    expect(texts(stage)).toEqual(['turn 1: one', 'turn 2: two'])
  })

  test('again and again, with and without its session: each message is answered once', async () => {
    await using stage = await openStage()
    const { discord } = stage
    const said: string[] = []
    const say = () =>
      said.push(discord.say(discord.ada, discord.general, `message ${said.length}`, { mention: true }).id)
    for (let round = 0; round < 4; round++) {
      const gateway = await stage.start({ MAX_QUEUE_DEPTH: '1000' })
      for (let i = 0; i < 3; i++) say()
      await pause(60 * round)
      await gateway.stop('SIGKILL')
      say()
      if (round % 2 === 1) discord.forgetSession()
    }
    const gateway = await stage.start({ MAX_QUEUE_DEPTH: '1000' })
    await eventually('all are answered', () => texts(stage).length >= said.length, 20_000)
    await pause(300)
    // One that was interrupted three times is parked, which is an answer too.
    expect(finals(discord, discord.general).map(({ reference }) => reference)).toEqual(said)
    expect(await unaccounted(gateway)).toBe(0)
  })
})

describe('a broken connection', () => {
  test.each([
    ['is told to come again', (discord: FakeDiscord) => discord.op7()],
    ['breaks off', (discord: FakeDiscord) => discord.dropConnection()],
    ['is told that its session is over', (discord: FakeDiscord) => discord.op9(false)],
    ['is closed with an error', (discord: FakeDiscord) => discord.closeGateway(4000)],
    ['is dead without a word', (discord: FakeDiscord) => discord.goSilent()],
  ])('one that %s is resumed, and nothing is lost', async (_, go) => {
    await using stage = await openStage({ heartbeatMs: 500 })
    const { discord } = stage
    const gateway = await stage.start()
    go(discord)
    discord.say(discord.ada, discord.general, 'hello', { mention: true })
    await stage.answer(discord.general, 'turn 1: hello')
    expect(texts(stage)).toHaveLength(1)
    expect(await gateway.stop()).toBe(0)
  })

  test('during an outage at the start it retries, and the rest of the gateway works meanwhile', async () => {
    await using stage = await openStage()
    const { discord } = stage
    discord.offline(true)
    const gateway = await stage.start()
    expect(gateway.output()).toMatch(/could not be reached/)
    discord.offline(false)
    await discord.ready(10_000)
    discord.say(discord.ada, discord.general, 'hello', { mention: true })
    await stage.answer(discord.general, 'turn 1: hello')
  })
})
