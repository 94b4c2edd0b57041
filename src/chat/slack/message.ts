// Messages as Slack sends them, which of them are meant for the bot, and the events they become.
import type { Attachment, NewEvent, Sender } from '../../base/event.ts'
import { timeOf } from './timestamp.ts'

export interface FileSeen {
  readonly id: string
  readonly name?: string | null
  readonly mimetype?: string
  readonly size?: number
  readonly mode?: string
  readonly url_private?: string
  readonly url_private_download?: string
}

/** The part of a Slack message that we use. */
export interface MessageSeen {
  readonly channel: string
  readonly ts: string
  readonly thread_ts?: string
  readonly subtype?: string
  readonly user?: string
  readonly bot_id?: string
  readonly text?: string
  readonly team?: string
  /** The workspace of an author from outside. */
  readonly user_team?: string
  readonly parent_user_id?: string
  readonly files?: readonly FileSeen[]
  readonly attachments?: readonly { readonly is_share?: boolean; readonly text?: string }[]
  readonly edited?: object
  readonly reply_count?: number
  readonly latest_reply?: string
  readonly metadata?: { readonly event_type: string; readonly event_payload: Readonly<Record<string, unknown>> }
}

export interface Self {
  /** Of the bot user. */
  readonly id: string
  readonly bot: string
  readonly name: string
  readonly team: string
  readonly teamName: string
}

/** Where a message was written. */
export interface Spot {
  readonly channel: string
  /** Null: a direct message. */
  readonly name: string | null
  readonly thread: string | null
}

const fromPeople: readonly (string | undefined)[] = [undefined, 'file_share', 'thread_broadcast', 'me_message']

/** Ignores bots, notices of Slack and our own messages, so that no two bots talk to each other for ever. */
export const isFromPerson = ({ user, bot_id, subtype }: MessageSeen, self: Pick<Self, 'id'>): boolean =>
  user !== undefined && bot_id === undefined && user !== self.id && user !== 'USLACKBOT' && fromPeople.includes(subtype)

export const isMentioned = ({ text = '' }: MessageSeen, { id }: Pick<Self, 'id'>): boolean =>
  text.includes(`<@${id}>`) || text.includes(`<@${id}|`)

/** The thread of a reply; null: it is not in a thread. */
export const threadOf = ({ thread_ts, ts }: Pick<MessageSeen, 'thread_ts' | 'ts'>): string | null =>
  thread_ts === undefined || thread_ts === ts ? null : thread_ts

/** Direct messages with one person; also the id of such a channel tells. */
export const isDirect = (channel: string): boolean => channel.startsWith('D')

export const idOf = (channel: string, ts: string): string => `${channel}:${ts}`
export const keyOf = (id: string): string => `slack:${id}`
export const conversationOf = (channel: string, thread: string | null): string =>
  thread === null ? channel : `${channel}:${thread}`

/** The opposite: where to post. */
export function targetOf(conversation: string): { readonly channel: string; readonly thread: string | null } {
  const at = conversation.indexOf(':')
  if (at < 0) return { channel: conversation, thread: null }
  return { channel: conversation.slice(0, at), thread: conversation.slice(at + 1) }
}

export interface Names {
  user(id: string): Promise<string>
}

/** What people typed: names instead of ids, without mentions of the bot and without Slack's escapes. */
export async function promptOf(text: string, self: Pick<Self, 'id'>, names: Names): Promise<string> {
  const ids = new Set([...text.matchAll(/<@([A-Z0-9]+)(?:\|[^<>]*)?>/g)].map(([, id = '']) => id))
  const people = new Map<string, string>()
  for (const id of ids) if (id !== self.id) people.set(id, await names.user(id))
  const plain = text.replace(/<([^<>\n]*)>/g, (_, inner: string) => spelledOut(inner, self.id, people))
  return plain.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&').trim()
}

function spelledOut(inner: string, us: string, people: ReadonlyMap<string, string>): string {
  const [target = '', label] = inner.split('|', 2)
  if (target.startsWith('@')) return target === `@${us}` ? '' : `@${people.get(target.slice(1)) ?? label ?? target}`
  if (target.startsWith('#')) return `#${label ?? target.slice(1)}`
  if (target.startsWith('!')) return label ?? `@${target.slice(1)}`
  const address = target.replace(/^mailto:/, '')
  return label === undefined || label === '' || label === address ? address : `${label} (${address})`
}

export const whereIs = ({ name, thread }: Spot, teamName: string): string => {
  const place = name === null ? 'a direct message' : `#${name} of ${teamName}`
  return thread === null ? place : `a thread in ${place}`
}

export const senderOf = (user: string, team: string, spot: Spot, self: Pick<Self, 'teamName'>): Sender => ({
  chat: 'slack',
  user,
  roles: [],
  channel: spot.channel,
  guild: spot.name === null ? null : team,
  where: whereIs(spot, self.teamName),
})

export interface Words {
  readonly id: string
  readonly text: string
  readonly author: { readonly id: string; readonly name: string }
  readonly sender: Sender
  readonly conversation: string
  readonly attachments: readonly Attachment[]
  /** When it was written; null: just now. */
  readonly ts: string | null
  readonly missed: boolean
}

export function eventOf({ id, text, author, sender, conversation, attachments, ts, missed }: Words): NewEvent {
  return {
    key: keyOf(id),
    lane: `slack:${conversation}`,
    what: {
      kind: 'message',
      ...{ id, text },
      // The gate decides who is the owner.
      author: { ...author, owner: false },
      ...(attachments.length === 0 ? {} : { attachments }),
    },
    replyTo: { chat: 'slack', conversation },
    source: 'slack',
    sender: ts === null ? sender : { ...sender, at: timeOf(ts) },
    ...(missed ? { missed } : {}),
  }
}
