// The methods of the Web API, as strict as Slack's.
import { checkBlocks, checkView } from './blocks.ts'
import { SlackRefusal } from './refusal.ts'
import { type ChannelState, type MessageState, messageShape, type State } from './state.ts'
import type { Metadata } from './types.ts'

export type Args = Readonly<Record<string, unknown>>
type Answer = Record<string, unknown>

export interface Method {
  /** Argument names that are known; others are refused. */
  readonly takes: readonly string[]
  readonly needs: readonly string[]
  readonly app?: true
  answer(args: Args): Answer
}

export interface MethodParts {
  readonly state: State
  connect(): string
  uploadUrl(id: string): string
  uploaded(id: string): { readonly name: string; readonly bytes: Buffer | null } | undefined
  changed(message: MessageState): void
}

const text = (args: Args, name: string): string | undefined => {
  const value = args[name]
  return value === undefined || value === '' ? undefined : String(value)
}

export function methodsOf(parts: MethodParts): Readonly<Record<string, Method>> {
  const { state } = parts
  const content = ['text', 'blocks', 'markdown_text', 'metadata', 'mrkdwn', 'unfurl_links', 'unfurl_media', 'parse']
  return {
    'auth.test': {
      ...{ takes: [], needs: [] },
      answer: () => ({
        ...{ url: 'https://our-workspace.slack.com/', team: state.team.name, team_id: state.team.id },
        ...{ user: state.bot.name, user_id: state.bot.id, bot_id: state.bot.botId },
      }),
    },
    'apps.connections.open': { takes: [], needs: [], app: true, answer: () => ({ url: parts.connect() }) },
    'views.open': {
      ...{ takes: ['trigger_id', 'view'], needs: ['trigger_id', 'view'] },
      answer({ trigger_id, view }) {
        const trigger = state.triggers.get(String(trigger_id))
        state.triggers.delete(String(trigger_id))
        if (!trigger) throw new SlackRefusal('invalid_trigger_id')
        if (trigger.until < state.now()) throw new SlackRefusal('expired_trigger_id')
        const id = state.nextId('V')
        state.dialogs.push({ id, user: trigger.user, view, ...checkView(view) })
        return { view: { id } }
      },
    },
    ...posting(parts, content),
    ...streaming(parts),
    ...reading(state),
    ...uploading(parts),
  }
}

function channelOf(state: State, id: unknown): ChannelState {
  const channel = state.channels.get(String(id))
  if (!channel || (channel.kind === 'im' && !channel.members.has(state.bot.id)))
    throw new SlackRefusal('channel_not_found')
  return channel
}

function writable(state: State, id: unknown): ChannelState {
  const channel = channelOf(state, id)
  if (channel.archived) throw new SlackRefusal('is_archived')
  if (!channel.members.has(state.bot.id)) throw new SlackRefusal('not_in_channel')
  return channel
}

function ownMessage(state: State, args: Args, code: string): MessageState {
  const found = channelOf(state, args.channel).messages.find(one => one.ts === args.ts && !one.deleted)
  if (!found) throw new SlackRefusal('message_not_found')
  if (found.user !== state.bot.id) throw new SlackRefusal(code)
  return found
}

function threadIn(channel: ChannelState, args: Args): string | null {
  const thread = text(args, 'thread_ts')
  if (thread === undefined) return null
  if (!/^\d+\.\d{6}$/.test(thread)) throw new SlackRefusal('invalid_thread_ts')
  const root = channel.messages.find(one => one.ts === thread)
  if (!root || root.thread !== null) throw new SlackRefusal('thread_not_found')
  return thread
}

