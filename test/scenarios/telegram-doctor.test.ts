// `aetheel doctor`, `aetheel init` and `aetheel cron add` with Telegram.
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { exitOf } from '../fakes/temporary.ts'
import { runCommand } from '../harness/gateway.ts'
import { openStage, type TelegramStage } from '../harness/telegram.ts'

async function run(stage: TelegramStage, args: readonly string[], env: Record<string, string> = {}) {
  const ran = runCommand(stage.home, args, { ...stage.settings({ AGENT_BACKEND: 'echo', ...env }) })
  const code = await exitOf({ exit: ran.exit, output: ran.stderr }, 30_000)
  return { code, out: ran.stdout(), err: ran.stderr() }
}

async function doctor(stage: TelegramStage, env: Record<string, string> = {}) {
  const { out } = await run(stage, ['doctor', '--json'], env)
  const { checks } = JSON.parse(out) as { checks: { name: string; status: string; detail: string; fix?: string }[] }
  return { checks: checks.filter(({ name }) => name === 'telegram'), all: checks, out }
}

test('it says who the bot is and where to write to it; a webhook, a wrong token and an outage come with what to do', async () => {
  await using stage = await openStage()
  const { telegram } = stage
  expect((await doctor(stage)).checks).toMatchObject([
    { status: 'ok', detail: expect.stringContaining(`https://t.me/${telegram.bot.username}`) },
  ])
  telegram.webhook('https://example.com/hook')
  expect((await doctor(stage)).checks.at(-1)).toMatchObject({
    status: 'fail',
    detail: expect.stringContaining('webhook'),
  })
  for (const token of ['987654321:AAwrong-token-of-the-same-form', 'nonsense']) {
    const wrong = await doctor(stage, { TELEGRAM_BOT_TOKEN: token })
    expect(wrong.checks).toMatchObject([{ status: 'fail', fix: expect.stringContaining('BotFather') }])
    expect(wrong.out).not.toContain(token)
  }
  telegram.offline(true)
  const { checks, out } = await doctor(stage)
  expect(checks).toMatchObject([{ status: 'fail', detail: expect.stringContaining('cannot be reached') }])
  expect(out).not.toContain(telegram.token)
  expect((await doctor(stage, { TELEGRAM: 'false' })).checks).toEqual([])
}, 60_000)

test('init --connect tries the token, saves it in .env alone, and turns Telegram on', async () => {
  await using stage = await openStage()
  const { telegram, home } = stage
  const env = { TELEGRAM: '', OWNERS: '' }
  const wrong = await run(stage, ['init', '--yes', '--connect', 'telegram', '--no-turn'], {
    ...env,
    TELEGRAM_BOT_TOKEN: '1:AAnot-this-token',
  })
  expect([wrong.code, wrong.err]).toEqual([1, expect.stringContaining('nothing was written: Telegram')])
  const good = await run(
    stage,
    ['init', '--yes', '--connect', 'telegram', '--owner', `telegram:${telegram.ada.id}`, '--no-turn'],
    env,
  )
  expect([good.code, good.err]).toEqual([0, ''])
  expect(good.out).not.toContain(telegram.token)
  const config = readFileSync(join(home.configDir, 'config.json'), 'utf8')
  expect(JSON.parse(config.replace(/^\/\/.*$/m, ''))).toMatchObject({
    telegram: { enabled: true },
    owner: { users: [`telegram:${telegram.ada.id}`] },
  })
  expect(config).not.toContain(telegram.token)
  expect(readFileSync(join(home.dir, '.env'), 'utf8')).toBe(`TELEGRAM_BOT_TOKEN=${telegram.token}\n`)
}, 60_000)

test('a job for a chat or topic that the bot cannot write to is refused when it is added', async () => {
  await using stage = await openStage()
  const { telegram } = stage
  mkdirSync(stage.home.configDir, { recursive: true })
  const forum = telegram.group('Forum', 'supergroup', true)
  const topic = telegram.topic(forum)
  const [muted, gone, old] = [telegram.group('Muted'), telegram.group('Gone'), telegram.group('Old', 'group')]
  telegram.mute(muted)
  telegram.bar(gone)
  telegram.migrate(old)
  const blocked = telegram.alone(telegram.user('Eve'))
  telegram.bar(blocked)
  let jobs = 0
  const add = (channel: string) =>
    run(stage, ['cron', 'add', `job ${++jobs}`, 'every hour', 'Look.', '--channel', `telegram:${channel}`])
  for (const [channel, why] of [
    ['4711', 'does not exist'],
    [String(muted.id), 'may not write'],
    [String(gone.id), 'not in that group'],
    [String(blocked.id), 'blocked'],
    [`${forum.id}:${topic + 1}`, 'topic'],
    ['@somebody', 'is a number'],
  ] as const)
    expect(await add(channel)).toMatchObject({ code: 1, err: expect.stringContaining(why) })
  for (const channel of [telegram.ada.id, forum.id, `${forum.id}:${topic}`, old.id])
    expect(await add(String(channel))).toMatchObject({ code: 0 })
  expect(telegram.requests('sendMessage')).toEqual([])
  telegram.bar(forum)
  const { all } = await doctor(stage)
  expect(all.filter(({ detail }) => detail.includes('cannot be sent')).length).toBe(2)
}, 60_000)
