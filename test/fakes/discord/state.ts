// The state of the fake Discord, and who may see what.
import { refusal } from './refusal.ts'
import type { Compatible, FirstAnswer, Permission, Pinged, Privileged, User } from './types.ts'

export type Json = Record<string, unknown>

export interface GuildState {
  readonly id: string
  readonly name: string
  readonly roles: Map<string, { readonly id: string; readonly name: string; readonly managed: boolean }>
  readonly members: Map<string, { readonly roles: readonly string[]; readonly joined: number }>
  readonly channels: Set<string>
  readonly botRole: string
  /** Lists its members on connect. */
  listed: boolean
  botIn: boolean
}

export interface ChannelState {
  readonly id: string
  /** 0 text, 1 DM, 11 public thread, 12 private thread. */
  readonly type: 0 | 1 | 11 | 12
  name: string
  readonly guild: string | null
  readonly parent: string | null
  readonly owner: string | null
  readonly recipient: string | null
  archived: boolean
  locked: boolean
  readonly joined: Set<string>
  readonly messages: MessageState[]
  readonly typing: number[]
  denied: ReadonlySet<Permission>
}

export interface AttachmentState {
  readonly id: string
  readonly name: string
  readonly type: string | null
  readonly description: string | null
  readonly bytes: Buffer
}

export interface MessageState {
  readonly id: string
  readonly channel: string
  readonly author: string
  readonly type: number
  content: string
  readonly at: number
  editedAt: number | null
  readonly history: { readonly at: number; readonly content: string; readonly pinged: Pinged }[]
  readonly nonce: string | number | null
  allowedMentions: unknown
  pinged: Pinged
  attachments: AttachmentState[]
  readonly reference: string | null
  components: readonly Json[]
  embeds: readonly Json[]
  flags: number
  deleted: boolean
  readonly webhook: string | null
  readonly interaction: string | null
  thread: string | null
}

export interface InteractionState {
  readonly id: string
  readonly token: string
  readonly type: 2 | 3 | 4 | 5
  readonly at: number
  readonly user: string
  readonly channel: string
  readonly message: MessageState | null
  readonly data: Json
  first: FirstAnswer | null
  answeredAt: number | null
  ephemeral: boolean
  choices: readonly { readonly name: string; readonly value: string | number }[]
  modal: unknown
  original: MessageState | null
  readonly followUps: MessageState[]
}

/** A gateway event; `needs` is the required intent (0: none), `content` whether message content may be read. */
export interface Dispatch {
  readonly t: string
  readonly needs: number
  /** The channel: bots that cannot see it do not get the event. */
  readonly channel?: ChannelState | undefined
  readonly d: (content: boolean) => Json
}

export interface State {
  readonly now: () => number
  readonly nextId: () => string
  origin: () => string
  /** Where files are. */
  files: () => string
  readonly compatible: Compatible
  readonly applicationId: string
  readonly bot: User
  token: string
  readonly users: Map<string, User>
  readonly blocked: Set<string>
  readonly guilds: Map<string, GuildState>
  readonly channels: Map<string, ChannelState>
  readonly messages: Map<string, MessageState>
  readonly interactions: Map<string, InteractionState>
  /** Files given to a command; no message has them. */
  readonly given: Map<string, AttachmentState>
  readonly denied: Set<Privileged>
  readonly nonces: Map<string, MessageState>
  readonly nonceMs: number
  readonly attachmentUrlMs: number
  editEveryMs: number
  /** When each message was last edited, in real time. */
  readonly editTimes: Map<string, number>
  /** Set by the gateway. */
  dispatch: (event: Dispatch) => void
}

export const intents = {
  Guilds: 1 << 0,
  GuildMembers: 1 << 1,
  GuildPresences: 1 << 8,
  GuildMessages: 1 << 9,
  GuildMessageTyping: 1 << 11,
  DirectMessages: 1 << 12,
  DirectMessageTyping: 1 << 14,
  MessageContent: 1 << 15,
} as const

export const messageFlags = { SuppressEmbeds: 4, HasThread: 32, Ephemeral: 64, Loading: 128, Silent: 4096, V2: 32768 }

export const permissionBits: Readonly<Record<Permission, bigint>> = {
  ViewChannel: 1n << 10n,
  SendMessages: 1n << 11n,
  EmbedLinks: 1n << 14n,
  AttachFiles: 1n << 15n,
  ReadMessageHistory: 1n << 16n,
  MentionEveryone: 1n << 17n,
  UseApplicationCommands: 1n << 31n,
  CreatePublicThreads: 1n << 35n,
  CreatePrivateThreads: 1n << 36n,
  SendMessagesInThreads: 1n << 38n,
}

const discordEpoch = 1_420_070_400_000

/** Ids increase with time and never repeat. */
export const openSnowflakes = (now: () => number): (() => string) => {
  let last = 0n
  return () => {
    const fresh = BigInt(Math.max(0, Math.floor(now()) - discordEpoch)) << 22n
    last = fresh > last ? fresh : last + 1n
    return last.toString()
  }
}

export const isThread = (channel: ChannelState): boolean => channel.type === 11 || channel.type === 12

export const may = (state: State, channel: ChannelState, permission: Permission): boolean => {
  if (channel.guild === null) return true
  const ruling = channel.parent === null ? channel : (state.channels.get(channel.parent) ?? channel)
  return !ruling.denied.has(permission) && !channel.denied.has(permission)
}

export const sees = (state: State, channel: ChannelState): boolean => {
  if (channel.guild === null) return true
  if (state.guilds.get(channel.guild)?.botIn !== true) return false
  if (channel.type === 12 && !channel.joined.has(state.bot.id)) return false
  return may(state, channel, 'ViewChannel')
}

/** The channel, if the bot can see it. */
export const channelOf = (state: State, id: string): ChannelState => {
  const channel = state.channels.get(id)
  if (channel === undefined) throw refusal(10003)
  if (!sees(state, channel)) throw refusal(50001)
  return channel
}

export const need = (state: State, channel: ChannelState, permission: Permission): void => {
  if (!may(state, channel, permission)) throw refusal(50013)
}

export const messageOf = (state: State, channel: ChannelState, id: string): MessageState => {
  const message = state.messages.get(id)
  if (message === undefined || message.deleted || message.channel !== channel.id) throw refusal(10008)
  if ((message.flags & messageFlags.Ephemeral) !== 0) throw refusal(10008)
  return message
}
