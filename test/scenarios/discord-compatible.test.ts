// Servers that are not fully compatible with Discord.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openStage } from '../harness/discord.ts'

test.each([
  ['roles', ['roles']],
  ['anything that can be done without', ['roles', 'members', 'threads', 'mention_roles', 'attachments', 'components']],
])('messages of a guild without %s are received, also after a restart', async (_, without) => {
  await using stage = await openStage({ compatible: { without } })
  const { discord } = stage
  const bob = discord.user('bob')
  discord.member(discord.home, bob)
  const env = { ALLOWED_GUILDS: discord.home.id }
  const first = await stage.start(env)
  discord.say(bob, discord.general, 'one', { mention: true })
  await stage.answer(discord.general, 'turn 1: one')
  expect((await (await discord.slash(bob, discord.general, 'status')).whole()).content).toContain('1 answered')
  await first.stop()
  expect(first.output()).not.toMatch(/could not be reached|undefined/)
  // Resumed: the guild is requested.
  discord.say(bob, discord.general, 'two', { mention: true })
  const second = await stage.start(env)
  await stage.answer(discord.general, 'turn 2: two')
  expect(stage.home.begun().at(-1)?.prompt).toContain('in #general of Our Server]')
  await second.stop()
  expect(second.output()).not.toMatch(/could not be reached|undefined/)
  // New session: without a list of permissions, every channel is requested.
  discord.forgetSession()
  discord.say(bob, discord.general, 'three', { mention: true })
  const third = await stage.start(env)
  await stage.answer(discord.general, 'turn 3: three')
  expect(third.output()).not.toMatch(/could not be reached|undefined/)
})

test('files may be on another port of the same host', async () => {
  await using stage = await openStage({ compatible: { filesApart: true } })
  const { discord, home } = stage
  await stage.start()
  const attachments = [{ name: 'notes.txt', bytes: 'hello', type: 'text/plain' }]
  const said = discord.say(discord.ada, discord.general, 'read it', { mention: true, attachments })
  await stage.answer(discord.general, 'turn 1: read it')
  expect(readFileSync(join(home.configDir, 'files/in', said.id, 'notes.txt'), 'utf8')).toBe('hello')
})

test('a refused option is left out, and the commands are registered', async () => {
  await using stage = await openStage({ compatible: { refusedOptions: [11] } })
  const { discord } = stage
  const first = await stage.start()
  await discord.until(() => discord.commands().puts === 1)
  const names = discord.commands().registered.map(({ name }) => name)
  expect(names).toEqual(expect.arrayContaining(['ask', 'status', 'model']))
  const asked = await discord.slash(discord.ada, discord.general, 'ask', { prompt: 'hello' })
  expect((await asked.whole()).content).toBe('turn 1: hello')
  const completed = await discord.autocomplete(discord.ada, discord.general, 'backend', { name: 'name', value: 'cl' })
  expect(completed.choices.map(({ value }) => value)).toContain('claude')
  expect(first.output()).toMatch(/slash commands were registered without/)
  await first.stop()
  // Not retried until they change.
  await stage.start()
  const direct = discord.dm(discord.ada)
  discord.say(discord.ada, direct, 'hello')
  await stage.answer(direct, 'turn 1: hello')
  expect(discord.requests('PUT /applications/:app/commands')).toHaveLength(2)
})

test('a refused command does not prevent the others', async () => {
  await using stage = await openStage({ compatible: { refusedCommands: ['claude', 'claude-reset'] } })
  const { discord } = stage
  const gateway = await stage.start()
  await discord.until(() => discord.commands().registered.some(({ name }) => name === 'help'))
  const names = discord.commands().registered.map(({ name }) => name)
  expect(names).toEqual(expect.arrayContaining(['ask', 'new', 'status', 'model']))
  const asked = await discord.slash(discord.ada, discord.general, 'ask', { prompt: 'hello' })
  expect((await asked.whole()).content).toBe('turn 1: hello')
  await discord.until(() => gateway.output().includes('/claude-reset'))
})
