// Answers on Discord with the whole program: typing, drafts, pieces, files, and error messages.
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { pause } from '../fakes/temporary.ts'
import { finals, openStage } from '../harness/discord.ts'

const slow = { CLAUDE_STAND_IN_STEP_MS: '40' }

describe('while the agent works', () => {
  // GR 3.4, 5.2
  test('typing is shown immediately and for as long as the turn takes', async () => {
    await using stage = await openStage()
    const { discord } = stage
    await stage.start()
    discord.say(discord.ada, discord.general, 'think [[tool:9000]]', { mention: true })
    await discord.until(() => discord.typing(discord.general).length > 0)
    await stage.answer(discord.general, 'turn 1', 15_000)
    expect(discord.typing(discord.general)).toHaveLength(2)
  })

  test('one draft grows at Discord’s pace, shows the current action, and becomes the final', async () => {
    await using stage = await openStage({ editEveryMs: 1000 })
    const { discord } = stage
    await stage.start(slow)
    const text = Array.from({ length: 80 }, (_, i) => `word${i}`).join(' ')
    const said = discord.say(discord.ada, discord.general, `[[tool:1500]] ${text}`, { mention: true })
    const draft = await discord.until(() => discord.answers(discord.general)[0])
    expect(draft).toMatchObject({ reference: said.id, content: expect.stringContaining('Read: memory.md') })
    expect(JSON.stringify(draft.components)).toContain('"custom_id":"stop"')
    const final = await stage.answer(discord.general, 'word79')
    expect(final.id).toBe(draft.id)
    expect(discord.answers(discord.general)).toHaveLength(1)
    const texts = final.history.map(({ content }) => content)
    expect(texts.filter(one => /word\d/.test(one) && !one.includes('word79')).length).toBeGreaterThan(1)
    const edits = discord.requests('PATCH /channels/:id/messages/:message')
    const ofDraft = edits.filter(({ body }) => JSON.stringify(body).includes('"custom_id"'))
    expect(ofDraft.map(({ status }) => status)).toEqual(ofDraft.map(() => 200))
  })

  test('the Stop button works for people who may speak, and only they see the confirmation', async () => {
    await using stage = await openStage()
    const { discord } = stage
    await stage.start({ ...slow, STAND_IN_STEP_MS: '40' })
    const eve = discord.user('eve')
    discord.member(discord.home, eve)
    discord.say(discord.ada, discord.general, `[[tool:100]] ${'word '.repeat(500)}`, { mention: true })
    const draft = await discord.until(() => discord.answers(discord.general).find(one => one.content.includes('word')))
    const refused = await discord.click(eve, draft, 'stop')
    expect(refused.ephemeral || refused.first === null).toBe(true)
    const pressed = await discord.click(discord.ada, draft, 'stop')
    expect((await pressed.whole()).content).toBe('Stopping.')
    expect(pressed.ephemeral).toBe(true)
    const final = await stage.answer(discord.general, '*Stopped.*')
    expect(final.id).toBe(draft.id)
  })
})

describe('the answer', () => {
  // GR 5.3, 5.4
  test('a long one is split into pieces that fit, in order, the first as the reply', async () => {
    await using stage = await openStage()
    const { discord } = stage
    await stage.start()
    const said = discord.say(discord.ada, discord.general, '[[long:1000]]', { mention: true })
    await discord.until(() => finals(discord, discord.general).length === 3)
    const pieces = finals(discord, discord.general)
    expect(pieces.map(({ reference }) => reference)).toEqual([said.id, null, null])
    expect(pieces.every(({ content }) => content.length <= 2000)).toBe(true)
    expect(
      pieces
        .map(({ content }) => content.trim())
        .join(' ')
        .split(' '),
    ).toHaveLength(1000)
  })

  test('a very long one is a file, with its beginning as the message', async () => {
    await using stage = await openStage()
    const { discord } = stage
    await stage.start()
    discord.say(discord.ada, discord.general, '[[long:3000]]', { mention: true })
    const answer = await stage.answer(discord.general, 'the file contains all of it')
    expect(answer.attachments).toMatchObject([{ name: 'answer.md' }])
    expect(String(answer.attachments[0]?.bytes)).toBe('word '.repeat(3000))
    expect(finals(discord, discord.general)).toHaveLength(1)
  })

  test('attached files are passed to the agent, and files that it links to are sent', async () => {
    await using stage = await openStage()
    const { discord, home } = stage
    await mkdir(join(home.configDir, 'files'), { recursive: true })
    await writeFile(join(home.configDir, 'files/plan.txt'), 'the plan')
    await stage.start()
    const attachments = [{ name: '../evil name.txt', bytes: 'hello', type: 'text/plain' }]
    const said = discord.say(discord.ada, discord.general, 'see [plan](files/plan.txt) [x](.aetheel/token)', {
      mention: true,
      attachments,
    })
    const answer = await stage.answer(discord.general, 'turn 1: see plan')
    expect(answer.attachments.map(({ name, bytes }) => [name, String(bytes)])).toEqual([['plan.txt', 'the plan']])
    const folder = join(home.configDir, 'files/in', said.id)
    const [file] = readdirSync(folder)
    expect(home.begun()[0]?.prompt).toContain(`[Attached: files/in/${said.id}/${file} (text/plain, 5 bytes)]`)
  })

  test('the agent is notified of a file that cannot be downloaded', async () => {
    await using stage = await openStage({ attachmentUrlMs: -1 })
    const { discord, home } = stage
    await stage.start()
    const attachments = [{ name: 'gone.txt', bytes: 'hello' }]
    discord.say(discord.ada, discord.general, '', { mention: true, attachments })
    await stage.answer(discord.general, 'without text')
    expect(home.begun()[0]?.prompt).toMatch(/\[Attached: gone\.txt \(5 bytes\), but not available: .+\]/)
  })

  test('files of a stranger are not fetched', async () => {
    await using stage = await openStage()
    const { discord, home } = stage
    await stage.start()
    const eve = discord.user('eve')
    discord.member(discord.home, eve)
    const attachments = [{ name: 'a.txt', bytes: 'hello' }]
    discord.say(eve, discord.general, 'look', { mention: true, attachments })
    await stage.answer(discord.general, 'has approved')
    expect(existsSync(join(home.configDir, 'files/in'))).toBe(false)
  })

  // GR 6.1, 6.2, 6.4
  test('every channel is a separate conversation, in parallel, and continues after a restart', async () => {
    await using stage = await openStage()
    const { discord } = stage
    const other = discord.channel(discord.home, 'other')
    const first = await stage.start()
    discord.say(discord.ada, discord.general, 'slow [[tool:800]]', { mention: true })
    discord.say(discord.ada, other, 'quick', { mention: true })
    await stage.answer(other, 'turn 1: quick')
    expect(finals(discord, discord.general)).toHaveLength(0)
    await stage.answer(discord.general, 'turn 1: slow')
    await first.stop()
    await stage.start()
    discord.say(discord.ada, other, 'again', { mention: true })
    await stage.answer(other, 'turn 2: again')
  })
})

