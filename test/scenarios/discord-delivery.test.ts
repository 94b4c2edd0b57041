// Deliveries while Discord fails and the gateway is killed: each answer once, complete, without a draft beside it.
import { readdirSync, rmSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { finals, openStage, type Stage } from '../harness/discord.ts'
import { runCommand } from '../harness/gateway.ts'

const posts = 'POST /channels/:id/messages'
const texts = ({ discord }: Stage, channel = discord.general) => finals(discord, channel).map(({ content }) => content)

async function sayDoneAtStart({ discord, home }: Stage): Promise<void> {
  await mkdir(home.configDir, { recursive: true })
  const hook = `### startup\nInstruction: report [[say:Done.]]\nChannel: discord:${discord.general.id}\n`
  await writeFile(join(home.configDir, 'agents.md'), `## Hooks\n\n${hook}`)
}

test.each([
  ['a 503', { status: 503 }],
  ['a 429', { status: 429, retryAfter: 0.2 }],
])('the same text as before is posted again, also after a restart and %s', async (_, failure) => {
  await using stage = await openStage()
  const { discord } = stage
  await sayDoneAtStart(stage)
  const first = await stage.start()
  await discord.until(() => texts(stage).length === 1)
  await first.stop()
  discord.fail(posts, failure)
  await stage.start()
  await discord.until(() => texts(stage).length === 2)
  expect(texts(stage)).toEqual(['Done.', 'Done.'])
})

const slow = { CLAUDE_STAND_IN_STEP_MS: '40' }
const ask = '[[tool:2500]] well'

test('a thread that is closed during the draft gets the answer, and keeps no button', async () => {
  await using stage = await openStage()
  const { discord } = stage
  await stage.start()
  const thread = discord.thread(discord.general, 'a thread', { joined: true })
  discord.say(discord.ada, thread, ask, { mention: true })
  await discord.until(() => discord.answers(thread).length === 1)
  discord.archive(thread)
  await stage.answer(thread, 'turn 1')
  await discord.until(() => discord.answers(thread).length === 1)
})

test('a server that refuses edits gets complete answers, and keeps no button', async () => {
  await using stage = await openStage()
  const { discord } = stage
  await stage.start()
  const never = { status: 404, body: { message: '404: Not Found', code: 404 }, times: 1000 }
  discord.fail('PATCH /channels/:id/messages/:message', never)
  const said = discord.say(discord.ada, discord.general, ask, { mention: true })
  await discord.until(() => discord.answers(discord.general).length === 1)
  discord.remove(said)
  await stage.answer(discord.general, 'turn 1')
  await discord.until(() => discord.answers(discord.general).length === 1)
})

test('a draft in flight when the gateway was killed does not keep its button', async () => {
  await using stage = await openStage({ nonceMs: 1 })
  const { discord } = stage
  const first = await stage.start()
  discord.fail(posts, { hang: true, storeFirst: true })
  discord.say(discord.ada, discord.general, '[[tool:1500]] [[only:claude]]', { mention: true })
  await discord.until(() => discord.answers(discord.general).length === 1)
  await first.stop('SIGKILL')
  await stage.start()
  await stage.answer(discord.general, 'turn')
  await discord.until(() => discord.answers(discord.general).length === 1)
  expect(finals(discord, discord.general)).toHaveLength(1)
})

test('the pieces of an answer are adjacent, before the next draft', async () => {
  await using stage = await openStage()
  const { discord } = stage
  await stage.start({ DISCORD_FILE_OVER: '100000', ...slow, CLAUDE_STAND_IN_STEP_MS: '0' })
  discord.rateLimit(posts, { limit: 5, perMs: 3000 })
  discord.say(discord.ada, discord.general, '[[long:4000]]', { mention: true })
  const next = discord.say(discord.ada, discord.general, '[[tool:5000]] next', { mention: true })
  await stage.answer(discord.general, 'next', 30_000)
  const answers = discord.answers(discord.general)
  expect(answers.length).toBeGreaterThan(8)
  expect(answers.findIndex(({ reference }) => reference === next.id)).toBe(answers.length - 1)
})

test('a delivery that Discord does not accept delays no command, and status shows it', async () => {
  await using stage = await openStage()
  const { discord, home } = stage
  await stage.start()
  discord.say(discord.ada, discord.general, ask, { mention: true })
  const draft = await discord.until(() => discord.answers(discord.general)[0])
  const edits = new RegExp(`^PATCH /channels/\\d+/messages/${draft.id}`)
  discord.fail(edits, { status: 503, times: 1000 })
  await discord.until(() => discord.requests(edits).filter(({ status }) => status === 503).length >= 4, 20_000)
  discord.say(discord.ada, discord.general, '/status', { mention: true })
  const answer = await stage.answer(discord.general, 'Up for')
  expect(answer.content).toContain('1 to be retried after a failure')
  const status = runCommand(home, ['status'])
  expect(await status.exit).toBe(0)
  expect(status.stdout()).toContain('1 waiting to be delivered (1 failed before and is retried)')
})

test('an answer that Discord refused is not passed to the agent as part of the history', async () => {
  await using stage = await openStage()
  const { discord, home } = stage
  const gateway = await stage.start({ BACKEND_WARM: 'false' })
  const say = (text: string) => discord.say(discord.ada, discord.general, text, { mention: true })
  discord.permissions(discord.general, ['SendMessages'])
  say('[[say:nobody has read this]]')
  await discord.until(() => gateway.output().includes('delivery refused'))
  discord.permissions(discord.general, [])
  say('[[say:this was read]]')
  await stage.answer(discord.general, 'this was read')
  const sessions = join(home.dir, '.claude-stand-in')
  for (const file of readdirSync(sessions)) if (file.endsWith('.json')) rmSync(join(sessions, file))
  say('and now?')
  const now = () => home.begun().find(({ prompt }) => prompt.endsWith('and now?') && prompt.includes('> this was read'))
  const handedOver = (await discord.until(now)).prompt
  expect(handedOver).not.toContain('> nobody has read this')
})
