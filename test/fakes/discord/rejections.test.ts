// One test for each refusal of the fake Discord, with Discord's wording.
import { GatewayIntentBits } from '@discordjs/core'
import { DiscordAPIError, REST } from '@discordjs/rest'
import { afterEach, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { openBot, ordinaryIntents } from './bot.ts'
import { type DiscordOptions, type FakeDiscord, openDiscord, type Permission } from './index.ts'

const after: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const undo of after.splice(0).reverse()) await undo()
})

const open = async (options: DiscordOptions = {}) => {
  const discord = await openDiscord(options)
  after.push(discord.close)
  return { discord, api: openBot(discord).api, channel: discord.general.id }
}

const refusedWith = async (asked: Promise<unknown>): Promise<DiscordAPIError> => {
  const error = await asked.then(
    () => null,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(DiscordAPIError)
  return error as DiscordAPIError
}

const formError = (error: DiscordAPIError): string => JSON.stringify(error.rawError)

test('content over 2000 characters, counted in code points', async () => {
  const { api, channel } = await open()
  await api.channels.createMessage(channel, { content: '🦊'.repeat(2000) })
  const error = await refusedWith(api.channels.createMessage(channel, { content: 'x'.repeat(2001) }))
  expect(error).toMatchObject({ status: 400, code: 50035 })
  expect(error.rawError).toEqual({
    message: 'Invalid Form Body',
    code: 50035,
    errors: { content: { _errors: [{ code: 'BASE_TYPE_MAX_LENGTH', message: 'Must be 2000 or fewer in length.' }] } },
  })
  const made = await api.channels.createMessage(channel, { content: 'short' })
  const edit = api.channels.editMessage(channel, made.id, { content: 'x'.repeat(2001) })
  expect(await refusedWith(edit)).toMatchObject({ code: 50035 })
})

test('an empty message', async () => {
  const { api, channel } = await open()
  expect(await refusedWith(api.channels.createMessage(channel, { content: ' \n ' }))).toMatchObject({
    status: 400,
    code: 50006,
  })
})

test('a nonce over 25 characters', async () => {
  const { api, channel } = await open()
  const error = await refusedWith(api.channels.createMessage(channel, { content: 'x', nonce: 'n'.repeat(26) }))
  expect(formError(error)).toContain('"nonce":{"_errors":[{"code":"BASE_TYPE_MAX_LENGTH"')
})

test('more than 100 allowed mentions, and a list together with the same type in parse', async () => {
  const { api, channel, discord } = await open()
  const users = Array.from({ length: 101 }, (_, at) => String(at))
  const many = await refusedWith(api.channels.createMessage(channel, { content: 'x', allowed_mentions: { users } }))
  expect(formError(many)).toContain('Must be 100 or fewer in length.')
  const both = { parse: ['users' as never], users: [discord.ada.id] }
  const twice = await refusedWith(api.channels.createMessage(channel, { content: 'x', allowed_mentions: both }))
  expect(formError(twice)).toContain('mutually exclusive')
})

test('components that break the rules', async () => {
  const { api, channel } = await open()
  const button = { type: 2, style: 4, label: 'Stop', custom_id: 'stop' } as const
  const rows = (components: readonly object[]) => ({ content: 'x', components: [{ type: 1, components }] as never })
  const twins = await refusedWith(api.channels.createMessage(channel, rows([button, button])))
  expect(formError(twins)).toContain('COMPONENT_CUSTOM_ID_DUPLICATED')
  const long = rows([{ ...button, custom_id: 'x'.repeat(101) }])
  expect(formError(await refusedWith(api.channels.createMessage(channel, long)))).toContain('between 1 and 100')
  const wide = rows(Array.from({ length: 6 }, (_, at) => ({ ...button, custom_id: `${at}` })))
  expect(formError(await refusedWith(api.channels.createMessage(channel, wide)))).toContain('5 or fewer')
})

test('embeds over 6000 characters in all', async () => {
  const { api, channel } = await open()
  const embeds = [{ description: 'x'.repeat(4000) }, { description: 'x'.repeat(2001) }]
  expect(formError(await refusedWith(api.channels.createMessage(channel, { embeds })))).toContain('6000')
})

test('a file over 10 MiB, and more than 10 files', async () => {
  const { api, channel } = await open()
  const files = [{ name: 'big.bin', data: Buffer.alloc(10 * 1024 * 1024 + 1) }]
  expect(await refusedWith(api.channels.createMessage(channel, { files }))).toMatchObject({ status: 413, code: 40005 })
  const many = Array.from({ length: 11 }, (_, at) => ({ name: `${at}.txt`, data: 'x' }))
  expect(await refusedWith(api.channels.createMessage(channel, { files: many }))).toMatchObject({ code: 50035 })
})

test('a reply to a deleted message', async () => {
  const { api, channel, discord } = await open()
  const said = discord.say(discord.ada, discord.general, 'hi')
  discord.remove(said)
  const reply = { content: 'x', message_reference: { message_id: said.id } }
  expect(formError(await refusedWith(api.channels.createMessage(channel, reply)))).toContain('REPLIES_UNKNOWN_MESSAGE')
  const lenient = { content: 'x', message_reference: { message_id: said.id, fail_if_not_exists: false } }
  await api.channels.createMessage(channel, lenient)
})

test('unknown channels and messages, and messages of others', async () => {
  const { api, channel, discord } = await open()
  const theirs = discord.say(discord.ada, discord.general, 'mine')
  expect(await refusedWith(api.channels.get('1'))).toMatchObject({ status: 404, code: 10003 })
  expect(await refusedWith(api.channels.getMessage(channel, '1'))).toMatchObject({ status: 404, code: 10008 })
  const edit = api.channels.editMessage(channel, theirs.id, { content: 'x' })
  expect(await refusedWith(edit)).toMatchObject({ status: 403, code: 50005 })
  expect(await refusedWith(api.channels.deleteMessage(channel, theirs.id))).toMatchObject({ code: 50013 })
  discord.removeChannel(discord.general)
  expect(await refusedWith(api.channels.createMessage(channel, { content: 'x' }))).toMatchObject({ code: 10003 })
})

test.each<[Permission, number, (bot: Awaited<ReturnType<typeof open>>) => Promise<unknown>]>([
  ['ViewChannel', 50001, ({ api, channel }) => api.channels.createMessage(channel, { content: 'x' })],
  ['SendMessages', 50013, ({ api, channel }) => api.channels.createMessage(channel, { content: 'x' })],
  ['SendMessages', 50013, ({ api, channel }) => api.channels.showTyping(channel)],
  [
    'AttachFiles',
    50013,
    ({ api, channel }) => api.channels.createMessage(channel, { files: [{ name: 'a', data: 'a' }] }),
  ],
  ['CreatePublicThreads', 50013, ({ api, channel }) => api.channels.createThread(channel, { name: 't', type: 11 })],
  [
    'SendMessagesInThreads',
    50013,
    ({ api, discord }) => api.channels.createMessage(discord.thread(discord.general, 't').id, { content: 'x' }),
  ],
])('a request that needs %s gets %i without it', async (permission, code, act) => {
  const bot = await open()
  bot.discord.permissions(bot.discord.general, [permission])
  expect(await refusedWith(act(bot))).toMatchObject({ status: 403, code })
  bot.discord.permissions(bot.discord.general)
  await act(bot)
})

test('without permission to read it, history is empty', async () => {
  const { api, channel, discord } = await open()
  discord.say(discord.ada, discord.general, 'hi')
  discord.permissions(discord.general, ['ReadMessageHistory'])
  expect(await api.channels.getMessages(channel)).toEqual([])
})

test('a DM to somebody who blocks DMs, and a guild that removed the bot', async () => {
  const { api, channel, discord } = await open()
  discord.blockDms(discord.ada)
  const dm = await api.users.createDM(discord.ada.id)
  expect(await refusedWith(api.channels.createMessage(dm.id, { content: 'x' }))).toMatchObject({ code: 50007 })
  discord.leave(discord.home)
  expect(await refusedWith(api.channels.createMessage(channel, { content: 'x' }))).toMatchObject({ code: 50001 })
})

test('a second thread on one message, and a name over 100 characters', async () => {
  const { api, channel, discord } = await open()
  const said = discord.say(discord.ada, discord.general, 'hi')
  const long = api.channels.createThread(channel, { name: 'x'.repeat(101) }, said.id)
  expect(await refusedWith(long)).toMatchObject({ code: 50035 })
  await api.channels.createThread(channel, { name: 'one' }, said.id)
  const second = api.channels.createThread(channel, { name: 'two' }, said.id)
  expect(await refusedWith(second)).toMatchObject({ code: 160004 })
})

test('edits of one message too close together: 429, and the library waits for it', async () => {
  const { api, channel, discord } = await open({ editEveryMs: 300 })
  const made = await api.channels.createMessage(channel, { content: '0' })
  await api.channels.editMessage(channel, made.id, { content: '1' })
  const raw = await fetch(`${discord.url}/v10/channels/${channel}/messages/${made.id}`, {
    method: 'PATCH',
    headers: { authorization: `Bot ${discord.token}`, 'content-type': 'application/json' },
    body: '{"content":"2"}',
  })
  expect(raw.status).toBe(429)
  expect(raw.headers.get('retry-after')).toBe('1')
  expect(raw.headers.get('x-ratelimit-scope')).toBe('user')
  const body = (await raw.json()) as { retry_after: number }
  expect(body).toMatchObject({ message: 'You are being rate limited.', global: false })
  expect(body.retry_after).toBeGreaterThan(0)
  expect(body.retry_after).toBeLessThanOrEqual(0.3)
  await api.channels.editMessage(channel, made.id, { content: '3' })
  expect(discord.message(made.id)).toMatchObject({ content: '3', history: [{ content: '0' }, { content: '1' }] })
})

test('an exhausted bucket: announced in headers, then 429', async () => {
  const { discord, channel } = await open()
  const limit = { limit: 2, perMs: 400 }
  discord.rateLimit('POST /channels/:id/messages', limit)
  const post = () =>
    fetch(`${discord.url}/v10/channels/${channel}/messages`, {
      method: 'POST',
      headers: { authorization: `Bot ${discord.token}`, 'content-type': 'application/json' },
      body: '{"content":"x"}',
    })
  const answers = [await post(), await post(), await post()]
  expect(answers.map(answer => answer.status)).toEqual([200, 200, 429])
  expect(answers.map(answer => answer.headers.get('x-ratelimit-remaining'))).toEqual(['1', '0', '0'])
  expect(answers[0]?.headers.get('x-ratelimit-limit')).toBe('2')
  expect(Number(answers[2]?.headers.get('x-ratelimit-reset-after'))).toBeGreaterThan(0)
  const other = discord.channel(discord.home, 'other')
  await openBot(discord).api.channels.createMessage(other.id, { content: 'not this bucket' })
})

test('more than 50 requests per second, on any routes', async () => {
  const { discord } = await open()
  const headers = { authorization: `Bot ${discord.token}` }
  const answers = await Promise.all(
    Array.from({ length: 60 }, () => fetch(`${discord.url}/v10/users/@me`, { headers })),
  )
  const refused = answers.filter(answer => answer.status === 429)
  expect(refused).toHaveLength(10)
  expect(refused[0]?.headers.get('x-ratelimit-global')).toBe('true')
})

test('a wrong token: 401 over REST, 4004 from the gateway', async () => {
  const { discord } = await open()
  const one = openBot(discord, { token: 'wrong' })
  expect(await refusedWith(one.api.users.getCurrent())).toMatchObject({ status: 401, code: 0 })
  const other = openBot(discord, { token: 'wrong' })
  expect(await refusedWith(other.connect())).toMatchObject({ status: 401 })
  expect(await closeCode(discord, { token: 'wrong', intents: 0 })).toBe(4004)
})

test('intents that are off in the portal: 4014, as the library reports it', async () => {
  const { discord } = await open({ denied: ['MessageContent'] })
  const one = openBot(discord)
  await expect(one.connect()).rejects.toThrow('disallowed intents')
  expect(one.closed).toEqual([4014])
  discord.denyIntents('GuildMembers')
  expect(await closeCode(discord, { intents: GatewayIntentBits.GuildMembers })).toBe(4014)
})

test.each<[string, number, unknown, string?]>([
  ['intents that do not exist', 4013, { op: 2, d: { token: true, intents: 1 << 30 } }],
  ['a shard outside the count', 4010, { op: 2, d: { token: true, intents: 0, shard: [1, 1] } }],
  ['something before identifying', 4003, { op: 3, d: {} }],
  ['what is no JSON', 4002, 'nonsense'],
  ['more than 4096 bytes', 4002, { op: 1, d: 'x'.repeat(5000) }],
  ['another API version', 4012, null, '?v=6&encoding=json'],
])('the gateway closes on %s with %i', async (_what, code, payload, query) => {
  const { discord } = await open()
  expect(await closeCodeFor(discord, payload, query)).toBe(code)
})

test('RESUME with a sequence number from the future, and of an unknown session', async () => {
  const { discord } = await open()
  const session = { kept: null as null | { sessionId: string } }
  const one = openBot(discord, { session: session as never })
  await one.connect()
  await one.stop(4200)
  const d = { token: discord.token, session_id: session.kept?.sessionId, seq: 999 }
  expect(await closeCodeFor(discord, { op: 6, d })).toBe(4007)
  const answer = await firstAnswer(discord, { op: 6, d: { ...d, session_id: 'gone', seq: 1 } })
  expect(answer).toEqual({ op: 9, d: false })
})

test('failures of the server: a status, a hung request, a cut one', async () => {
  const { discord, api } = await open()
  const hasty = new REST({ api: discord.url, version: '10', retries: 0, timeout: 100 }).setToken(discord.token)
  discord.fail('GET /users/@me', { status: 503 })
  await expect(hasty.get('/users/@me')).rejects.toMatchObject({ status: 503 })
  discord.fail('GET /users/@me', { hang: true })
  await expect(hasty.get('/users/@me')).rejects.toThrow(/abort/i)
  discord.fail('GET /users/@me', { hang: 'cut' })
  await expect(hasty.get('/users/@me')).rejects.toThrow()
  discord.fail(/users\/@me$/, { status: 429, retryAfter: 0.2 })
  await api.users.getCurrent()
  expect(discord.requests('GET /users/@me').map(request => request.status)).toEqual([503, 0, 0, 429, 200])
})

test('unknown routes and versions', async () => {
  const { discord } = await open()
  const headers = { authorization: `Bot ${discord.token}` }
  expect((await fetch(`${discord.url}/v10/nowhere`, { headers })).status).toBe(404)
  expect((await fetch(`${discord.url}/v10/users/@me`, { headers, method: 'DELETE' })).status).toBe(405)
  expect(await (await fetch(`${discord.url}/v5/users/@me`, { headers })).json()).toMatchObject({ code: 50041 })
})

/** The close code after one payload; `token: true` stands for the right token. */
const closeCodeFor = async (discord: FakeDiscord, payload: unknown, query = '?v=10&encoding=json'): Promise<number> => {
  const socket = new WebSocket(`ws://127.0.0.1:${discord.port}/${query}`)
  const closed = new Promise<number>(resolve => socket.once('close', resolve))
  if (payload !== null) socket.once('message', () => socket.send(worded(discord, payload)))
  return closed
}

const closeCode = (discord: FakeDiscord, identify: { token?: string; intents?: number }): Promise<number> =>
  closeCodeFor(discord, { op: 2, d: { token: discord.token, intents: ordinaryIntents, ...identify } })

const firstAnswer = async (discord: FakeDiscord, payload: unknown): Promise<unknown> => {
  const socket = new WebSocket(`ws://127.0.0.1:${discord.port}/?v=10&encoding=json`)
  await new Promise(resolve => socket.once('message', resolve))
  socket.send(worded(discord, payload))
  const answer = await new Promise<string>(resolve => socket.once('message', raw => resolve(String(raw))))
  socket.terminate()
  return JSON.parse(answer)
}

const worded = (discord: FakeDiscord, payload: unknown): string =>
  typeof payload === 'string' ? payload : JSON.stringify(payload).replace('"token":true', `"token":"${discord.token}"`)
