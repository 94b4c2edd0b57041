// The loopback Discord with the real libraries on it: sessions, replay, messages, threads, DMs, files.
import { afterEach, expect, test } from 'vitest'
import { type Bot, openBot, ordinaryIntents } from './bot.ts'
import { type DiscordOptions, type FakeDiscord, openDiscord } from './index.ts'

const after: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const undo of after.splice(0).reverse()) await undo()
})

const open = async (options: DiscordOptions = {}): Promise<FakeDiscord> => {
  const discord = await openDiscord(options)
  after.push(discord.close)
  return discord
}

const bot = async (discord: FakeDiscord, options: Parameters<typeof openBot>[1] = {}): Promise<Bot> => {
  const made = openBot(discord, options)
  after.push(() => made.stop())
  await made.connect()
  return made
}

const names = (one: Bot): string[] => one.heard.map(event => event.t)
const heardOf = (one: Bot, t: string) => one.heard.filter(event => event.t === t).map(event => event.d)

test('a bot connects, learns its identity and guilds, and receives messages', async () => {
  const discord = await open()
  const thread = discord.thread(discord.general, 'old talk', { joined: true })
  const one = await bot(discord)
  await discord.until(() => names(one).includes('GUILD_CREATE'))
  const [ready] = heardOf(one, 'READY')
  expect(ready).toMatchObject({ user: { id: discord.bot.id, bot: true }, guilds: [{ id: discord.home.id }] })
  expect(heardOf(one, 'GUILD_CREATE')[0]).toMatchObject({
    name: 'Our Server',
    member_count: 2,
    members: [{ user: { id: discord.bot.id } }],
    channels: [{ id: discord.general.id, name: 'general' }],
    threads: [{ id: thread.id, parent_id: discord.general.id, member: { user_id: discord.bot.id } }],
  })
  const said = discord.say(discord.ada, discord.general, 'hello', { mention: true })
  await discord.until(() => one.texts().length > 0)
  expect(heardOf(one, 'MESSAGE_CREATE')[0]).toMatchObject({
    id: said.id,
    content: `<@${discord.bot.id}> hello`,
    guild_id: discord.home.id,
    author: { username: 'ada' },
    mentions: [{ id: discord.bot.id }],
    member: { roles: [] },
  })
})

test('edits, deletions and link previews are distinguished', async () => {
  const discord = await open()
  const one = await bot(discord)
  const said = discord.say(discord.ada, discord.general, 'first')
  discord.unfurl(said)
  discord.edit(said, 'second')
  discord.remove(said)
  await discord.until(() => names(one).includes('MESSAGE_DELETE'))
  const [preview, edit] = heardOf(one, 'MESSAGE_UPDATE')
  expect(preview).toMatchObject({ content: 'first', edited_timestamp: null })
  expect(edit).toMatchObject({ content: 'second', edited_timestamp: expect.any(String) })
  expect(heardOf(one, 'MESSAGE_DELETE')[0]).toMatchObject({ id: said.id, channel_id: discord.general.id })
  expect(discord.messages(discord.general)).toEqual([])
  expect(discord.message(said.id)?.history.map(entry => entry.content)).toEqual(['first'])
})

test.each([
  ['the connection is cut', (discord: FakeDiscord) => discord.dropConnection()],
  ['Discord closes with 4000', (discord: FakeDiscord) => discord.closeGateway(4000)],
  ['Discord asks for it (op 7)', (discord: FakeDiscord) => discord.op7()],
  ['the session is doubted (op 9 true)', (discord: FakeDiscord) => discord.op9(true)],
])('the session resumes and missed events are replayed once, when %s', async (_why, happen) => {
  const discord = await open()
  const one = await bot(discord)
  discord.say(discord.ada, discord.general, 'before')
  await discord.until(() => one.texts().length === 1)
  happen(discord)
  discord.say(discord.ada, discord.general, 'meanwhile')
  await discord.until(() => names(one).includes('RESUMED'))
  discord.say(discord.ada, discord.general, 'afterwards')
  await discord.until(() => one.texts().length >= 3)
  expect(one.texts()).toEqual(['before', 'meanwhile', 'afterwards'])
  expect(discord.gateway('identify')).toHaveLength(1)
})

