// The whole gateway on the loopback Telegram: who is answered, where, and how it looks.
import { expect, test } from 'vitest'
import { exitOf, pause } from '../fakes/temporary.ts'
import { runCommand } from '../harness/gateway.ts'
import { openStage } from '../harness/telegram.ts'

test('a private message is answered with a draft on the way, typing, and formatting; nothing is left in the menu twice', async () => {
  await using stage = await openStage()
  const { telegram } = stage
  const gateway = await stage.start({ CLAUDE_STAND_IN_STEP_MS: '300' })
  const alone = telegram.alone(telegram.ada)
  const said = telegram.say(telegram.ada, alone, 'hello [[tool:2500]] **there**')
  const answer = await stage.answer(alone, 'there')
  expect(answer.replyTo).toBe(said.id)
  expect(answer.entities).toContainEqual(expect.objectContaining({ type: 'bold', length: 5 }))
  expect(telegram.drafts(alone).some(text => text.includes('⚙'))).toBe(true)
  expect(telegram.typing(String(alone.id)).length).toBeGreaterThan(0)
  expect(telegram.menu().map(({ command }) => command)).toEqual(
    expect.arrayContaining(['new', 'stop', 'status', 'help']),
  )
  await gateway.stop()
  // Everything handled is confirmed.
  expect(telegram.pending()).toEqual([])
  await (await stage.start()).stop()
  expect(telegram.requests('setMyCommands')).toHaveLength(1)
  expect(telegram.answers(alone)).toHaveLength(1)
})

test('in groups it hears mentions, replies and its commands, and nothing else; topics are conversations of their own', async () => {
  await using stage = await openStage()
  const { telegram } = stage
  await stage.start({ CLAUDE_STAND_IN_STEP_MS: '1' })
  const group = telegram.group('Kitchen')
  telegram.say(telegram.ada, group, 'not for the bot')
  telegram.say(telegram.ada, group, '/status@other_bot')
  telegram.say(telegram.ada, group, 'first [[say:One]]', { mention: true })
  const one = await stage.answer(group, 'One')
  telegram.say(telegram.ada, group, 'again [[say:Two]]', { replyTo: one })
  await stage.answer(group, 'Two')
  telegram.say(telegram.ada, group, '/help')
  telegram.say(telegram.ada, group, `/status@${telegram.bot.username}`)
  await telegram.until(() => telegram.finals(group).length === 4)

  const forum = telegram.group('Forum', 'supergroup', true)
  const [left, right] = [telegram.topic(forum), telegram.topic(forum)]
  telegram.say(telegram.ada, forum, 'in the left [[say:Left]]', { mention: true, topic: left })
  telegram.say(telegram.ada, forum, 'in the right [[say:Right]]', { mention: true, topic: right })
  expect((await stage.answer(forum, 'Left')).topic).toBe(left)
  expect((await stage.answer(forum, 'Right')).topic).toBe(right)
  const sessions = stage.home.journal().filter(({ what }) => what === 'begin')
  const sessionOf = (words: string) => sessions.find(({ prompt = '' }) => prompt.includes(words))?.session
  expect(sessionOf('in the left')).not.toBe(sessionOf('in the right'))
  expect(sessionOf('again')).toBe(sessionOf('first'))
  await pause(300)
  expect(telegram.finals(group)).toHaveLength(4)
})

test('a stranger gets a code once; approved, they are answered as a guest', async () => {
  await using stage = await openStage()
  const { telegram, home } = stage
  await stage.start({ CLAUDE_STAND_IN_STEP_MS: '1' })
  const eve = telegram.user('Eve')
  const alone = telegram.alone(eve)
  telegram.say(eve, alone, '/start')
  const told = await stage.answer(alone, 'pair approve')
  telegram.say(eve, alone, 'hello?')
  await pause(300)
  expect(telegram.answers(alone)).toHaveLength(1)
  const code = /[A-Z0-9]{4}-[A-Z0-9]{4}/.exec(told.text)?.[0] ?? ''
  const approved = runCommand(home, ['pair', 'approve', code], stage.settings())
  await exitOf({ exit: approved.exit, output: approved.stderr })
  expect(approved.stdout()).toContain(`telegram:${eve.id}`)
  telegram.say(eve, alone, 'now?')
  await stage.answer(alone, 'now?')
  const prompt = home.journal().find(({ what, prompt = '' }) => what === 'begin' && prompt.includes('now?'))?.prompt
  expect(prompt).toContain(`Eve (telegram user ${eve.id}), not the owner`)
})

