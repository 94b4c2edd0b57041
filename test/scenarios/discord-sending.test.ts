// Letters on their way to the loopback Discord: said once, whole, and pinging nobody.
import { API } from '@discordjs/core'
import { REST } from '@discordjs/rest'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/app/clock.ts'
import type { ChatMemory, Outgoing } from '../../src/base/chat.ts'
import { openAnswers, openAskedBook } from '../../src/chat/discord/answers.ts'
import { openDrafts } from '../../src/chat/discord/drafts.ts'
import { openRequests } from '../../src/chat/discord/http.ts'
import { openSending } from '../../src/chat/discord/send.ts'
import { openThreads } from '../../src/chat/discord/threads.ts'
import { openBot } from '../fakes/discord/bot.ts'
import { type DiscordOptions, openDiscord } from '../fakes/discord/index.ts'

const never = new AbortController().signal

async function setup(options: DiscordOptions = {}, files: Record<string, Uint8Array> = {}) {
  const discord = await openDiscord(options)
  onTestFinished(() => discord.close())
  const kept = new Map<string, string>()
  const memory: ChatMemory = {
    get: name => kept.get(name) ?? null,
    put: (name, value) => void (value === null ? kept.delete(name) : kept.set(name, value)),
    list: () => [],
  }
  const rest = new REST({ api: discord.url, retries: 0, rejectOnRateLimit: () => true, makeRequest: openRequests() })
  const api = new API(rest.setToken(discord.token))
  const asked = openAskedBook(memory, systemClock.now)
  const sending = openSending({
    ...{ api, asked, answers: openAnswers(memory), threads: openThreads(api, memory, () => undefined) },
    ourId: () => discord.bot.id,
    readFile: async path => files[path] ?? null,
    sent: () => undefined,
    refusedToken: () => undefined,
  })
  const drafts = openDrafts({ clock: systemClock, write: sending.writeDraft, lost: () => undefined })
  const place = { chat: 'discord', conversation: discord.general.id }
  const post = (message: Partial<Outgoing> & { key: string; text: string }, signal = never) =>
    sending.post(place, { kind: 'final', about: null, ok: true, action: null, ...message }, drafts, signal)
  return { discord, asked, post, drafts, place }
}

test('one that was stored before an error is found again, also when Discord has forgotten its nonce', async () => {
  const { discord, post } = await setup({ nonceMs: 1 })
  discord.fail('POST /channels/:id/messages', { status: 502, storeFirst: true })
  expect(await post({ key: 'k', text: 'only once' })).toMatchObject({ type: 'try-again' })
  await discord.until(async () => (await post({ key: 'k', text: 'only once', again: true })).type === 'posted')
  expect(discord.answers(discord.general).map(({ content }) => content)).toEqual(['only once'])
})

test('one that was stored before an error is said once also where we may not look', async () => {
  const { discord, post } = await setup()
  discord.permissions(discord.general, ['ReadMessageHistory'])
  discord.fail('POST /channels/:id/messages', { status: 502, storeFirst: true })
  for (const again of [false, true]) await post({ key: 'k', text: 'only once', again })
  expect(discord.answers(discord.general).map(({ content }) => content)).toEqual(['only once'])
})

test('a draft that was stored before an error becomes the final, and no second one stands there', async () => {
  const { discord, post, drafts, place } = await setup()
  const about = discord.say(discord.ada, discord.general, 'go').id
  discord.fail('POST /channels/:id/messages', { status: 502, storeFirst: true })
  const draft: Outgoing = { key: 'd', kind: 'draft', about, text: 'so far', ok: true, action: null }
  drafts.show(place, draft, never)
  await discord.until(() => discord.answers(discord.general).length === 1)
  await post({ key: 'k', text: 'all', about })
  expect(discord.answers(discord.general).map(({ content }) => content)).toEqual(['all'])
})

test('a piece with the same words as the one before is not taken for it', async () => {
  const { discord, post } = await setup()
  const about = discord.say(discord.ada, discord.general, 'twice, please').id
  await post({ key: 'k', text: 'the same', about })
  await post({ key: 'k-1', text: 'the same', about, again: true })
  expect(discord.answers(discord.general).map(({ content }) => content)).toEqual(['the same', 'the same'])
})

test('files that are too large are left out and named; the answer itself is not, though it is a file', async () => {
  const { discord, post } = await setup({}, { 'big.bin': new Uint8Array(11 * 1024 * 1024) })
  const text = 'word '.repeat(3000)
  expect(await post({ key: 'k', text, files: ['big.bin'] })).toMatchObject({ type: 'posted' })
  expect(await post({ key: 'l', text: 'short', files: ['big.bin'] })).toMatchObject({ type: 'posted' })
  const [long, short] = discord.answers(discord.general)
  expect(long?.attachments.map(({ name, bytes }) => [name, Buffer.from(bytes).toString() === text])).toEqual([
    ['answer.md', true],
  ])
  expect(long?.content).toContain('Not sent: big.bin')
  expect(short).toMatchObject({ content: 'short\n-# Not sent: big.bin', attachments: [] })
})

test.each([false, true])('nothing pings, new, edited, or to a command (for them alone: %s)', async privately => {
  const { discord, post, asked } = await setup()
  const bot = openBot(discord)
  onTestFinished(() => bot.stop())
  await bot.connect()
  const app = discord.applicationId
  await bot.api.applicationCommands.bulkOverwriteGlobalCommands(app, [{ name: 'go', description: 'go' }])
  const asking = discord.slash(discord.ada, discord.general, 'go')
  const { d } = await discord.until(() => bot.heard.find(({ t }) => t === 'INTERACTION_CREATE'))
  const { id, token } = d as { id: string; token: string }
  await bot.api.interactions.defer(id, token, privately ? { flags: 64 } : {})
  asked.remember(id, { app, token, until: systemClock.now() + 60_000, privately })
  const bob = discord.user('bob')
  discord.member(discord.home, bob)
  const text = `@everyone @here <@${bob.id}> <@${discord.ada.id}> <@&${discord.botRole(discord.home).id}>`
  for (const key of ['k', 'k-1']) expect(await post({ key, text, about: id })).toMatchObject({ type: 'posted' })
  await post({ key: 'l', text, about: discord.say(bob, discord.general, 'hello').id })

  const { original, followUps } = await asking
  const written = [...(original ? [original] : []), ...followUps, ...discord.answers(discord.general)]
  expect(new Set(written.map(one => one.id)).size).toBe(3)
  for (const { content, allowedMentions, pinged, reference } of written) {
    expect([content, allowedMentions]).toMatchObject([text, { parse: [] }])
    expect([pinged.everyone, pinged.roles, pinged.users]).toEqual([false, [], reference === null ? [] : [bob.id]])
  }
})
