// What the agent did, in the chats: on request as a file, and as much of it unasked as the conversation wants.
import { expect, test } from 'vitest'
import { temporaryHome } from '../fakes/temporary.ts'
import { connect } from '../harness/client.ts'
import { openStage as openDiscord } from '../harness/discord.ts'
import { openStage as openSlack } from '../harness/slack.ts'
import { openStage as openTelegram } from '../harness/telegram.ts'

const fast = { CLAUDE_STAND_IN_STEP_MS: '1' }

test('on WebChat /work follows the text, full lists the work under the answer, and /usage last has its cost', async () => {
  await using home = await temporaryHome()
  const gateway = await home.start({ ...fast, VERBOSITY: 'full' })
  const client = await connect(gateway.url, 'home')
  const ask = async (id: string, text: string) => {
    client.say(id, text)
    return (await client.final(id)).text
  }
  expect(await ask('1', '/work')).toContain('nothing')
  const answer = await ask('2', 'look [[tool]]')
  expect(answer).toMatch(/\*\*What I did\*\*\n- Read `memory\.md`/)
  const work = await ask('3', '/work')
  expect(work).toMatch(/^What the agent did, in one step:\n\n# What the agent did \(event \d+\)/)
  expect(work).toContain('## Read `memory.md`')
  expect(await ask('4', '/usage last')).toMatch(/^\*\*Last turn\*\*, [\d.]+ s\n- claude.*: 1 turn, \d+ tokens in/)
  expect(await ask('5', '/verbosity normal')).toBe('From the next message on: normal (for this conversation).')
  expect(await ask('6', 'again [[tool]]')).not.toContain('What I did')
  await client.close()
  expect(await gateway.stop()).toBe(0)
})

test('a quiet conversation gets no lines about actions', async () => {
  await using home = await temporaryHome()
  const gateway = await home.start({ ...fast, VERBOSITY: 'quiet' })
  const client = await connect(gateway.url, 'home')
  client.say('1', 'look [[tool:50]]')
  await client.final('1')
  expect(client.frames.filter(({ type }) => type === 'action')).toEqual([])
  await client.close()
  expect(await gateway.stop()).toBe(0)
})

test('on Discord /work is a file', async () => {
  await using stage = await openDiscord()
  const { discord } = stage
  await stage.start(fast)
  discord.say(discord.ada, discord.general, 'look [[tool]]', { mention: true })
  await stage.answer(discord.general, 'turn 1')
  const asked = await discord.slash(discord.ada, discord.general, 'work')
  const { content, attachments } = await asked.whole()
  expect(content).toBe('What the agent did, in one step:')
  expect(attachments).toMatchObject([{ name: 'work.md' }])
  expect(String(attachments[0]?.bytes)).toContain('## Read `memory.md`')
})

test('on Telegram and Slack /work is a file', async () => {
  await using stage = await openTelegram()
  const { telegram } = stage
  await stage.start(fast)
  const alone = telegram.alone(telegram.ada)
  telegram.say(telegram.ada, alone, 'look [[tool]]')
  await telegram.until(() => telegram.finals(alone).length >= 1, 20_000)
  telegram.say(telegram.ada, alone, '/work')
  const file = await telegram.until(() => telegram.finals(alone).find(({ kind }) => kind === 'document'), 20_000)
  expect(file.file?.name).toBe('work.md')

  await using other = await openSlack()
  const { slack } = other
  await other.start(fast)
  const direct = slack.dm(slack.ada)
  slack.say(slack.ada, direct, 'look [[tool]]')
  await other.answer(direct, 'turn 1')
  slack.say(slack.ada, direct, '/work')
  const [sent] = await slack.until(() => slack.answers(direct).find(({ files }) => files.length > 0)?.files)
  expect(sent).toMatchObject({ name: 'work.md' })
}, 60_000)
