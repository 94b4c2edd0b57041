// What the gateway sends on Telegram: whole, once, and in spite of everything that Telegram does.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Failure } from '../fakes/telegram/index.ts'
import { eventually, exitOf, pause, statusOf, unaccounted } from '../fakes/temporary.ts'
import { openStage } from '../harness/telegram.ts'

const fast = { CLAUDE_STAND_IN_STEP_MS: '1' }

test('a long answer comes in pieces that Telegram takes, in order, the first as the reply; a very long one is a file', async () => {
  await using stage = await openStage()
  const { telegram } = stage
  await stage.start({ ...fast, TELEGRAM_FILE_OVER: '12000' })
  const alone = telegram.alone(telegram.ada)
  const said = telegram.say(telegram.ada, alone, '[[long:2000]]')
  await telegram.until(() => telegram.finals(alone).length >= 3, 20_000)
  const pieces = telegram.finals(alone)
  expect(pieces.map(({ replyTo }) => replyTo)).toEqual([said.id, ...pieces.slice(1).map(() => null)])
  const words = pieces.map(({ text }) => text.trim()).join(' ')
  expect(words.split(/\s+/)).toHaveLength(2000)
  telegram.say(telegram.ada, alone, '[[long:2500]]')
  const file = await telegram.until(() => telegram.finals(alone).find(({ kind }) => kind === 'document'), 20_000)
  expect(file.file?.name).toBe('answer.md')
}, 60_000)

test('files go along: pictures as pictures, all else as documents, each once', async () => {
  await using stage = await openStage()
  const { telegram, home } = stage
  mkdirSync(home.configDir, { recursive: true })
  const png = Buffer.from('89504e470d0a1a0a', 'hex')
  writeFileSync(join(home.configDir, 'plot.png'), png)
  writeFileSync(join(home.configDir, 'fake.png'), 'no picture at all')
  writeFileSync(join(home.configDir, 'table.csv'), 'a,b\n')
  await stage.start(fast)
  const alone = telegram.alone(telegram.ada)
  telegram.fail('sendDocument', { status: 502, storeFirst: true })
  telegram.say(telegram.ada, alone, '[[say:See [the plot](plot.png), [this](fake.png) and [numbers](table.csv).]]')
  await telegram.until(() => telegram.finals(alone).length >= 4, 20_000)
  await pause(1500)
  const sent = telegram.finals(alone).map(({ kind, text, file }) => `${kind} ${file?.name ?? text}`)
  expect(sent).toEqual([
    expect.stringContaining('See the plot, this and numbers.'),
    'photo plot.png',
    'document fake.png',
    'document table.csv',
  ])
}, 40_000)

test('a server that refuses entities gets plain text, and one without drafts gets a message that becomes the answer', async () => {
  await using stage = await openStage({ noEntities: true, noDrafts: true })
  const { telegram } = stage
  await stage.start({ CLAUDE_STAND_IN_STEP_MS: '60' })
  const alone = telegram.alone(telegram.ada)
  telegram.say(telegram.ada, alone, `[[tool:100]] **bold** ${'word '.repeat(60)}`)
  const draft = await telegram.until(
    () => telegram.answers(alone).find(({ buttons }) => buttons.includes('stop')),
    15_000,
  )
  const answer = await stage.answer(alone, 'bold')
  expect(answer.id).toBe(draft.id)
  expect(answer.entities).toEqual([])
  expect(answer.text).not.toContain('**')
  expect(telegram.answers(alone)).toHaveLength(1)
})

test.each<[string, Failure]>([
  ['answers 502 after storing', { status: 502, storeFirst: true }],
  ['cuts the connection after storing', { cut: true, storeFirst: true }],
  ['cuts the connection before storing', { cut: true }],
  ['answers 500 three times', { times: 3 }],
  ['wants patience', { status: 429, retryAfter: 1, times: 2 }],
])(
  'a Telegram that %s posts the answer once',
  async (_, failure) => {
    await using stage = await openStage()
    const { telegram } = stage
    const gateway = await stage.start(fast)
    const alone = telegram.alone(telegram.ada)
    const bob = telegram.user('Bob')
    telegram.fail('sendMessage', failure)
    telegram.say(telegram.ada, alone, '[[say:Done.]]')
    await telegram.until(() => telegram.requests('sendMessage').length > 0)
    // Where chats share a counter, ids of others lie between.
    for (let i = 0; i < 3; i++) telegram.say(bob, telegram.alone(bob), 'hello?')
    await stage.answer(alone, 'Done.', 20_000)
    telegram.say(telegram.ada, alone, '[[say:Next.]]')
    await stage.answer(alone, 'Next.', 20_000)
    await pause(500)
    expect(telegram.finals(alone).map(({ text }) => text)).toEqual(['Done.', 'Next.'])
    expect(await unaccounted(gateway)).toBe(0)
  },
  40_000,
)

