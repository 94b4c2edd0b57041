// Deliveries to the fake Discord: posted once, complete, and without pings.
import { API } from '@discordjs/core'
import { REST } from '@discordjs/rest'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/app/system-clock.ts'
import type { ChatMemory, Outgoing } from '../../src/base/chat.ts'
import { openThreads } from '../../src/chat/discord/places.ts'
import { createPoster, createPostJournal } from '../../src/chat/discord/poster.ts'
import { createDrafts, createPendingQuestions, createSending } from '../../src/chat/discord/send.ts'
import { openAnswers } from '../../src/chat/live-drafts.ts'
import { createRequests } from '../../src/chat/requests.ts'
import { openButtoned } from '../../src/chat/sender.ts'
import { openBot } from '../fakes/discord/bot.ts'
import { type DiscordOptions, type FakeDiscord, openDiscord } from '../fakes/discord/index.ts'

const never = new AbortController().signal

async function setup(options: DiscordOptions = {}, files: Record<string, Uint8Array> = {}) {
  const discord = await openDiscord(options)
  onTestFinished(() => discord.close())
  const kept = new Map<string, string>()
  const memory: ChatMemory = {
    get: name => kept.get(name) ?? null,
    put: (name, value) => void (value === null ? kept.delete(name) : kept.set(name, value)),
    list: prefix => [...kept].flatMap(([name, value]) => (name.startsWith(prefix) ? [{ name, value }] : [])),
  }
  return { discord, restart: () => start(discord, memory, files), ...start(discord, memory, files) }
}

/** Like a new process that knows only the stored state. */
function start(discord: FakeDiscord, memory: ChatMemory, files: Record<string, Uint8Array>) {
  const rest = new REST({ api: discord.url, retries: 0, rejectOnRateLimit: () => true, makeRequest: createRequests() })
  const api = new API(rest.setToken(discord.token))
  const asked = createPendingQuestions(memory, systemClock.now)
  const sending = createSending({
    ...{ api, asked, answers: openAnswers(memory), threads: openThreads(api, memory, () => undefined) },
    poster: createPoster(api, createPostJournal(memory, systemClock), () => discord.bot.id),
    buttoned: openButtoned(memory),
    readFile: async path => files[path] ?? null,
    sent: () => undefined,
    refusedToken: () => undefined,
  })
  const drafts = createDrafts({
    ...{ clock: systemClock, write: sending.writeDraft, held: () => false, lost: () => undefined },
  })
  const place = { chat: 'discord', conversation: discord.general.id }
  const post = (message: Partial<Outgoing> & { key: string; text: string }, signal = never) =>
    sending.post(place, { kind: 'final', about: null, ok: true, action: null, ...message }, drafts, signal)
  return { asked, post, drafts, place, removeLeftDrafts: sending.removeLeftDrafts }
}

const contents = (discord: FakeDiscord) => discord.answers(discord.general).map(({ content }) => content)

test('a message that was stored before an error is found again, even if Discord has forgotten its nonce', async () => {
  const { discord, post } = await setup({ nonceMs: 1 })
  discord.fail('POST /channels/:id/messages', { status: 502, storeFirst: true })
  expect(await post({ key: 'k', text: 'only once' })).toMatchObject({ type: 'try-again' })
  await discord.until(async () => (await post({ key: 'k', text: 'only once' })).type === 'posted')
  expect(discord.answers(discord.general).map(({ content }) => content)).toEqual(['only once'])
})

test('a message that was stored before an error is posted once even if we may not read the channel', async () => {
  const { discord, post } = await setup()
  discord.permissions(discord.general, ['ReadMessageHistory'])
  discord.fail('POST /channels/:id/messages', { status: 502, storeFirst: true })
  for (const _ of [1, 2]) await post({ key: 'k', text: 'only once' })
  expect(discord.answers(discord.general).map(({ content }) => content)).toEqual(['only once'])
})