test('a zombie connection is noticed by its missing acks and resumed', async () => {
  const discord = await open({ heartbeatMs: 150 })
  const one = await bot(discord)
  await discord.until(() => discord.gateway('heartbeat').length > 0)
  discord.goSilent()
  discord.say(discord.ada, discord.general, 'into the void')
  await discord.until(() => names(one).includes('RESUMED'))
  expect(one.texts()).toEqual(['into the void'])
})

test.each([
  ['op 9 false', (discord: FakeDiscord) => discord.op9(false)],
  [
    'a forgotten session',
    (discord: FakeDiscord) => {
      discord.forgetSession()
      discord.dropConnection()
    },
  ],
])('after %s the bot identifies again and finds missed messages with after=', async (_why, happen) => {
  const discord = await open()
  const one = await bot(discord)
  const last = discord.say(discord.ada, discord.general, 'before')
  await discord.until(() => one.texts().length === 1)
  happen(discord)
  discord.say(discord.ada, discord.general, 'missed 1')
  discord.say(discord.ada, discord.general, 'missed 2')
  await discord.until(() => names(one).filter(name => name === 'READY').length === 2)
  expect(one.texts()).toEqual(['before'])
  const found = await one.api.channels.getMessages(discord.general.id, { after: last.id, limit: 100 })
  expect(found.map(message => message.content)).toEqual(['missed 2', 'missed 1'])
  const [oldest] = await one.api.channels.getMessages(discord.general.id, { after: last.id, limit: 1 })
  expect(oldest?.content).toBe('missed 1')
})

test('a restart resumes when the session was left with 4200, and not when it was ended', async () => {
  const discord = await open()
  const session = { kept: null }
  const first = await bot(discord, { session })
  await first.stop(4200)
  expect(discord.connected()).toBe(0)
  discord.say(discord.ada, discord.general, 'while down')
  const second = await bot(discord, { session })
  await discord.until(() => second.texts().length > 0)
  expect(second.texts()).toEqual(['while down'])
  expect(names(second)).not.toContain('READY')

  const ended: { kept: unknown } = { kept: structuredClone(session.kept) }
  await second.stop(1000)
  const third = await bot(discord, { session: ended as never })
  expect(names(third)).toContain('READY')
})

test('without the content intent only DMs, mentions and own messages can be read', async () => {
  const discord = await open({ denied: ['MessageContent'] })
  const one = await bot(discord, { intents: ordinaryIntents & ~(1 << 15) })
  discord.say(discord.ada, discord.general, 'overheard', { attachments: [{ name: 'a.txt', bytes: 'a' }] })
  discord.say(discord.ada, discord.general, 'told', { mention: true })
  discord.say(discord.ada, discord.dm(discord.ada), 'in private')
  const own = await one.api.channels.createMessage(discord.general.id, { content: 'mine' })
  discord.say(discord.ada, discord.general, 'a reply', { replyTo: own })
  discord.say(discord.ada, discord.general, `\`<@${discord.bot.id}>\` is code`)
  await discord.until(() => one.texts().length === 6)
  expect(one.texts()).toEqual(['', `<@${discord.bot.id}> told`, 'in private', 'mine', 'a reply', ''])
  expect(heardOf(one, 'MESSAGE_CREATE')[0]).toMatchObject({ attachments: [] })
  const listed = await one.api.channels.getMessages(discord.general.id)
  expect(listed.at(-1)?.content).toBe('')
})

test('events of channels that the bot cannot see are not sent', async () => {
  const discord = await open()
  const one = await bot(discord)
  const hidden = discord.channel(discord.home, 'hidden')
  discord.permissions(hidden, ['ViewChannel'])
  discord.say(discord.ada, hidden, 'a secret', { mention: true })
  discord.say(discord.ada, discord.thread(discord.general, 'private', { private: true }), 'another')
  discord.say(discord.ada, discord.general, 'in the open')
  await discord.until(() => one.texts().length > 0)
  expect(one.texts().filter(text => text !== '')).toEqual(['in the open'])
})