describe('problems', () => {
  // GR 7.1
  test('an error of the agent is explained without its details', async () => {
    await using stage = await openStage()
    const { discord } = stage
    await stage.start()
    discord.say(discord.ada, discord.general, '[[login]]', { mention: true })
    const answer = await stage.answer(discord.general, 'Not logged in')
    expect(answer.content).not.toMatch(/\bat \S+:\d+|\/tmp|stack/)
  })

  // GR 7.2
  test('a silent turn is ended, and the person is notified', async () => {
    await using stage = await openStage()
    const { discord } = stage
    await stage.start({ QUERY_TIMEOUT_MS: '700' })
    discord.say(discord.ada, discord.general, '[[hang]]', { mention: true })
    await stage.answer(discord.general, 'Timed out')
  })

  // GR 7.3
  test('a refused delivery is tried once, and logged with channel and length but without its text', async () => {
    await using stage = await openStage()
    const { discord } = stage
    const gateway = await stage.start()
    discord.permissions(discord.general, ['SendMessages'])
    discord.say(discord.ada, discord.general, 'nobody hears this', { mention: true })
    await discord.until(() => gateway.output().includes('delivery refused'))
    const line =
      gateway
        .output()
        .split('\n')
        .find(one => one.includes('delivery refused')) ?? ''
    expect(line).toContain(`"conversation":"${discord.general.id}"`)
    expect(line).toMatch(/"length":\d+/)
    expect(line).toMatch(/I lack a permission there: Send Messages/)
    expect(gateway.output()).not.toContain('nobody hears this')
    const posts = discord.requests(`POST /channels/:id/messages`).filter(({ status }) => status === 403)
    expect(posts.length).toBeLessThan(3)
  })

  // GR 7.4
  test('a lost session is reported, and a new one starts', async () => {
    await using stage = await openStage()
    const { discord, home } = stage
    await stage.start({ BACKEND_WARM: 'false' })
    discord.say(discord.ada, discord.general, 'one', { mention: true })
    await stage.answer(discord.general, 'turn 1: one')
    const folder = join(home.dir, '.claude-stand-in')
    for (const file of readdirSync(folder)) if (file.endsWith('.json')) rmSync(join(folder, file))
    discord.say(discord.ada, discord.general, 'two', { mention: true })
    await stage.answer(discord.general, 'The earlier session was lost')
  })

  test('rate limits are waited for, and a message that was stored before an error is not posted twice', async () => {
    await using stage = await openStage()
    const { discord } = stage
    await stage.start()
    discord.fail('POST /channels/:id/messages', { status: 502, storeFirst: true })
    discord.say(discord.ada, discord.general, 'one', { mention: true })
    await stage.answer(discord.general, 'turn 1: one')
    discord.fail('POST /channels/:id/messages', { status: 429, retryAfter: 1 })
    discord.say(discord.ada, discord.general, 'two', { mention: true })
    await stage.answer(discord.general, 'turn 2: two')
    await pause(1500)
    expect(finals(discord, discord.general).map(({ content }) => content)).toEqual(['turn 1: one', 'turn 2: two'])
  })

  // GR 9.3
  test('when all places are taken a new conversation is refused as busy', async () => {
    await using stage = await openStage()
    const { discord } = stage
    const other = discord.channel(discord.home, 'other')
    await stage.start({ MAX_CONCURRENT_QUERIES: '1' })
    discord.say(discord.ada, discord.general, 'first [[tool:2000]]', { mention: true })
    await discord.until(() => stage.home.begun().length === 1)
    const said = discord.say(discord.ada, other, 'me too', { mention: true })
    expect(await stage.answer(other, 'Busy')).toMatchObject({ reference: said.id })
  })
})