test('what was said while the gateway was away is answered once, in order; repeated updates change nothing', async () => {
  await using stage = await openStage()
  const { telegram } = stage
  const alone = telegram.alone(telegram.ada)
  const first = await stage.start(fast)
  telegram.say(telegram.ada, alone, '[[say:0]]')
  await stage.answer(alone, '0')
  await first.stop('SIGKILL')
  for (let i = 1; i <= 4; i++) telegram.say(telegram.ada, alone, `[[say:${i}]]`)
  const updates = [...telegram.pending()]
  await stage.start({ ...fast, BUSY: 'reject' })
  await telegram.until(() => telegram.finals(alone).length === 5, 20_000)
  await telegram.until(() => telegram.pending().length === 0, 10_000)
  telegram.repeat(updates)
  await telegram.until(() => telegram.pending().length === 0, 10_000)
  await pause(500)
  expect(telegram.finals(alone).map(({ text }) => text)).toEqual(['0', '1', '2', '3', '4'])
}, 40_000)

test('a group that becomes a supergroup stays the same conversation, also for what waits to be sent', async () => {
  await using stage = await openStage()
  const { telegram, home } = stage
  await stage.start({ CLAUDE_STAND_IN_STEP_MS: '1' })
  const group = telegram.group('Kitchen', 'group')
  telegram.say(telegram.ada, group, 'before [[say:Before]]', { mention: true })
  await stage.answer(group, 'Before')
  telegram.say(telegram.ada, group, 'during [[tool:1200]] [[say:During]]', { mention: true })
  await telegram.until(() => home.begun().length === 2)
  const next = telegram.migrate(group)
  await stage.answer(next, 'During', 20_000)
  telegram.say(telegram.ada, next, 'after [[say:After]]', { mention: true })
  await stage.answer(next, 'After', 20_000)
  expect(new Set(home.begun().map(({ session }) => session)).size).toBe(1)
}, 40_000)

test('a person who has blocked the bot does not hold up the others; the token is never shown', async () => {
  await using stage = await openStage()
  const { telegram } = stage
  const gateway = await stage.start({ ...fast, LOG_LEVEL: 'debug' })
  const bob = telegram.user('Bob')
  const [alone, other] = [telegram.alone(telegram.ada), telegram.alone(bob)]
  telegram.bar(alone)
  telegram.say(telegram.ada, alone, '[[say:Never seen.]]')
  telegram.say(bob, other, 'hello')
  await stage.answer(other, 'pair approve')
  await eventually('the refusal', async () => (await statusOf(gateway)).deliveries.failed === 1)
  telegram.bar(alone, false)
  telegram.say(telegram.ada, alone, '[[say:Seen.]]')
  await stage.answer(alone, 'Seen.')
  expect(telegram.finals(alone).map(({ text }) => text)).toEqual(['Seen.'])
  telegram.offline(true)
  await telegram.until(() => gateway.output().includes('could not be reached'), 10_000)
  expect(gateway.output()).not.toContain(telegram.token)
}, 40_000)

test('another program with the same bot is reported in plain words, and afterwards all continues', async () => {
  await using stage = await openStage()
  const { telegram } = stage
  const gateway = await stage.start(fast)
  await telegram.until(() => telegram.requests('getUpdates').length > 1)
  telegram.conflict()
  await telegram.until(() => gateway.output().includes('another program receives the messages of this bot'))
  const alone = telegram.alone(telegram.ada)
  telegram.say(telegram.ada, alone, '[[say:Still here.]]')
  await stage.answer(alone, 'Still here.', 20_000)
}, 40_000)

test('a revoked token ends the gateway with words that say what to do', async () => {
  await using stage = await openStage()
  const { telegram } = stage
  const gateway = await stage.start(fast)
  await telegram.until(() => telegram.requests('getUpdates').length > 1)
  telegram.changeToken('987654321:AAanother-token-altogether')
  telegram.say(telegram.ada, telegram.alone(telegram.ada), 'hello')
  const code = await exitOf({ exit: gateway.exit, output: gateway.output }, 40_000)
  expect(code).not.toBe(0)
  expect(gateway.output()).toContain('BotFather')
}, 60_000)