function contentIn(args: Args, most: number) {
  const words = text(args, 'text') ?? ''
  const markdown = text(args, 'markdown_text')
  const blocks = checkBlocks(args.blocks)
  if (markdown !== undefined && (words !== '' || blocks.length > 0)) throw new SlackRefusal('markdown_text_conflict')
  if (words === '' && blocks.length === 0 && markdown === undefined) throw new SlackRefusal('no_text')
  if (words.length > most || (markdown?.length ?? 0) > 12_000) throw new SlackRefusal('msg_too_long')
  if (/<(?![!@#]|https?:|mailto:)/.test(words)) throw new SlackRefusal('invalid_arguments', { why: 'not escaped' })
  return { text: words || (markdown ?? ''), blocks: [...blocks], metadata: metadataIn(args.metadata) }
}

function metadataIn(given: unknown): Metadata | null {
  if (given === undefined) return null
  const { event_type, event_payload } = given as Partial<Metadata>
  if (typeof event_type !== 'string' || typeof event_payload !== 'object')
    throw new SlackRefusal('invalid_metadata_format')
  return { event_type, event_payload }
}

export function store(state: State, channel: ChannelState, given: Partial<MessageState>): MessageState {
  const message: MessageState = {
    ...{
      channel: channel.id,
      ts: state.nextTs(),
      thread: null,
      user: state.bot.id,
      text: '',
      blocks: [],
      metadata: null,
    },
    ...{ files: [], history: [], editedAt: null, deleted: false, streaming: false, subtype: undefined, bot: false },
    ...{ at: state.now(), ...given },
  }
  channel.messages.push(message)
  return message
}

const posting = ({ state, changed }: MethodParts, content: readonly string[]): Record<string, Method> => ({
  'chat.postMessage': {
    takes: ['channel', 'thread_ts', ...content],
    needs: ['channel'],
    answer(args) {
      const channel = writable(state, args.channel)
      const thread = threadIn(channel, args)
      const message = store(state, channel, { ...contentIn(args, 40_000), thread, bot: true })
      return { channel: channel.id, ts: message.ts, message: messageShape(state, message, true) }
    },
  },
  'chat.update': {
    takes: ['channel', 'ts', ...content],
    needs: ['channel', 'ts'],
    answer(args) {
      const message = ownMessage(state, args, 'cant_update_message')
      if (message.streaming) throw new SlackRefusal('streaming_state_conflict')
      writable(state, args.channel)
      const { text: words, blocks, metadata } = contentIn(args, 4000)
      message.history.push(message.text)
      Object.assign(message, { text: words, blocks, metadata: metadata ?? message.metadata, editedAt: state.now() })
      changed(message)
      return { channel: message.channel, ts: message.ts, text: words }
    },
  },
  'chat.delete': {
    takes: ['channel', 'ts'],
    needs: ['channel', 'ts'],
    answer(args) {
      const message = ownMessage(state, args, 'cant_delete_message')
      message.deleted = true
      return { channel: message.channel, ts: message.ts }
    },
  },
  'chat.postEphemeral': {
    takes: ['channel', 'user', 'thread_ts', ...content],
    needs: ['channel', 'user'],
    answer(args) {
      const channel = writable(state, args.channel)
      if (!channel.members.has(String(args.user))) throw new SlackRefusal('user_not_in_channel')
      const { text: words } = contentIn(args, 40_000)
      state.ephemerals.push({
        channel: channel.id,
        thread: threadIn(channel, args),
        user: String(args.user),
        text: words,
      })
      return { message_ts: state.nextTs() }
    },
  },
})

const streaming = ({ state }: MethodParts): Record<string, Method> => ({
  'assistant.threads.setStatus': {
    takes: ['channel_id', 'thread_ts', 'status', 'loading_messages'],
    needs: ['channel_id', 'thread_ts'],
    answer(args) {
      const channel = channelOf(state, args.channel_id)
      const thread = threadIn(channel, args) ?? ''
      state.statuses.push({ channel: channel.id, thread, status: String(args.status ?? '') })
      return {}
    },
  },
  'chat.startStream': {
    takes: ['channel', 'thread_ts', 'markdown_text', 'recipient_user_id', 'recipient_team_id'],
    needs: ['channel', 'thread_ts'],
    answer(args) {
      const channel = writable(state, args.channel)
      const recipients = [args.recipient_user_id, args.recipient_team_id]
      if (channel.kind !== 'im' && recipients.includes(undefined)) throw new SlackRefusal('missing_recipient_user_id')
      const words = text(args, 'markdown_text') ?? ''
      if (words.length > 12_000) throw new SlackRefusal('msg_too_long')
      const message = store(state, channel, {
        text: words,
        thread: threadIn(channel, args),
        bot: true,
        streaming: true,
      })
      return { channel: channel.id, ts: message.ts }
    },
  },
  'chat.appendStream': {
    takes: ['channel', 'ts', 'markdown_text'],
    needs: ['channel', 'ts', 'markdown_text'],
    answer(args) {
      const message = ownMessage(state, args, 'message_not_owned_by_app')
      if (!message.streaming) throw new SlackRefusal('message_not_in_streaming_state')
      const words = String(args.markdown_text)
      if (words.length > 12_000) throw new SlackRefusal('msg_too_long')
      message.history.push(message.text)
      message.text += words
      return { channel: message.channel, ts: message.ts }
    },
  },
  'chat.stopStream': {
    takes: ['channel', 'ts', 'markdown_text', 'blocks', 'metadata'],
    needs: ['channel', 'ts'],
    answer(args) {
      const message = ownMessage(state, args, 'message_not_owned_by_app')
      if (!message.streaming) throw new SlackRefusal('message_not_in_streaming_state')
      message.streaming = false
      return { channel: message.channel, ts: message.ts }
    },
  },
})

/** Newest first or oldest first; the cursor is a position. */
function page(state: State, found: readonly Record<string, unknown>[], args: Args): Answer {
  const limit = Math.min(state.page, Number(args.limit ?? 100))
  if (!Number.isInteger(limit) || limit < 1) throw new SlackRefusal('invalid_limit')
  const from = Number(text(args, 'cursor') ?? 0)
  if (!Number.isInteger(from)) throw new SlackRefusal('invalid_cursor')
  const rest = from + limit < found.length
  const next = rest ? { response_metadata: { next_cursor: String(from + limit) } } : {}
  return { messages: found.slice(from, from + limit), has_more: rest, ...next }
}

const within = ({ ts }: { readonly ts: string }, args: Args): boolean =>
  Number(ts) > Number(args.oldest ?? 0) && Number(ts) < Number(args.latest ?? Number.POSITIVE_INFINITY)

const reading = (state: State): Record<string, Method> => {
  const ranges = ['channel', 'oldest', 'latest', 'inclusive', 'limit', 'cursor', 'include_all_metadata']
  const readable = (id: unknown): ChannelState => {
    const channel = channelOf(state, id)
    if (!channel.members.has(state.bot.id)) throw new SlackRefusal('not_in_channel')
    return channel
  }
  const isTrue = (value: unknown) => value === true || value === 'true' || value === '1'
  return {
    'conversations.history': {
      ...{ takes: ranges, needs: ['channel'] },
      answer(args) {
        const all = readable(args.channel).messages.filter(one => !one.deleted && within(one, args))
        const top = all.filter(one => one.thread === null || one.subtype === 'thread_broadcast')
        const found = top.map(one => messageShape(state, one, isTrue(args.include_all_metadata)))
        return page(state, found.reverse(), args)
      },
    },
    'conversations.replies': {
      ...{ takes: [...ranges, 'ts'], needs: ['channel', 'ts'] },
      answer(args) {
        const { messages } = readable(args.channel)
        const root = messages.find(one => one.ts === args.ts)
        if (!root || root.deleted) throw new SlackRefusal('thread_not_found')
        const replies = messages.filter(one => one.thread === root.ts && !one.deleted && within(one, args))
        // The root comes along, whatever the range.
        const found = [root, ...replies].map(one => messageShape(state, one, isTrue(args.include_all_metadata)))
        return page(state, found, args)
      },
    },
    'conversations.info': {
      ...{ takes: ['channel', 'include_num_members'], needs: ['channel'] },
      answer: args => ({ channel: channelShape(state, channelOf(state, args.channel)) }),
    },
    'users.conversations': {
      ...{ takes: ['types', 'exclude_archived', 'limit', 'cursor', 'user'], needs: [] },
      answer(args) {
        const types = String(args.types ?? 'public_channel').split(',')
        const wanted = [...state.channels.values()].filter(
          ({ kind, members, archived }) =>
            members.has(state.bot.id) && !archived && types.includes(kind === 'im' ? 'im' : 'public_channel'),
        )
        const { messages, ...rest } = page(
          state,
          wanted.map(one => channelShape(state, one)),
          args,
        )
        return { channels: messages, ...rest }
      },
    },
    'users.info': {
      ...{ takes: ['user'], needs: ['user'] },
      answer(args) {
        const user = state.users.get(String(args.user))
        if (!user) throw new SlackRefusal('user_not_found')
        const { id, name, bot } = user
        const profile = { display_name: name, real_name: name }
        return { user: { id, name, is_bot: bot, real_name: name, profile, team_id: state.team.id } }
      },
    },
  }
}

const channelShape = (state: State, { id, name, kind, archived, members }: ChannelState) => ({
  ...{ id, is_im: kind === 'im', is_channel: kind === 'channel', is_archived: archived },
  ...(kind === 'im' ? {} : { name, is_member: members.has(state.bot.id) }),
})

const uploading = (parts: MethodParts): Record<string, Method> => ({
  'files.getUploadURLExternal': {
    ...{ takes: ['filename', 'length', 'alt_txt', 'snippet_type'], needs: ['filename', 'length'] },
    answer(args) {
      if (!(Number(args.length) > 0)) throw new SlackRefusal('file_upload_size_restricted')
      const id = parts.state.nextId('F')
      return { file_id: id, upload_url: `${parts.uploadUrl(id)}?name=${encodeURIComponent(String(args.filename))}` }
    },
  },
  'files.completeUploadExternal': {
    ...{ takes: ['files', 'channel_id', 'thread_ts', 'initial_comment', 'blocks'], needs: ['files'] },
    answer(args) {
      const { state } = parts
      const files = (args.files as { id: string; title?: string }[]).map(({ id }) => {
        const file = parts.uploaded(id)
        if (!file?.bytes) throw new SlackRefusal('file_not_found')
        const stored = { id, name: file.name, type: typeOf(file.name), bytes: file.bytes }
        state.files.set(id, stored)
        return stored
      })
      const channel = writable(state, args.channel_id)
      store(state, channel, {
        files,
        thread: threadIn(channel, args),
        bot: true,
        text: text(args, 'initial_comment') ?? '',
      })
      return { files: files.map(({ id, name }) => ({ id, title: name })) }
    },
  },
})

const typeOf = (name: string): string => (name.endsWith('.png') ? 'image/png' : 'text/plain')
