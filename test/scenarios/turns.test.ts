// How turns can fail, and what the person sees.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { eventually, isAlive, statusOf, type TemporaryHome, temporaryHome, unaccounted } from '../fakes/temporary.ts'
import { connect } from '../harness/client.ts'
import { processesWith, type RunningGateway } from '../harness/gateway.ts'

const isNotice = (frame: { type: string; phase?: string }) => frame.type === 'action' && frame.phase === 'notice'

describe('a turn', () => {
  const silence = 1500
  const ceiling = 5000
  let home: TemporaryHome
  let gateway: RunningGateway
  const runsOf = (words: string) => home.begun().filter(run => run.prompt.includes(words))

  beforeAll(async () => {
    home = await temporaryHome()
    gateway = await home.start({
      QUERY_TIMEOUT_MS: String(silence),
      QUERY_MAX_MS: String(ceiling),
      MAX_CONCURRENT_QUERIES: '20',
      CLAUDE_STAND_IN_STEP_MS: '15',
      BACKEND_WARM: 'false',
    })
  })
  afterAll(() => home[Symbol.asyncDispose]())

  test.concurrent('whose session is lost starts over with the history, and says so', async ({ expect }) => {
    const client = await connect(gateway.url, 'lost')
    client.say('1', 'my cat is called Ada')
    await client.final('1')
    const [first] = runsOf('my cat is called Ada')
    rmSync(join(home.dir, '.claude-stand-in', `${first?.session}.json`))
    client.say('2', 'what is my cat called?')
    const { text, ok } = await client.final('2')
    expect(ok).toBe(true)
    expect(text).toMatch(/^turn 1: what is my cat called\?\n\n\*\(The earlier session was lost; .*\)\*$/)
    const again = runsOf('what is my cat called?').at(-1)
    expect(again).toMatchObject({ resumed: false })
    expect(again?.session).not.toBe(first?.session)
    expect(again?.prompt).toMatch(
      /my cat is called Ada[\s\S]*turn 1: my cat is called Ada[\s\S]*what is my cat called\?$/,
    )
    client.say('3', 'and now?')
    expect((await client.final('3')).text).toBe('turn 2: and now?')
    await client.close()
  })

  test.concurrent('that is silent is ended and reported, and the lane continues', async ({ expect }) => {
    const client = await connect(gateway.url, 'silent')
    const began = performance.now()
    client.say('1', 'say nothing [[hang]]')
    client.say('2', 'next')
    const final = await client.final('1')
    expect(final).toMatchObject({
      ok: false,
      text: expect.stringMatching(/^Timed out: .*took too long and was stopped/),
    })
    expect(performance.now() - began).toBeGreaterThan(silence - 50)
    expect(runsOf('say nothing')).toHaveLength(1)
    expect(runsOf('say nothing').map(run => isAlive(run.pid))).toEqual([false])
    expect((await client.final('2')).ok).toBe(true)
    await client.close()
  })

  test.concurrent('is not ended while a tool runs, however quiet it is', async ({ expect }) => {
    const client = await connect(gateway.url, 'tool')
    client.say('1', 'build it [[tool:3000]]')
    expect(await client.final('1')).toMatchObject({ ok: true, text: 'turn 1: build it [[tool:3000]]' })
    await client.close()
  })

  test.concurrent('that runs too long is ended at the ceiling, even while it produces text', async ({ expect }) => {
    const client = await connect(gateway.url, 'endless')
    const began = performance.now()
    client.say('1', 'tell me everything [[long:3000]]')
    expect(await client.final('1')).toMatchObject({ ok: false, text: expect.stringMatching(/^Timed out: /) })
    expect(performance.now() - began).toBeGreaterThan(ceiling - 50)
    expect(client.frames.filter(frame => frame.type === 'draft').length).toBeGreaterThan(10)
    expect(runsOf('tell me everything').map(run => isAlive(run.pid))).toEqual([false])
    await client.close()
  })

  test.concurrent('that crashes after a tool ran is not repeated', async ({ expect }) => {
    const client = await connect(gateway.url, 'acted')
    client.say('1', 'pay the bill [[tool]] [[dieafter]]')
    expect(await client.final('1')).toMatchObject({ ok: false, text: expect.stringMatching(/^Crashed: /) })
    client.say('2', 'next')
    expect((await client.final('2')).ok).toBe(true)
    expect(runsOf('pay the bill')).toHaveLength(1)
    await client.close()
  })

  test.concurrent('that reaches a usage limit waits, which is reported, and runs when the limit ends', async ({
    expect,
  }) => {
    const client = await connect(gateway.url, 'limit')
    const end = Math.ceil(Date.now() / 1000) + 2
    client.say('1', `work hard [[limit:${end}]]`)
    const notice = await client.next(isNotice)
    expect(notice.label).toMatch(/^claude has reached its usage limit\. I will try again at /)
    expect(gateway.output()).toContain(
      `"why":"rate-limited","until":"${new Date(end * 1000).toISOString()}","msg":"turn put off"`,
    )
    expect(client.frames.some(frame => frame.type === 'final')).toBe(false)
    // A deferred message can still be edited: this avoids a second limit.
    client.send({ type: 'edit', id: '1', text: 'work hard, please' })
    expect((await client.final('1')).text).toContain('work hard, please')
    expect(Date.now()).toBeGreaterThanOrEqual(end * 1000)
    expect(runsOf('work hard')).toHaveLength(2)
    await client.close()
  })

  test.concurrent('of an agent that is not logged in says what the owner can do', async ({ expect }) => {
    const client = await connect(gateway.url, 'login')
    client.say('1', 'hello [[login]]')
    expect(await client.final('1')).toMatchObject({
      ok: false,
      text: expect.stringMatching(
        /^Not logged in: claude needs a login or a valid key\. Run `claude` once in a terminal/,
      ),
    })
    await client.close()
  })
})

