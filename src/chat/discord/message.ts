// A Discord message: its parts made complete, the order of ids, whether it is meant for the bot, and the event it becomes.

import type { APIMessage, GatewayGuildCreateDispatchData, GatewayReadyDispatchData } from '@discordjs/core'
import type { Attachment, NewEvent, Sender } from '../../base/event.ts'
import { forwarded, inReply, namedInReply } from '../quoted.ts'

export interface Person {
  readonly id: string
  readonly username: string
  readonly global_name?: string | null
  readonly bot?: boolean
  readonly system?: boolean
}

export interface Member {
  readonly nick?: string | null
  readonly roles: readonly string[]
}

/** The part of a Discord message that we use. */
export interface MessageSeen {
  readonly id: string
  readonly channel_id: string
  /** Missing in direct messages, and in messages fetched over the REST API. */
  readonly guild_id?: string
  readonly type: number
  readonly content: string
  readonly author: Person
  readonly member?: Member
  readonly webhook_id?: string
  readonly mentions: readonly Person[]
  readonly mention_roles: readonly string[]
  readonly referenced_message?: { readonly author: Person; readonly content: string } | null
  readonly message_snapshots?: readonly { readonly message: { readonly content: string } }[]
}

/** The channel of a message. */
export interface Spot {
  readonly id: string
  readonly name: string
  /** Null: a direct message. */
  readonly guild: { readonly id: string; readonly name: string } | null
  /** The parent channel of a thread; null: it is not a thread. */
  readonly parent: { readonly id: string; readonly name: string } | null
}

export interface Us {
  readonly id: string
  /** The bot's own roles in the guild. */
  readonly roles: readonly string[]
}

/** Ordinary messages and replies. Other types are system messages. */
const messageTypes: readonly number[] = [0, 19]

/** Ignores bots, webhooks and our own messages, so that no two bots talk to each other for ever. */
export function isFromPerson({ author, webhook_id, type }: MessageSeen, us: Pick<Us, 'id'>): boolean {
  return (
    author.bot !== true &&
    author.system !== true &&
    webhook_id === undefined &&
    author.id !== us.id &&
    messageTypes.includes(type)
  )
}

/** `takesPart`: it is in a thread that the bot is in. */
export function isForUs(message: MessageSeen, us: Us, direct: boolean, takesPart: boolean): boolean {
  if (!isFromPerson(message, us)) return false
  return isMentioned(message, us) || direct || message.referenced_message?.author.id === us.id || takesPart
}

const isMentioned = ({ mentions, mention_roles }: MessageSeen, us: Us): boolean =>
  mentions.some(({ id }) => id === us.id) || mention_roles.some(role => us.roles.includes(role))

/** The text without mentions of the bot; mentions of others become their names. */
export function promptOf({ content, mentions }: Pick<MessageSeen, 'content' | 'mentions'>, us: Us): string {
  const names = new Map(mentions.map(person => [person.id, nameOf(person)]))
  return content
    .replace(/<@(?:[!&])?(\d+)>/g, (mention, id: string) => {
      if (mention.startsWith('<@&')) return us.roles.includes(id) ? '' : mention
      const name = names.get(id)
      return id === us.id ? '' : name === undefined ? mention : `@${name}`
    })
    .trim()
}

export const nameOf = ({ global_name, username }: Person, member?: Member): string =>
  member?.nick || global_name || username

export const whereIs = ({ name, guild, parent }: Spot): string => {
  if (guild === null) return 'a direct message'
  return parent ? `the thread ${name} in #${parent.name} of ${guild.name}` : `#${name} of ${guild.name}`
}

export const senderOf = (user: string, roles: readonly string[], spot: Spot): Sender => ({
  chat: 'discord',
  user,
  roles,
  channel: spot.parent?.id ?? spot.id,
  guild: spot.guild?.id ?? null,
  where: whereIs(spot),
})

/** Every message is an event of its own, in the conversation of its channel, thread or direct message. */
export const keyOf = (id: string): string => `discord:${id}`
export const laneOf = (conversation: string): string => `discord:${conversation}`