test('events without their intent are not sent', async () => {
  const discord = await open()
  const one = await bot(discord, { intents: 1 << 9 })
  discord.say(discord.ada, discord.dm(discord.ada), 'unheard')
  discord.say(discord.ada, discord.general, 'heard', { mention: true })
  await discord.until(() => one.texts().length > 0)
  expect(names(one)).toEqual(['READY', 'MESSAGE_CREATE'])
})

test('a message that is stored but answered with 502 is posted once with a nonce, twice without', async () => {
  const discord = await open()
  const { api } = openBot(discord)
  const send = 'POST /channels/:id/messages'
  discord.fail(send, { storeFirst: true })
  await api.channels.createMessage(discord.general.id, { content: 'once', nonce: 'n1', enforce_nonce: true })
  discord.fail(send, { storeFirst: true })
  await api.channels.createMessage(discord.general.id, { content: 'twice' })
  expect(discord.answers(discord.general).map(message => message.content)).toEqual(['once', 'twice', 'twice'])
  expect(discord.requests(send).map(request => request.status)).toEqual([502, 200, 502, 200])
})

test('a nonce is forgotten after some minutes', async () => {
  let at = Date.now()
  const discord = await open({ now: () => at })
  const { api } = openBot(discord)
  const body = { content: 'again', nonce: 'n1', enforce_nonce: true }
  const [first, second] = [
    await api.channels.createMessage(discord.general.id, body),
    await api.channels.createMessage(discord.general.id, body),
  ]
  at += 6 * 60_000
  const third = await api.channels.createMessage(discord.general.id, body)
  expect(second.id).toBe(first.id)
  expect(third.id).not.toBe(first.id)
})

test('a nonce is in the response and in the dispatch, but not in fetched messages', async () => {
  const discord = await open()
  const one = await bot(discord)
  const posted = await one.api.channels.createMessage(discord.general.id, { content: 'hi', nonce: 'n1' })
  await discord.until(() => one.texts().length > 0)
  const [read] = await one.api.channels.getMessages(discord.general.id)
  const told = one.heard.find(({ t }) => t === 'MESSAGE_CREATE')
  expect([posted.nonce, told?.d.nonce, read?.nonce]).toEqual(['n1', 'n1', undefined])
})

test('whom a message pings depends on allowed_mentions', async () => {
  const discord = await open()
  const { api } = openBot(discord)
  const role = discord.role(discord.home, 'crew')
  const content = `@everyone <@${discord.ada.id}> <@&${role.id}>`
  const said = discord.say(discord.ada, discord.general, 'hi')
  const reply = { message_reference: { message_id: said.id } }
  const channel = discord.general.id
  await api.channels.createMessage(channel, { content })
  await api.channels.createMessage(channel, { content, ...reply, allowed_mentions: { parse: [] } })
  await api.channels.createMessage(channel, {
    content: 'yes',
    ...reply,
    allowed_mentions: { parse: [], replied_user: true },
  })
  expect(discord.answers(discord.general).map(message => message.pinged)).toEqual([
    { everyone: true, roles: [role.id], users: [discord.ada.id] },
    { everyone: false, roles: [], users: [] },
    { everyone: false, roles: [], users: [discord.ada.id] },
  ])
  expect(discord.answers(discord.general)[1]).toMatchObject({ reference: said.id, type: 19 })
})

test('files go both ways, and download links expire', async () => {
  let at = Date.now()
  const discord = await open({ now: () => at, attachmentUrlMs: 60_000 })
  const one = await bot(discord)
  const text = 'what is this?'
  discord.say(discord.ada, discord.general, text, {
    attachments: [{ name: 'n.txt', bytes: 'note', type: 'text/plain' }],
  })
  await discord.until(() => one.texts().length > 0)
  const [heard] = heardOf(one, 'MESSAGE_CREATE') as [{ attachments: { url: string; size: number; filename: string }[] }]
  expect(heard.attachments[0]).toMatchObject({ filename: 'n.txt', size: 4, content_type: 'text/plain' })
  const { url } = heard.attachments[0] as { url: string }
  expect(await (await fetch(url)).text()).toBe('note')
  expect((await fetch(url.replace('hm=', 'hm=0'))).status).toBe(404)
  at += 61_000
  expect((await fetch(url)).status).toBe(404)

  await one.api.channels.createMessage(discord.general.id, {
    content: 'here',
    files: [{ name: 'answer file.md', data: Buffer.from('# Answer') }],
    attachments: [{ id: 0, description: 'the answer' }],
  })
  const [answer] = discord.answers(discord.general)
  expect(answer?.attachments[0]).toMatchObject({ name: 'answer_file.md', description: 'the answer', size: 8 })
  expect(answer?.attachments[0]?.bytes.toString()).toBe('# Answer')
})

