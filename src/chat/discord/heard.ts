// What of all that is said on Discord is meant for us, and what was asked.
import type { Attachment, NewEvent, Standing } from '../../base/event.ts'
import { madeAt } from './snowflake.ts'

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

/** As much of Discord's message as matters here. */
export interface MessageSeen {
  readonly id: string
  readonly channel_id: string
  /** Missing in a direct message, and in every message that was fetched instead of heard. */
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

/** Where it was said. */
export interface Spot {
  readonly id: string
  readonly name: string
  /** Null: a direct message. */
  readonly guild: { readonly id: string; readonly name: string } | null
  /** The channel a thread hangs from; null: it is no thread. */
  readonly parent: { readonly id: string; readonly name: string } | null
}

export interface Us {
  readonly id: string
  /** The role that came with the bot, in the guild in question. */
  readonly roles: readonly string[]
}

/** Ordinary messages and replies; the others are Discord's own remarks. */
const spoken: readonly number[] = [0, 19]

/** Bots, programs and we ourselves are not listened to, so that no two of them talk for ever. */
export function isFromPerson({ author, webhook_id, type }: MessageSeen, us: Pick<Us, 'id'>): boolean {
  return (
    author.bot !== true &&
    author.system !== true &&
    webhook_id === undefined &&
    author.id !== us.id &&
    spoken.includes(type)
  )
}

/** `takesPart`: it was said in a thread which we are in. */
export function isForUs(message: MessageSeen, us: Us, direct: boolean, takesPart: boolean): boolean {
  if (!isFromPerson(message, us)) return false
  return isMentioned(message, us) || direct || message.referenced_message?.author.id === us.id || takesPart
}

const isMentioned = ({ mentions, mention_roles }: MessageSeen, us: Us): boolean =>
  mentions.some(({ id }) => id === us.id) || mention_roles.some(role => us.roles.includes(role))

/** The text without the words that only called us; others who are mentioned are called by their names. */
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

export const standingOf = (user: string, roles: readonly string[], spot: Spot): Standing => ({
  chat: 'discord',
  user,
  roles,
  channel: spot.parent?.id ?? spot.id,
  guild: spot.guild?.id ?? null,
  where: whereIs(spot),
})

/** Every message is an event of its own, in the conversation of its channel, thread or direct messages. */
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
}

export function eventOf({ id, text, author, member, spot, conversation, attachments }: Words): NewEvent {
  return {
    key: keyOf(id),
    lane: laneOf(conversation),
    what: {
      kind: 'message',
      id,
      text,
      // Whether it is the owner is for the gate to say.
      author: { id: author.id, name: nameOf(author, member), owner: false },
      ...(attachments.length === 0 ? {} : { attachments }),
    },
    replyTo: { chat: 'discord', conversation },
    source: 'discord',
    standing: { ...standingOf(author.id, member?.roles ?? [], spot), at: madeAt(id) },
  }
}

/** What was asked, with what it was asked about: a forwarded message, or somebody else's to which it is a reply. */
export function wordsOf(message: MessageSeen, us: Us): string {
  const own = promptOf(message, us)
  // A command is one also as a reply.
  if (own.startsWith('/')) return own
  const forwarded = (message.message_snapshots ?? []).map(({ message: { content } }) => content).filter(Boolean)
  const other = message.referenced_message
  const quoted = other && other.author.id !== us.id && other.content !== '' ? [quote(other)] : []
  return [...quoted, ...forwarded.map(text => `[Forwarded message]\n${text}`), own].filter(Boolean).join('\n\n')
}

const quote = ({ author, content }: { readonly author: Person; readonly content: string }): string =>
  `[In reply to ${nameOf(author)}]\n${content.replace(/^/gm, '> ')}`