test('commands are answered while a turn runs; the Stop button stops it for those who may', async () => {
  await using stage = await openStage()
  const { telegram } = stage
  await stage.start({ CLAUDE_STAND_IN_STEP_MS: '40' })
  const group = telegram.group('Kitchen')
  telegram.say(telegram.ada, group, `[[tool:100]] ${'word '.repeat(700)}`, { mention: true })
  const draft = await telegram.until(
    () => telegram.answers(group).find(({ buttons }) => buttons.includes('stop')),
    15_000,
  )
  expect(draft.silent).toBe(true)
  telegram.say(telegram.ada, group, '/status')
  await stage.answer(group, 'running')
  const eve = telegram.user('Eve')
  const forEve = telegram.press(eve, draft, 'stop')
  await telegram.until(() => forEve() !== null)
  expect(telegram.answers(group).some(({ buttons }) => buttons.length > 0)).toBe(true)
  const forAda = telegram.press(telegram.ada, draft, 'stop')
  await telegram.until(() => forAda() !== null)
  expect(forAda()).toMatch(/stopp/i)
  // The draft has become the end of the turn.
  await telegram.until(() => telegram.finals(group).some(({ id }) => id === draft.id), 10_000)
  expect(telegram.answers(group).every(({ buttons }) => buttons.length === 0)).toBe(true)
}, 40_000)

test('in a private chat the Stop button is beside the draft, which cannot have one, and disappears with the answer', async () => {
  await using stage = await openStage()
  const { telegram } = stage
  const gateway = await stage.start({ CLAUDE_STAND_IN_STEP_MS: '1' })
  const alone = telegram.alone(telegram.ada)
  telegram.say(telegram.ada, alone, 'quick')
  await stage.answer(alone, 'quick')
  telegram.say(telegram.ada, alone, 'work [[tool:20000]]')
  const note = await telegram.until(
    () => telegram.answers(alone).find(({ buttons }) => buttons.includes('stop')),
    15_000,
  )
  expect(note.silent).toBe(true)
  expect(telegram.drafts(alone).length).toBeGreaterThan(0)
  // A killed gateway starts the turn again, and leaves no second button.
  await gateway.stop('SIGKILL')
  await stage.start({ CLAUDE_STAND_IN_STEP_MS: '1' })
  await telegram.until(() => telegram.drafts(alone).length > 1, 15_000)
  const answered = telegram.press(telegram.ada, note, 'stop')
  await telegram.until(() => answered() !== null)
  await stage.answer(alone, 'Stopped')
  await telegram.until(() => telegram.answers(alone).every(({ buttons }) => buttons.length === 0))
  expect(telegram.answers(alone)).toHaveLength(2)
}, 60_000)

test('an edited message changes the waiting prompt; one that waits is seen with a reaction', async () => {
  await using stage = await openStage()
  const { telegram, home } = stage
  await stage.start({ BUSY: 'queue', CLAUDE_STAND_IN_STEP_MS: '1' })
  const alone = telegram.alone(telegram.ada)
  telegram.say(telegram.ada, alone, 'first [[tool:1500]]')
  await telegram.until(() => home.journal().some(({ what }) => what === 'begin'))
  const second = telegram.say(telegram.ada, alone, 'the old words')
  await telegram.until(() => telegram.reactions().some(({ message }) => message === second.id))
  telegram.edit(second, 'the new words')
  await stage.answer(alone, 'the new words')
  expect(home.journal().some(({ prompt = '' }) => prompt.includes('the old words'))).toBe(false)
})

test('an album is one message with its pictures; a voice note arrives as a file; one that is too large says so', async () => {
  await using stage = await openStage()
  const { telegram, home } = stage
  await stage.start({ CLAUDE_STAND_IN_STEP_MS: '1' })
  const alone = telegram.alone(telegram.ada)
  const pictures = ['a', 'b', 'c'].map(bytes => ({ kind: 'photo' as const, bytes }))
  const album = telegram.say(telegram.ada, alone, 'look at these', { files: pictures })
  await stage.answer(alone, 'look at these')
  telegram.say(telegram.ada, alone, '', { files: [{ kind: 'voice', bytes: 'ogg' }] })
  await telegram.until(() => telegram.finals(alone).length === 2)
  telegram.say(telegram.ada, alone, 'and this', {
    files: [{ kind: 'document', name: 'big.bin', bytes: 'x', size: 30_000_000 }],
  })
  await stage.answer(alone, 'and this')
  const prompts = home.journal().flatMap(({ what, prompt = '' }) => (what === 'begin' ? [prompt] : []))
  expect(prompts).toHaveLength(3)
  expect(prompts[0]?.match(/photo-\d+\.jpg/g)?.length).toBeGreaterThanOrEqual(3)
  expect(prompts[0]).toContain(`files/in/telegram.${alone.id}.${album.id}/`)
  expect(prompts[1]).toMatch(/voice-\d+\.ogg/)
  expect(prompts[2]).toContain('20 MB')
})
