// A guest whose agent does whatever it is told: what it may cost, and which files it may hand over.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { guestFolder } from '../../src/base/profile.ts'
import { eventually, statusOf } from '../fakes/temporary.ts'
import { finals, openStage } from '../harness/discord.ts'
import type { RunningGateway } from '../harness/gateway.ts'

interface Call {
  readonly tool: string
  readonly args: object
  readonly times?: number
}

/** For the stand-in. */
const callsOf = (...calls: readonly Call[]) => `[[calls:${Buffer.from(JSON.stringify(calls)).toString('base64url')}]]`

async function openWithGuest() {
  const stage = await openStage()
  const bob = stage.discord.user('bob')
  const guests = { ALLOWED_USERS: `discord:${bob.id}`, BACKEND_WARM: 'false' }
  return { ...stage, bob, guests, dm: stage.discord.dm(bob) }
}

/** Nothing runs or waits any more. */
const quiet = (gateway: RunningGateway, received: number) =>
  eventually('everything has ended', async () => {
    const { events } = await statusOf(gateway)
    return events.received >= received && events.waiting === 0 && events.running === 0
  })

test('spawn, report, spawn: what one message of a guest causes ends, also across a restart', async () => {
  await using stage = await openWithGuest()
  const { bob, dm, guests, discord, start } = stage
  const env = { ...guests, GUEST_TURNS_PER_MESSAGE: '8' }
  const first = await start(env)
  discord.say(bob, dm, callsOf({ tool: 'spawn_agent', args: { task: 'go on $SELF' }, times: 4 }))
  await eventually('it has begun', async () => (await statusOf(first)).events.received >= 3)
  await first.stop('SIGKILL')
  const gateway = await start(env)
  await quiet(gateway, 3)
  // An answer may still be followed by a report that was just queued.
  await quiet(gateway, 3)
  const { received } = (await statusOf(gateway)).events
  expect(received).toBeGreaterThan(3)
  expect(received).toBeLessThanOrEqual(8)
  // The owner is not affected.
  discord.say(discord.ada, discord.dm(discord.ada), 'and I?')
  await stage.answer(discord.dm(discord.ada), 'and I?')
})

test('of 300 messages in one turn a guest gets ten, and the agent cannot choose a backend for them', async () => {
  await using stage = await openWithGuest()
  const { bob, dm, guests, discord, start } = stage
  await start(guests)
  const model = { tool: 'spawn_agent', args: { task: 'x', model: 'codex/gpt-5' } }
  discord.say(bob, dm, `${callsOf({ tool: 'send_message', args: { text: 'spam $N' }, times: 300 }, model)} now`)
  await stage.answer(dm, 'turn 1')
  expect(finals(discord, dm).filter(({ content }) => content.startsWith('spam'))).toHaveLength(10)
  const refused = stage.home.journal().filter(({ what, tool }) => what === 'called' && tool === 'spawn_agent')
  expect(String(refused[0]?.answer)).toContain('Only the owner chooses')
})

test("a link or a tool call cannot hand the owner's files to a guest; what their own folder has arrives", async () => {
  await using stage = await openWithGuest()
  const { bob, dm, guests, discord, home, start } = stage
  const put = (file: string) => {
    mkdirSync(join(home.configDir, file, '..'), { recursive: true })
    writeFileSync(join(home.configDir, file), 'canary')
  }
  const own = `${guestFolder('', [`discord:${bob.id}`])}/chart.png`
  for (const file of ['messages/webchat-home.jsonl', 'notes/plan.md', 'guests/eve/her.txt', own]) put(file)
  await start(guests)
  const files = ['messages/webchat-home.jsonl', '../eve/her.txt', 'config.json', own]
  const call = callsOf({ tool: 'send_message', args: { text: 'with files', files } })
  discord.say(bob, dm, `${call} [x](messages/webchat-home.jsonl) [y](notes/plan.md) [z](chart.png)`)
  await stage.answer(dm, 'turn 1')
  const sent = finals(discord, dm).flatMap(({ attachments }) => attachments.map(({ name }) => name))
  expect(sent).toEqual(['chart.png', 'chart.png'])
})

test('what two guests say together reaches the files of neither of them', async () => {
  await using stage = await openWithGuest()
  const { bob, discord, home, start } = stage
  const eve = discord.user('eve')
  const diary = `${guestFolder('', [`discord:${bob.id}`])}/diary.txt`
  mkdirSync(join(home.configDir, diary, '..'), { recursive: true })
  writeFileSync(join(home.configDir, diary), 'canary')
  await start({
    ...{ ALLOWED_USERS: `discord:${bob.id},discord:${eve.id}`, BACKEND_WARM: 'false' },
    ...{ COLLECT: 'true', DISCORD_THREADS: 'false' },
  })
  const say = (who: typeof eve, text: string) => discord.say(who, discord.general, text, { mention: true })
  say(eve, 'first [[tool:1500]]')
  await eventually('it has begun', async () => home.begun().length === 1)
  const files = ['diary.txt', diary]
  say(eve, `${callsOf({ tool: 'send_message', args: { text: 'here', files } })} [x](${diary}) [y](diary.txt)`)
  say(bob, 'good morning')
  await stage.answer(discord.general, 'good morning')
  expect(home.begun().some(({ prompt }) => prompt.includes('2 messages came in'))).toBe(true)
  expect(finals(discord, discord.general).some(({ content }) => content === 'here')).toBe(true)
  expect(finals(discord, discord.general).flatMap(({ attachments }) => attachments)).toEqual([])
})

test('a guest finds nothing of memory.md, the notes and the sub-agents of the owner', async () => {
  await using stage = await openWithGuest()
  const { bob, dm, guests, discord, home, start } = stage
  mkdirSync(join(home.configDir, 'notes'), { recursive: true })
  writeFileSync(join(home.configDir, 'memory.md'), '# Memory\n\n- The canary is in the cellar.\n')
  writeFileSync(join(home.configDir, 'notes/plan.md'), 'The canary flies at dawn.\n')
  await start(guests)
  const tools = [
    { tool: 'memory_search', args: { query: 'canary' } },
    { tool: 'forget', args: { text: 'canary' } },
    { tool: 'remember', args: { text: 'The canary is in the cellar.' } },
  ]
  discord.say(bob, dm, callsOf(...tools))
  await stage.answer(dm, 'turn 1')
  const answers = home.journal().flatMap(({ what, answer }) => (what === 'called' ? [String(answer)] : []))
  expect(answers.map(answer => (JSON.parse(answer) as { text: string }).text)).toEqual([
    'Nothing was found.',
    'You do not see memory.md in this turn, so nothing can be removed from it.',
    "This waits for your owner's approval.",
  ])
})
