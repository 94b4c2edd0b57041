// `aetheel doctor` while Discord is on.
import { expect, test } from 'vitest'
import { exitOf } from '../fakes/temporary.ts'
import { openStage, type Stage } from '../harness/discord.ts'
import { runCommand } from '../harness/gateway.ts'

async function doctor(stage: Stage, env: Record<string, string> = {}) {
  const run = runCommand(stage.home, ['doctor', '--json'], stage.settings({ AGENT_BACKEND: 'echo', ...env }))
  await exitOf({ exit: run.exit, output: run.stderr })
  const { checks } = JSON.parse(run.stdout()) as {
    checks: { name: string; status: string; detail: string; fix?: string }[]
  }
  return { checks: checks.filter(({ name }) => name === 'discord'), out: run.stdout() }
}

test('it names the bot, and prints the invite link with exactly the needed permissions', async () => {
  await using stage = await openStage()
  const { checks } = await doctor(stage)
  const link = `${new URL(stage.discord.url).origin}/oauth2/authorize?client_id=${stage.discord.applicationId}&scope=bot+applications.commands&permissions=309237746688`
  expect(checks).toEqual([{ name: 'discord', status: 'ok', detail: expect.stringContaining(link) }])
  expect(checks[0]?.detail).toMatch(/^aetheel, in 1 server;/)
  stage.discord.leave(stage.discord.home)
  const alone = await doctor(stage)
  expect(alone.checks).toMatchObject([{ status: 'warn', fix: `Open ${link} and choose your server.` }])
})

test('for a missing intent or a wrong token it says where to click', async () => {
  await using stage = await openStage({ denied: ['MessageContent'] })
  const off = await doctor(stage)
  expect(off.checks.at(-1)).toMatchObject({ status: 'fail', fix: expect.stringContaining('Message Content Intent') })
  const without = await doctor(stage, { DISCORD_MESSAGE_CONTENT: 'false' })
  expect(without.checks.map(({ status }) => status)).toEqual(['ok'])
  const wrong = await doctor(stage, { DISCORD_BOT_TOKEN: 'a-wrong-token' })
  expect(wrong.checks).toMatchObject([{ status: 'fail', fix: expect.stringContaining('Reset Token') }])
  expect(wrong.out).not.toContain('a-wrong-token')
})

test('an unreachable Discord is reported; if Discord is off, it is not checked', async () => {
  await using stage = await openStage()
  stage.discord.offline(true)
  const { checks } = await doctor(stage)
  expect(checks).toMatchObject([{ status: 'fail', detail: expect.stringContaining('cannot be reached') }])
  expect((await doctor(stage, { DISCORD: 'false' })).checks).toEqual([])
})