test.concurrent('with an overloaded service the message is retried later: reported, waiting, and still cancellable', async ({
  expect,
}) => {
  await using home = await temporaryHome()
  const gateway = await home.start()
  const client = await connect(gateway.url)
  client.say('1', 'are you busy? [[api:529]]')
  const notice = await client.next(isNotice)
  expect(notice).toMatchObject({
    id: '1',
    label: expect.stringMatching(/^The service behind claude is overloaded\. I will try again at /),
  })
  expect((await statusOf(gateway)).events).toMatchObject({ received: 1, waiting: 1, running: 0, failed: 0 })
  client.send({ type: 'cancel', id: '1' })
  expect((await client.next(frame => frame.type === 'refused')).reason).toBe('cancelled')
  expect((await statusOf(gateway)).events).toMatchObject({ waiting: 0, refused: 1 })
  expect(home.begun()).toHaveLength(1)
})

test.concurrent('with all places taken, a sixth conversation is refused as busy', async ({ expect }) => {
  await using home = await temporaryHome()
  const gateway = await home.start()
  const five = await Promise.all(['a', 'b', 'c', 'd', 'e'].map(name => connect(gateway.url, name)))
  for (const client of five) client.say('1', 'this takes long [[hang]]')
  for (const client of five) await client.next(frame => frame.type === 'accepted')
  const sixth = await connect(gateway.url, 'f')
  sixth.say('1', 'me too')
  expect((await sixth.next(frame => frame.type === 'refused')).reason).toMatch(/^Busy: .*try again later/)
  five[0]?.say('2', 'but who is already here may wait')
  await five[0]?.next(frame => frame.type === 'accepted' && frame.id === '2')
  expect((await statusOf(gateway)).events).toMatchObject({ running: 5, waiting: 1, refused: 1 })
  five[1]?.send({ type: 'stop' })
  await five[1]?.final('1')
  sixth.say('2', 'now?')
  expect((await sixth.final('2')).ok).toBe(true)
  expect(await unaccounted(gateway)).toBe(0)
})

test.concurrent('with BUSY=queue the sixth waits, gets its position and is answered when a place is free', async ({
  expect,
}) => {
  await using home = await temporaryHome()
  const gateway = await home.start({ BUSY: 'queue' })
  const five = await Promise.all(['a', 'b', 'c', 'd', 'e'].map(name => connect(gateway.url, name)))
  for (const client of five) client.say('1', 'this takes long [[hang]]')
  for (const client of five) await client.next(frame => frame.type === 'accepted')
  const [sixth, seventh] = [await connect(gateway.url, 'f'), await connect(gateway.url, 'g')]
  sixth.say('1', 'me too')
  expect(await sixth.next(frame => frame.type === 'waiting')).toMatchObject({ id: '1', position: 1 })
  seventh.say('1', 'and me')
  expect(await seventh.next(frame => frame.type === 'waiting')).toMatchObject({ id: '1', position: 2 })
  five[3]?.send({ type: 'stop' })
  expect((await sixth.final('1')).text).toBe('turn 1: me too')
  expect((await seventh.final('1')).text).toBe('turn 1: and me')
})