test('threads are opened, joined, unarchived by a message, and closed permanently when locked', async () => {
  const discord = await open()
  const one = await bot(discord)
  const said = discord.say(discord.ada, discord.general, 'long story')
  const made = await one.api.channels.createThread(discord.general.id, { name: 'Story' }, said.id)
  expect(made).toMatchObject({ id: said.id, parent_id: discord.general.id, member: { user_id: discord.bot.id } })
  const own = await one.api.channels.createMessage(made.id, { content: 'once upon a time' })
  discord.archive(discord.look(made.id))
  await expect(one.api.channels.editMessage(made.id, own.id, { content: 'x' })).rejects.toMatchObject({ code: 50083 })
  await one.api.channels.createMessage(made.id, { content: 'the end' })
  expect(discord.look(made.id).archived).toBe(false)
  expect(discord.messages(made.id).map(message => message.content)).toEqual(['once upon a time', 'the end'])
  discord.archive(discord.look(made.id), { locked: true })
  await expect(one.api.channels.createMessage(made.id, { content: 'x' })).rejects.toMatchObject({ code: 50083 })

  const theirs = discord.thread(discord.general, 'theirs')
  discord.say(discord.ada, theirs, 'come in', { mention: true })
  await discord.until(() => heardOf(one, 'THREAD_MEMBERS_UPDATE').length === 2)
  expect(heardOf(one, 'THREAD_MEMBERS_UPDATE')[1]).toMatchObject({
    id: theirs.id,
    added_members: [{ user_id: discord.bot.id }],
  })
})

test('typing, DMs and simple GET requests work', async () => {
  const discord = await open()
  const { api, rest } = openBot(discord)
  await api.channels.showTyping(discord.general.id)
  expect(discord.typing(discord.general)).toHaveLength(1)
  const dm = await api.users.createDM(discord.ada.id)
  await api.channels.createMessage(dm.id, { content: 'psst' })
  expect(discord.messages(discord.dm(discord.ada)).map(message => message.content)).toEqual(['psst'])
  expect(await api.users.getCurrent()).toMatchObject({ id: discord.bot.id })
  expect(await rest.get('/applications/@me')).toMatchObject({ id: discord.applicationId })
  expect(await api.oauth2.getCurrentBotApplicationInformation()).toMatchObject({ id: discord.applicationId })
  expect(await api.guilds.getMember(discord.home.id, discord.ada.id)).toMatchObject({ user: { username: 'ada' } })
})

test.each([
  ['says how many, not who', false, 1],
  ['also says who when it is to', true, 10_001],
])('a guild with 1000 channels and 10000 members %s', async (_, listed, named) => {
  const discord = await open({ scale: { channels: 1000, members: 10_000, listed } })
  const one = await bot(discord)
  await discord.until(() => heardOf(one, 'GUILD_CREATE').length === 2)
  const big = heardOf(one, 'GUILD_CREATE')[1] as { channels: unknown[]; members: unknown[]; member_count: number }
  expect([big.channels.length, big.members.length, big.member_count]).toEqual([1000, named, 10_001])
})

test('Discord can go down completely and come back', async () => {
  const discord = await open()
  const one = await bot(discord)
  discord.offline(true)
  await expect(fetch(`${discord.url}/v10/gateway`)).rejects.toThrow()
  discord.offline(false)
  await discord.ready()
  discord.say(discord.ada, discord.general, 'back')
  await discord.until(() => one.texts().includes('back'))
})