test('a draft that was stored before an error becomes the final, and there is no second one', async () => {
  const { discord, post, drafts, place } = await setup()
  const about = discord.say(discord.ada, discord.general, 'go').id
  discord.fail('POST /channels/:id/messages', { status: 502, storeFirst: true })
  const draft: Outgoing = { key: 'd', kind: 'draft', about, text: 'so far', ok: true, action: null }
  drafts.show(place, draft, never)
  await discord.until(() => discord.answers(discord.general).length === 1)
  await post({ key: 'k', text: 'all', about })
  expect(discord.answers(discord.general).map(({ content }) => content)).toEqual(['all'])
})

const posting = 'POST /channels/:id/messages'
const unanswered = { status: 502, storeFirst: true }

test('a piece with the same text as the one before is not mistaken for it', async () => {
  const { discord, post } = await setup()
  const about = discord.say(discord.ada, discord.general, 'twice, please').id
  await post({ key: 'k', text: 'the same', about })
  discord.fail(posting, { status: 503 })
  expect(await post({ key: 'k-1', text: 'the same', about })).toMatchObject({ type: 'try-again' })
  await post({ key: 'k-1', text: 'the same', about })
  expect(contents(discord)).toEqual(['the same', 'the same'])
})

test('of two questions with the same answer the second is answered too, after a 503 and a kill', async () => {
  const { discord, post, restart } = await setup({ nonceMs: 1 })
  const [first, second] = ['one', 'two'].map(text => discord.say(discord.ada, discord.general, text).id)
  await post({ key: 'k', text: 'Done.', about: first! })
  discord.fail(posting, { status: 503 })
  await post({ key: 'l', text: 'Done.', about: second! })
  await restart().post({ key: 'l', text: 'Done.', about: second! })
  expect(discord.answers(discord.general).map(({ reference }) => reference)).toEqual([first, second])
})

test('a text that was posted often before is posted once more, not twice, if it was stored before an error and a kill', async () => {
  const { discord, post, restart } = await setup({ nonceMs: 1 })
  for (const key of ['a', 'b']) await post({ key, text: 'Done.' })
  discord.fail(posting, unanswered)
  await post({ key: 'c', text: 'Done.' })
  const next = restart()
  await next.post({ key: 'c', text: 'Done.' })
  await next.post({ key: 'd', text: 'Done.' })
  expect(contents(discord)).toEqual(['Done.', 'Done.', 'Done.', 'Done.'])
})

test('a message of an older delivery is not mistaken for a later one with the same text', async () => {
  const { discord, post, restart } = await setup({ nonceMs: 1 })
  await post({ key: 'a', text: 'hello' })
  discord.fail(posting, unanswered)
  await post({ key: 'given up', text: 'Done.' })
  await post({ key: 'b', text: 'hello again' })
  discord.fail(posting, { status: 503 })
  await post({ key: 'later', text: 'Done.' })
  await restart().post({ key: 'later', text: 'Done.' })
  expect(contents(discord)).toEqual(['hello', 'Done.', 'hello again', 'Done.'])
})

test('of two conversations that post the same text in one channel, neither claims the other’s message', async () => {
  const { discord, post } = await setup({ nonceMs: 1 })
  const begun = discord.fail(posting, { status: 503 })
  await post({ key: 'b', text: 'Done.' })
  begun()
  discord.fail(posting, unanswered)
  for (const key of ['a', 'a', 'b']) await post({ key, text: 'Done.' })
  expect(contents(discord)).toEqual(['Done.', 'Done.'])
})

test('a message that exists but was not confirmed is found, even behind more messages than a page has', async () => {
  const { discord, post } = await setup({ nonceMs: 1 })
  await post({ key: 'a', text: 'hello' })
  for (let i = 0; i < 120; i++) discord.say(discord.ada, discord.general, `chatter ${i}`)
  discord.fail(posting, unanswered)
  for (const _ of [1, 2]) await post({ key: 'b', text: 'only once' })
  expect(contents(discord)).toEqual(['hello', 'only once'])
})

