// `aetheel doctor` while Discord is on.
import { mkdirSync } from 'node:fs'
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

test('a job for a channel that the bot cannot write to is refused when it is added, and found by the doctor', async () => {
  await using stage = await openStage()
  const { discord, home } = stage
  const quiet = discord.channel(discord.home, 'quiet')
  const thread = discord.thread(quiet, 'inside')
  discord.permissions(quiet, ['SendMessages', 'SendMessagesInThreads'])
  const hidden = discord.channel(discord.home, 'hidden')
  discord.permissions(hidden, ['ViewChannel'])
  const dm = discord.dm(discord.ada)
  mkdirSync(home.configDir, { recursive: true })
  const add = async (channel: string) => {
    const args = ['cron', 'add', `to ${channel}`, 'every hour', 'Look.', '--channel', `discord:${channel}`]
    const run = runCommand(home, args, stage.settings({ AGENT_BACKEND: 'echo' }))
    const code = await exitOf({ exit: run.exit, output: run.stderr })
    return `${code} ${run.stderr()}`
  }
  const refused = [
    [quiet.id, 'Send Messages'],
    [thread.id, 'Send Messages'],
    [hidden.id, 'View Channel'],
    ['123456789012345678', 'does not exist'],
    ['general', 'digits'],
  ] as const
  for (const [channel, why] of refused) {
    const said = await add(channel)
    expect(said).toMatch(/^1 /)
    expect(said).toContain(why)
  }
  for (const channel of [discord.general.id, dm.id]) expect(await add(channel)).toMatch(/^0 /)

  // By hand, and after the channel was lost.
  discord.removeChannel(discord.general)
  const run = runCommand(home, ['doctor', '--json'], stage.settings({ AGENT_BACKEND: 'echo' }))
  await exitOf({ exit: run.exit, output: run.stderr })
  expect(run.stdout()).toContain(`cannot be sent to discord:${discord.general.id}: this channel does not exist`)
  // Without Discord nobody can tell, so the job is accepted.
  discord.offline(true)
  expect(await add('123456789012345679')).toMatch(/^0 /)
}, 60_000)
