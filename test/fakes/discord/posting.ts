// Creates and edits messages of people and the bot, with Discord's validation for bots.
import { asJson, asList, checkBody, type Upload } from './body.ts'
import { openForm, refusal, tooFast } from './refusal.ts'
import { channelEvent, deleteEvent, joinEvent, messageEvent } from './shape.ts'
import {
  type AttachmentState,
  type ChannelState,
  isThread,
  type Json,
  type MessageState,
  may,
  messageFlags,
  need,
  type State,
} from './state.ts'
import type { FileGiven, Pinged } from './types.ts'

/** Mentions inside code do not count. */
const withoutCode = (text: string): string => text.replace(/```[\s\S]*?```|``[\s\S]*?``|`[^`\n]*`/g, ' ')

const idsIn = (text: string, pattern: RegExp): string[] => [
  ...new Set([...text.matchAll(pattern)].map(match => match[1] ?? '')),
]

export const whomItPings = (
  state: State,
  channel: ChannelState,
  content: string,
  allowed: unknown,
  repliedTo: string | null,
): Pinged => {
  const text = withoutCode(content)
  const guild = channel.guild === null ? undefined : state.guilds.get(channel.guild)
  const users = idsIn(text, /<@!?(\d+)>/g).filter(id => state.users.has(id))
  const roles = idsIn(text, /<@&(\d+)>/g).filter(id => guild?.roles.has(id) === true)
  const everyone = guild !== undefined && /@(?:everyone|here)\b/.test(text)
  const reply = repliedTo === null ? [] : [repliedTo]
  if (allowed === undefined || allowed === null) return { everyone, roles, users: [...new Set([...users, ...reply])] }
  const rule = asJson(allowed)
  const parse = asList(rule.parse) as unknown[]
  const listed = (kind: 'users' | 'roles') => (id: string) =>
    parse.includes(kind) || (asList(rule[kind]) as unknown[]).includes(id)
  return {
    everyone: everyone && parse.includes('everyone') && may(state, channel, 'MentionEveryone'),
    roles: roles.filter(listed('roles')),
    users: [...new Set([...users.filter(listed('users')), ...(rule.replied_user === true ? reply : [])])],
  }
}

/** Discord keeps letters, digits and `-_.` of a name. */
const plainName = (name: string): string =>
  name.replace(/[^\p{L}\p{N}._-]+/gu, '_').replace(/^_+(?=.)/, '') || 'unnamed'

const storeUploads = (state: State, body: Json, uploads: readonly Upload[]): AttachmentState[] =>
  uploads.map(upload => {
    const said = asList(body.attachments).find(one => upload.field === `files[${String(one.id)}]`)
    const name = typeof said?.filename === 'string' ? said.filename : upload.name
    return {
      id: state.nextId(),
      name: plainName(name),
      type: upload.type,
      description: typeof said?.description === 'string' ? said.description : null,
      bytes: upload.bytes,
    }
  })

const showsNothing = (message: Pick<MessageState, 'content' | 'embeds' | 'attachments' | 'components' | 'flags'>) =>
  message.content === '' &&
  message.embeds.length === 0 &&
  message.attachments.length === 0 &&
  !((message.flags & messageFlags.V2) !== 0 && message.components.length > 0)

/** Adds a message to its channel and dispatches it. An ephemeral one is neither stored nor dispatched. */
export const place = (state: State, message: MessageState): MessageState => {
  state.messages.set(message.id, message)
  if ((message.flags & messageFlags.Ephemeral) !== 0) return message
  const channel = state.channels.get(message.channel)
  channel?.messages.push(message)
  state.dispatch(messageEvent(state, 'MESSAGE_CREATE', message))
  if (channel !== undefined && message.pinged.users.includes(state.bot.id)) joinBot(state, channel)
  return message
}

/** Somebody who is mentioned in a thread, or writes in it, joins it. */
export const joinBot = (state: State, channel: ChannelState): void => {
  if (!isThread(channel) || channel.joined.has(state.bot.id)) return
  channel.joined.add(state.bot.id)
  state.dispatch(channelEvent(state, 'THREAD_CREATE', channel))
  state.dispatch(joinEvent(state, channel))
}

/** A file to upload. */
export const fileOf = (state: State, { name, bytes, type }: FileGiven): AttachmentState => ({
  id: state.nextId(),
  name,
  type: type ?? null,
  description: null,
  bytes: Buffer.from(bytes as Uint8Array),
})

export const blank = (
  state: State,
  channel: string,
  author: string,
  more: Partial<MessageState> = {},
): MessageState => ({
  id: state.nextId(),
  channel,
  author,
  type: 0,
  content: '',
  at: state.now(),
  editedAt: null,
  history: [],
  nonce: null,
  allowedMentions: null,
  pinged: { everyone: false, roles: [], users: [] },
  attachments: [],
  reference: null,
  components: [],
  embeds: [],
  flags: 0,
  deleted: false,
  webhook: null,
  interaction: null,
  thread: null,
  ...more,
})

const repliedTo = (state: State, channel: ChannelState, body: Json): MessageState | null => {
  const asked = asJson(body.message_reference)
  const id = asked.message_id
  if (id === undefined || id === null) return null
  if (!may(state, channel, 'ReadMessageHistory')) throw refusal(160002)
  const message = state.messages.get(String(id))
  if (message !== undefined && !message.deleted && message.channel === channel.id) return message
  if (asked.fail_if_not_exists === false) return null
  const form = openForm()
  form.add('message_reference', 'REPLIES_UNKNOWN_MESSAGE', 'Unknown message')
  form.done()
  return null
}

/** The validated message of a request body; not posted yet. */
export const draft = (
  state: State,
  channel: ChannelState,
  body: Json,
  uploads: readonly Upload[],
  more: Partial<MessageState> = {},
): MessageState => {
  checkBody(body, uploads, null)
  const reply = repliedTo(state, channel, body)
  const content = typeof body.content === 'string' ? body.content.trim() : ''
  const allowed = body.allowed_mentions
  const settable = messageFlags.SuppressEmbeds | messageFlags.Silent | messageFlags.V2
  const message = blank(state, channel.id, state.bot.id, {
    type: reply === null ? 0 : 19,
    content,
    nonce: (body.nonce as string | number | undefined) ?? null,
    allowedMentions: allowed ?? null,
    pinged: whomItPings(state, channel, content, allowed, reply?.author ?? null),
    attachments: storeUploads(state, body, uploads),
    reference: reply?.id ?? null,
    components: asList(body.components),
    embeds: asList(body.embeds),
    ...more,
    flags: (Number(body.flags ?? 0) & settable) | (more.flags ?? 0),
  })
  if (showsNothing(message)) throw refusal(50006)
  return message
}

export const send = (state: State, channel: ChannelState, body: Json, uploads: readonly Upload[]): MessageState => {
  need(state, channel, isThread(channel) ? 'SendMessagesInThreads' : 'SendMessages')
  if (uploads.length > 0) need(state, channel, 'AttachFiles')
  if (asList(body.embeds).length > 0) need(state, channel, 'EmbedLinks')
  if (channel.recipient !== null && state.blocked.has(channel.recipient)) throw refusal(50007)
  if (channel.locked) throw refusal(50083)
  const message = draft(state, channel, body, uploads)
  if (message.nonce !== null) {
    const earlier = state.nonces.get(String(message.nonce))
    const fresh = earlier !== undefined && state.now() - earlier.at < state.nonceMs
    if (body.enforce_nonce === true && fresh) return earlier
    state.nonces.set(String(message.nonce), message)
  }
  if (channel.archived) {
    channel.archived = false
    state.dispatch(channelEvent(state, 'THREAD_UPDATE', channel))
  }
  joinBot(state, channel)
  return place(state, message)
}

/** Changes a message of the bot. "Thinking" ends with it. */
export const change = (state: State, message: MessageState, body: Json, uploads: readonly Upload[]): MessageState => {
  checkBody(body, uploads, message)
  const channel = state.channels.get(message.channel)
  if (channel === undefined) throw refusal(10003)
  const content = typeof body.content === 'string' ? body.content.trim() : body.content === null ? '' : null
  const kept = body.attachments === undefined ? null : asList(body.attachments).map(one => String(one.id))
  const next = {
    content: content ?? message.content,
    embeds: body.embeds === undefined ? message.embeds : asList(body.embeds),
    components: body.components === undefined ? message.components : asList(body.components),
    attachments: [
      ...message.attachments.filter(file => kept === null || kept.includes(file.id)),
      ...storeUploads(state, body, uploads),
    ],
    flags: (message.flags & ~messageFlags.Loading) | (Number(body.flags ?? 0) & messageFlags.V2),
  }
  if (showsNothing(next)) throw refusal(50006)
  const loading = (message.flags & messageFlags.Loading) !== 0
  if (!loading) remember(message)
  if (body.allowed_mentions !== undefined) message.allowedMentions = body.allowed_mentions
  const reply = message.reference === null ? undefined : state.messages.get(message.reference)
  message.pinged = whomItPings(state, channel, next.content, body.allowed_mentions, reply?.author ?? null)
  Object.assign(message, next)
  message.editedAt = state.now()
  if ((message.flags & messageFlags.Ephemeral) === 0) state.dispatch(messageEvent(state, 'MESSAGE_UPDATE', message))
  return message
}

export const remember = (message: MessageState): void => {
  const { content, pinged } = message
  message.history.push({ at: message.editedAt ?? message.at, content, pinged })
}

/** An edit over `PATCH messages/:id`, which is rate-limited. */
export const editInChannel = (
  state: State,
  channel: ChannelState,
  message: MessageState,
  body: Json,
  uploads: readonly Upload[],
): MessageState => {
  if (message.author !== state.bot.id) throw refusal(50005)
  if (channel.archived) throw refusal(50083)
  const since = Date.now() - (state.editTimes.get(message.id) ?? 0)
  if (since < state.editEveryMs) throw tooFast(state.editEveryMs - since, 'user')
  const changed = change(state, message, body, uploads)
  state.editTimes.set(message.id, Date.now())
  return changed
}

export const erase = (state: State, message: MessageState): void => {
  message.deleted = true
  if ((message.flags & messageFlags.Ephemeral) === 0) state.dispatch(deleteEvent(state, message))
}