async function withDraft(options: DiscordOptions = {}) {
  const stage = await setup(options)
  const { discord, drafts, place } = stage
  const about = discord.say(discord.ada, discord.general, 'go').id
  const draft = () =>
    drafts.show(place, { key: 'd', kind: 'draft', about, text: 'so far', ok: true, action: null }, never)
  return { ...stage, about, draft }
}

test.each([
  ['the thread is archived', 400, 50_083],
  ['the message is gone', 404, 10_008],
  ['a server that only says 404', 404, 404],
  ['a permission', 403, 50_013],
])('a refused edit (%s) becomes a new message, and the draft is removed', async (_, status, code) => {
  const { discord, post, about, draft, removeLeftDrafts } = await withDraft()
  draft()
  await discord.until(() => discord.answers(discord.general).length === 1)
  discord.fail('PATCH /channels/:id/messages/:message', { status, body: { message: 'no', code } })
  expect(await post({ key: 'k', text: 'all of it', about })).toMatchObject({ type: 'posted' })
  await removeLeftDrafts()
  expect(discord.answers(discord.general)).toMatchObject([{ content: 'all of it', reference: about, components: [] }])
})

test('a final posted beside its draft is posted only once after a kill, even if the draft can be edited by then', async () => {
  const { discord, post, restart, about, draft } = await withDraft({ nonceMs: 1 })
  draft()
  await discord.until(() => discord.answers(discord.general).length === 1)
  discord.fail('PATCH /channels/:id/messages/:message', { status: 400, body: { message: 'no', code: 50_083 } })
  discord.fail(posting, unanswered)
  expect(await post({ key: 'k', text: 'all', about })).toMatchObject({ type: 'try-again' })
  const next = restart()
  expect(await next.post({ key: 'k', text: 'all', about })).toMatchObject({ type: 'posted' })
  await next.removeLeftDrafts()
  expect(contents(discord)).toEqual(['all'])
})

test('a draft that can be neither confirmed nor found does not delay the final, and is removed later', async () => {
  const { discord, post, about, draft, removeLeftDrafts } = await withDraft()
  discord.fail(posting, unanswered)
  const deaf = discord.fail('GET /channels/:id/messages', { status: 502, times: 100 })
  draft()
  await discord.until(() => discord.answers(discord.general).length === 1)
  expect(await post({ key: 'k', text: 'all', about })).toMatchObject({ type: 'posted' })
  await removeLeftDrafts()
  expect(contents(discord)).toEqual(['so far', 'all'])
  deaf()
  await removeLeftDrafts()
  expect(contents(discord)).toEqual(['all'])
})

test('a draft in flight at a kill becomes the final, even long afterwards', async () => {
  const { discord, restart, about, draft } = await withDraft({ nonceMs: 1 })
  discord.fail(posting, { hang: true, storeFirst: true })
  draft()
  await discord.until(() => discord.answers(discord.general).length === 1)
  await restart().post({ key: 'k', text: 'all', about })
  expect(discord.answers(discord.general)).toMatchObject([{ content: 'all', components: [] }])
})

test('other drafts are left alone when that of a killed gateway is searched for', async () => {
  const { discord, restart, about, draft, drafts, place } = await withDraft({ nonceMs: 1 })
  const other = discord.say(discord.ada, discord.general, 'and this').id
  const second: Outgoing = { key: 'e', kind: 'draft', about: other, text: 'other', ok: true, action: null }
  drafts.show(place, second, never)
  await discord.until(() => discord.answers(discord.general).length === 1)
  discord.fail(posting, { hang: true, storeFirst: true })
  draft()
  await discord.until(() => discord.answers(discord.general).length === 2)
  await restart().post({ key: 'k', text: 'all', about })
  expect(contents(discord)).toEqual(['other', 'all'])
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

test.each([false, true])('nothing pings: new messages, edits, answers to commands (private: %s)', async privately => {
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
