// The world of the loopback Slack.
import type { Channel, Dialog, Ephemeral, Metadata, StoredFile, User } from './types.ts'

export interface MessageState {
  channel: string
  ts: string
  thread: string | null
  user: string
  text: string
  blocks: Readonly<Record<string, unknown>>[]
  metadata: Metadata | null
  files: StoredFile[]
  history: string[]
  editedAt: number | null
  deleted: boolean
  streaming: boolean
  subtype: string | undefined
  bot: boolean
  at: number
}

export interface ChannelState extends Channel {
  readonly members: Set<string>
  archived: boolean
  readonly messages: MessageState[]
}

export interface State {
  readonly now: () => number
  readonly team: { readonly id: string; readonly name: string }
  readonly bot: User & { readonly botId: string }
  readonly tokens: { bot: string; app: string }
  /** The error that every call with the bot token gets. */
  revoked: string | null
  readonly users: Map<string, User>
  readonly channels: Map<string, ChannelState>
  readonly files: Map<string, StoredFile>
  readonly ephemerals: Ephemeral[]
  readonly statuses: { readonly channel: string; readonly thread: string; readonly status: string }[]
  /** What a click opens a dialog with: good for three seconds, once. */
  readonly triggers: Map<string, { readonly user: string; readonly until: number }>
  readonly dialogs: Dialog[]
  readonly page: number
  nextTs(): string
  nextId(prefix: string): string
  origin: string
}

export function openState(now: () => number, page: number): State {
  let last = 0
  let ids = 0
  const bot = { id: 'U0000BOT', name: 'aetheel', bot: true, botId: 'B0000BOT' }
  return {
    now,
    page,
    team: { id: 'T0000001', name: 'Our Workspace' },
    bot,
    tokens: { bot: 'xoxb-loop-back', app: 'xapp-loop-back' },
    revoked: null,
    users: new Map([[bot.id, bot]]),
    channels: new Map(),
    files: new Map(),
    ephemerals: [],
    statuses: [],
    triggers: new Map(),
    dialogs: [],
    nextTs() {
      last = Math.max(last + 1, Math.round(now() * 1000))
      const micros = String(last).padStart(16, '0')
      return `${micros.slice(0, -6)}.${micros.slice(-6)}`
    },
    nextId: prefix => `${prefix}${String(++ids).padStart(7, '0')}`,
    origin: '',
  }
}

/** As in events and in lists of messages. */
export function messageShape(state: State, message: MessageState, withMetadata: boolean): Record<string, unknown> {
  const { ts, thread, user, text, files, subtype, bot, metadata, editedAt } = message
  const channel = state.channels.get(message.channel)
  const replies = channel?.messages.filter(one => one.thread === ts && !one.deleted) ?? []
  const root = channel?.messages.find(one => one.ts === thread)
  return {
    type: 'message',
    ...(subtype === undefined ? {} : { subtype }),
    ...{ ts, user, text, team: state.team.id },
    ...(bot ? { bot_id: user === state.bot.id ? state.bot.botId : 'B0000OTHER', app_id: 'A0000001' } : {}),
    ...(thread === null ? {} : { thread_ts: thread, parent_user_id: root?.user ?? '' }),
    ...(replies.length === 0
      ? {}
      : { thread_ts: ts, reply_count: replies.length, latest_reply: replies.at(-1)?.ts ?? ts }),
    ...(files.length === 0 ? {} : { files: files.map(file => fileShape(state, file)) }),
    ...(message.blocks.length === 0 ? {} : { blocks: message.blocks }),
    ...(editedAt === null ? {} : { edited: { user, ts: String(editedAt) } }),
    ...(withMetadata && metadata !== null ? { metadata } : {}),
  }
}

const fileShape = (state: State, { id, name, type, bytes }: StoredFile) => ({
  ...{ id, name, title: name, mimetype: type, size: bytes.length, mode: 'hosted' },
  url_private: `${state.origin}/files/${id}/${name}`,
  url_private_download: `${state.origin}/files/${id}/download/${name}`,
})
