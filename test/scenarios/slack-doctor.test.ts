// `aetheel doctor` and `aetheel init` with Slack, and jobs for its channels.
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { exitOf } from '../fakes/temporary.ts'
import { runCommand } from '../harness/gateway.ts'
import { openStage, type Stage } from '../harness/slack.ts'

async function doctor(stage: Stage, env: Record<string, string> = {}) {
  const run = runCommand(stage.home, ['doctor', '--json'], stage.settings({ AGENT_BACKEND: 'echo', ...env }))
  await exitOf({ exit: run.exit, output: run.stderr })
  const { checks } = JSON.parse(run.stdout()) as {
    checks: { name: string; status: string; detail: string; fix?: string }[]
  }
  return { checks: checks.filter(({ name }) => name === 'slack'), all: checks, out: run.stdout() }
}

test('it says who the bot is and where; a bot in no channel is told how to get into one', async () => {
  await using stage = await openStage()
  const { checks } = await doctor(stage)
  expect(checks).toEqual([{ name: 'slack', status: 'ok', detail: 'aetheel of Our Workspace, in 1 channel' }])
  stage.slack.kick(stage.slack.general)
  const alone = await doctor(stage)
  expect(alone.checks).toMatchObject([{ status: 'warn', fix: expect.stringContaining('/invite @aetheel') }])
  expect(stage.slack.connections()).toBe(0)
})

test('a wrong or swapped token, a missing permission and an outage come with what to do', async () => {
  await using stage = await openStage()
  const wrong = await doctor(stage, { SLACK_BOT_TOKEN: 'xoxb-a-wrong-token' })
  expect(wrong.checks).toMatchObject([{ status: 'fail', fix: expect.stringContaining('Bot User OAuth Token') }])
  expect(wrong.out).not.toContain('xoxb-a-wrong-token')
  const swapped = await doctor(stage, {
    SLACK_BOT_TOKEN: stage.slack.tokens.app,
    SLACK_APP_TOKEN: stage.slack.tokens.bot,
  })
  expect(swapped.checks).toMatchObject([
    { status: 'fail', fix: expect.stringContaining('Bot User OAuth Token') },
    { status: 'fail', fix: expect.stringContaining('App-Level Tokens') },
  ])
  stage.slack.fail('users.conversations', { error: 'missing_scope' })
  expect((await doctor(stage)).checks[0]).toMatchObject({ status: 'fail', fix: expect.stringContaining('Reinstall') })
  stage.slack.offline(true)
  expect((await doctor(stage)).checks[0]).toMatchObject({ detail: expect.stringContaining('cannot be reached') })
  expect((await doctor(stage, { SLACK: 'false' })).checks).toEqual([])
})

test('a job for a channel that the bot cannot write to is refused when it is added', async () => {
  await using stage = await openStage()
  const { slack, home } = stage
  const closed = slack.channel('closed', [slack.ada], { invited: false })
  const old = slack.channel('old', [slack.ada])
  slack.archive(old)
  const root = slack.say(slack.ada, slack.general, 'a root')
  mkdirSync(home.configDir, { recursive: true })
  const add = async (channel: string) => {
    const args = [
      'cron',
      'add',
      `to ${channel.replace(/\W/g, ' ')}`,
      'every hour',
      'Look.',
      '--channel',
      `slack:${channel}`,
    ]
    const run = runCommand(home, args, stage.settings({ AGENT_BACKEND: 'echo' }))
    const code = await exitOf({ exit: run.exit, output: run.stderr })
    return { code, text: run.stdout() + run.stderr() }
  }
  expect(await add(closed.id)).toEqual({ code: 1, text: expect.stringContaining('I am not in that channel') })
  expect(await add(old.id)).toEqual({ code: 1, text: expect.stringContaining('archived') })
  expect(await add('C9999999')).toEqual({ code: 1, text: expect.stringContaining('no such channel') })
  expect(await add('general')).toEqual({ code: 1, text: expect.stringContaining('an id such as') })
  expect(await add(`${slack.general.id}:1700000000.000001`)).toEqual({
    code: 1,
    text: expect.stringContaining('thread'),
  })
  for (const good of [slack.general.id, `${slack.general.id}:${root.ts}`, slack.dm(slack.ada).id])
    expect(await add(good)).toMatchObject({ code: 0 })
  slack.kick(slack.general)
  const found = (await doctor(stage)).all.filter(({ detail }) => detail.includes(slack.general.id))
  expect(found.length).toBeGreaterThan(0)
})

test('init tries both tokens, saves them and turns Slack on', async () => {
  await using stage = await openStage()
  const { home, slack } = stage
  const run = runCommand(
    home,
    ['init', '--yes', '--backend', 'echo', '--connect', 'slack', '--owner', `slack:${slack.ada.id}`, '--no-turn'],
    stage.settings({ HTTP_TOKEN: '', SLACK: '', OWNERS: '' }),
  )
  expect([await exitOf({ exit: run.exit, output: run.stderr }, 30_000), run.stderr()]).toEqual([0, run.stderr()])
  expect(run.stdout()).toContain('aetheel of Our Workspace')
  const config = readFileSync(join(home.configDir, 'config.json'), 'utf8')
  expect(config).toMatch(/"slack": \{\s*"enabled": true/)
  expect(config).toContain(`slack:${slack.ada.id}`)
  expect(readFileSync(join(home.dir, '.env'), 'utf8')).toContain(`SLACK_APP_TOKEN=${slack.tokens.app}`)
  expect(config).not.toContain(slack.tokens.bot)
  const bad = runCommand(
    home,
    ['init', '--yes', '--backend', 'echo', '--connect', 'slack', '--no-turn'],
    stage.settings({ HTTP_TOKEN: '', SLACK_APP_TOKEN: 'xapp-wrong' }),
  )
  expect(await exitOf({ exit: bad.exit, output: bad.stderr }, 30_000)).toBe(1)
  expect(bad.stdout() + bad.stderr()).toContain('Slack does not accept the app-level token')
})

test('from the tokens to an answer, as the README says', async () => {
  await using stage = await openStage()
  const { slack, home } = stage
  await stage.start({ AGENT_BACKEND: 'echo', OWNERS: '' })
  const direct = slack.dm(slack.ada)
  slack.say(slack.ada, direct, 'hello')
  const told = await stage.answer(direct, 'pair approve')
  const code = /\*\*([^*]+)\*\*/.exec(told.text)?.[1] ?? ''
  const approve = runCommand(home, ['pair', 'approve', code, '--owner'], stage.settings({ OWNERS: '' }))
  expect(await exitOf({ exit: approve.exit, output: approve.stderr })).toBe(0)
  slack.say(slack.ada, direct, 'hello again')
  await stage.answer(direct, 'hello again')
  slack.say(slack.ada, slack.general, 'and here', { mention: true })
  const answer = await stage.answer(slack.general, 'and here')
  expect(answer.thread).not.toBeNull()
})