export interface Words {
  readonly id: string
  readonly text: string
  readonly author: Person
  readonly member?: Member
  readonly spot: Spot
  /** Where the answer goes: the place itself, or the thread that is opened for it. */
  readonly conversation: string
  readonly attachments: readonly Attachment[]
  /** Sent while the bot was offline. */
  readonly missed: boolean
}

export function eventOf({ id, text, author, member, spot, conversation, attachments, missed }: Words): NewEvent {
  return {
    key: keyOf(id),
    lane: laneOf(conversation),
    what: {
      kind: 'message',
      id,
      text,
      // The gate decides who is the owner.
      author: { id: author.id, name: nameOf(author, member), owner: false },
      ...(attachments.length === 0 ? {} : { attachments }),
    },
    replyTo: { chat: 'discord', conversation },
    source: 'discord',
    sender: { ...senderOf(author.id, member?.roles ?? [], spot), at: madeAt(id) },
    ...(missed ? { missed } : {}),
  }
}

/** The text of a message, with the forwarded message or the one it replies to. */
export function wordsOf(message: MessageSeen, us: Us): string {
  const own = promptOf(message, us)
  // A command stays a command even as a reply.
  if (own.startsWith('/')) return own
  const others = (message.message_snapshots ?? []).map(({ message: { content } }) => content).filter(Boolean)
  const other = message.referenced_message
  const quoted =
    other && other.author.id !== us.id && other.content !== ''
      ? [inReply(namedInReply(nameOf(other.author)), other.content)]
      : []
  return [...quoted, ...others.map(forwarded), own].filter(Boolean).join('\n\n')
}

// Fills in fields that Discord always sends but a compatible server may leave out.

type Lists<Data, Name extends keyof Data> = Omit<Data, Name> & Partial<Pick<Data, Name>>

type Guild = GatewayGuildCreateDispatchData

export const wholeGuild = (
  data: Lists<Guild, 'roles' | 'members' | 'channels' | 'threads'>,
): GatewayGuildCreateDispatchData => {
  const { roles = [], members = [], channels = [], threads = [] } = data
  return { ...data, roles, members, channels, threads } as Guild
}

/** The needed part of a member. */
export const wholeMember = ({ nick, roles }: Partial<Member>): Member => ({ nick: nick ?? null, roles: roles ?? [] })

type MessageLists = Pick<APIMessage, 'mentions' | 'mention_roles' | 'attachments'>

export const wholeMessage = <Data extends object>(
  data: Data & Partial<MessageLists> & { readonly member?: object },
) => {
  const { mentions = [], mention_roles = [], attachments = [] } = data
  const member = data.member ? { member: wholeMember(data.member) } : {}
  return { ...data, mentions, mention_roles, attachments, ...member }
}

export const wholeReady = (data: Lists<GatewayReadyDispatchData, 'guilds' | 'application'>) => {
  // For all current bots, application and user have the same id.
  const { guilds = [], application = { id: data.user.id } } = data
  return { ...data, guilds, application }
}

// Discord's ids: they contain their creation time, and later ones are greater.

const epoch = 1_420_070_400_000

/** The smallest possible id of this time. */
export const idAt = (ms: number): string => (BigInt(Math.max(0, Math.floor(ms) - epoch)) << 22n).toString()

export const madeAt = (id: string): number => Number(BigInt(id) >> 22n) + epoch

export const isId = (text: string): boolean => /^\d{1,20}$/.test(text)

/** Compares as numbers: an id with more digits is later. */
export const compareIds = (a: string, b: string): number =>
  a.length === b.length ? (a < b ? -1 : a > b ? 1 : 0) : a.length - b.length

export const laterOf = (a: string, b: string): string => (compareIds(a, b) < 0 ? b : a)

/** Which of several connections receives the events of a guild. */
export const shardOf = (guild: string, shards: number): number => Number((BigInt(guild) >> 22n) % BigInt(shards))

/** The id just below. */
export const before = (id: string): string => String(BigInt(id) - 1n)