test.concurrent('with COLLECT waiting messages are answered together, and each has an end', async ({ expect }) => {
  await using home = await temporaryHome()
  const gateway = await home.start({ COLLECT: 'true' })
  const client = await connect(gateway.url)
  client.say('a', 'start [[tool:500]]')
  await client.next(frame => frame.type === 'action')
  for (const id of ['b', 'c', 'd']) client.say(id, `also ${id}`)
  expect((await client.final('d')).text).toBe('turn 2: also d')
  for (const id of ['b', 'c']) expect((await client.final(id)).text).toBe('Answered together with your next message.')
  expect(home.begun()).toHaveLength(2)
  expect(home.begun()[1]?.prompt).toMatch(/3 messages came in[\s\S]*also b[\s\S]*also c[\s\S]*also d$/)
  expect((await statusOf(gateway)).events).toMatchObject({ received: 4, answered: 4 })
})

test.concurrent('a turn interrupted by kill -9 is resumed in its session, and the agent is notified', async ({
  expect,
}) => {
  await using home = await temporaryHome()
  const first = await home.start({ CLAUDE_STAND_IN_STEP_MS: '300' })
  const client = await connect(first.url, 'cut')
  client.say('1', 'one two three four five six seven eight nine')
  await client.next(frame => frame.type === 'draft' && (frame.text ?? '') !== '')
  await first.stop('SIGKILL')
  const second = await home.start()
  const back = await connect(second.url, 'cut')
  expect((await back.final('1')).text).toMatch(/^turn 2: one two three/)
  const [before, after] = home.begun()
  expect(home.begun()).toHaveLength(2)
  expect(after).toMatchObject({ session: before?.session, resumed: true })
  expect(after?.prompt).toMatch(/turn on the last message above was interrupted/)
  // The session already has the message, so it is not sent again.
  expect(after?.prompt).not.toContain('one two three')
  expect(after?.about).toContain('one two three')
  expect(before?.prompt).not.toContain('was interrupted')
})

test.concurrent('a message that was interrupted three times is parked visibly, and the lane continues', async ({
  expect,
}) => {
  await using home = await temporaryHome()
  const cold = { BACKEND_WARM: 'false' }
  for (const attempt of [1, 2, 3]) {
    const gateway = await home.start(cold)
    const client = await connect(gateway.url, 'deadly')
    if (attempt === 1) {
      client.say('bad', 'this one kills [[grandchild]] [[hang]]')
      client.say('good', 'this one does not')
      await client.next(frame => frame.type === 'accepted' && frame.id === 'good')
    }
    await eventually('the run', () => home.begun().length === attempt)
    await gateway.stop('SIGKILL')
  }
  const gateway = await home.start(cold)
  const client = await connect(gateway.url, 'deadly')
  expect(await client.final('bad')).toMatchObject({
    ok: false,
    text: expect.stringMatching(/^I started this message 3 times and was interrupted each time, so I gave up on it/),
  })
  expect((await client.final('good')).text).toMatch(/this one does not$/)
  expect((await statusOf(gateway)).events).toMatchObject({ received: 2, answered: 1, failed: 1, waiting: 0 })
  expect(home.begun()).toHaveLength(4)
  await eventually('nothing but the gateway', () => processesWith(home.dir).every(pid => pid === gateway.pid))
})

test.concurrent('without an agent CLI the first answer streams and says so, and the next does not repeat it', async ({
  expect,
}) => {
  await using home = await temporaryHome()
  const gateway = await home.start({ AGENT_BACKEND: '', BACKEND_CLI_PATH: '', PATH: '/nowhere' })
  const client = await connect(gateway.url)
  client.say('1', 'is anybody there?')
  expect((await client.final('1')).text).toMatch(
    /^No agent CLI was found on this machine .*npm install -g .*\n\nYou said:\n\nis anybody there\?$/,
  )
  const drafts = new Set(client.frames.filter(frame => frame.type === 'draft').map(frame => frame.text))
  expect(drafts.size).toBeGreaterThan(3)
  client.say('2', 'and now?')
  expect((await client.final('2')).text).toBe('You said:\n\nand now?')
})

test('every prompt has the owner’s local time, and no answer contains it', async ({ expect }) => {
  await using home = await temporaryHome()
  const gateway = await home.start({ TIMEZONE: 'Asia/Kathmandu' })
  const client = await connect(gateway.url, 'time')
  client.say('1', 'what time is it?')
  expect((await client.final('1')).text).toBe('turn 1: what time is it?')
  const [begun] = home.begun()
  const [, told = ''] = /^\[Gateway: it is \w{3} (.*) UTC\+05:45\.\]$/.exec(begun?.now ?? '') ?? []
  const ago = Date.now() - Date.parse(`${told.replace(' ', 'T')}:00+05:45`)
  expect(ago).toBeGreaterThanOrEqual(0)
  expect(ago).toBeLessThan(120_000)
  expect(begun?.system).not.toContain(told.slice(0, 10))
  await client.close()
})
