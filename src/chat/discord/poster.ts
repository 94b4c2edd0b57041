// Posts new messages: each is created exactly once, however often it is retried and whenever the process is killed.

import { createHash } from 'node:crypto'
import type { API } from '@discordjs/core'
import type { RawFile } from '@discordjs/rest'
import { buttonRows, stopButton } from '../../base/buttons.ts'
import type { Button, ChatMemory } from '../../base/chat.ts'
import { excerpt } from '../../base/scrub.ts'
import type { Clock } from '../../base/time.ts'
import { type Doing, endOf, shortened } from '../live-drafts.ts'
import { missed, pageSize } from './catch-up.ts'
import { codes, type Trouble, troubleOf } from './errors.ts'
import { compareIds, idAt, isId, laterOf } from './message.ts'

export interface Body {
  readonly content: string
  readonly files: RawFile[]
  readonly buttons?: readonly Button[]
}

export interface Post {
  readonly channel: string
  /** The message it replies to. */
  readonly about: string | null
  /** The same for every attempt. */
  readonly key: string
  readonly body: Body
  /** It has the button that stops the turn, by which it is found again. */
  readonly draft: boolean
}

export interface Poster {
  /** Resolves with the id of the message. */
  create(post: Post, stop?: { readonly signal?: AbortSignal }): Promise<string>
  /** A draft that Discord never confirmed; null: it does not exist. */
  findDraft(channel: string, nonce: string, about: string): Promise<string | null>
}

type Found = Awaited<ReturnType<API['channels']['getMessages']>>[number]

/** Our post comes soon after the last message we knew, so the search stops after this many. */
const mostLookedAt = 500

/** A fresh copy, because the library's type is mutable. */
export const allowed = () => ({ parse: [...allowedMentions.parse], replied_user: allowedMentions.replied_user })

export function createPoster(api: API, posts: Posts, ourId: () => string | null): Poster {
  const reference = (about: string | null, channel: string) =>
    about === null || about === channel || !isId(about)
      ? {}
      : { message_reference: { message_id: about, fail_if_not_exists: false } }

  /**
   * The message that an earlier attempt created. Discord recognizes the nonce only for minutes; after that, it is one of our messages
   * that is newer than the attempt and belongs to no other post. Without the permission to read the channel, it is posted again.
   */
  async function search(channel: string, nonce: string, { id, after }: EarlierTry, isIt: (one: Found) => boolean) {
    if (id !== null) return id
    try {
      let looked = 0
      const page = (last: string) => api.channels.getMessages(channel, { limit: pageSize, after: last })
      for await (const one of missed(page, after)) {
        const ours = one.author.id === ourId() && !posts.isAnother(channel, nonce, one.id)
        if (ours && isIt(one)) {
          posts.exists(channel, nonce, one.id)
          return one.id
        }
        if (++looked >= mostLookedAt) break
      }
      return null
    } catch (error) {
      if (troubleOf(error).type === 'refused') return null
      throw error
    }
  }

  async function create({ channel, about, key, body, draft }: Post, stop: { readonly signal?: AbortSignal } = {}) {
    const nonce = nonceOf(key)
    const earlier = posts.begin(channel, nonce, about !== null && isId(about) ? about : null)
    const isIt = draft ? isDraftFor(about) : isFinal(about, body.content)
    const there = earlier && (await search(channel, nonce, earlier, isIt))
    if (there) return there
    const message = { ...payloadOf(body), allowed_mentions: allowed(), nonce, enforce_nonce: true }
    try {
      const { id } = await replyOrPost(channel, message, reference(about, channel), stop)
      posts.exists(channel, nonce, id)
      return id
    } catch (error) {
      if (earlier === null && isNo(troubleOf(error))) posts.failed(channel, nonce)
      throw error
    }
  }

  /** A reply may be refused because the message it replies to was deleted or cannot be read. */
  async function replyOrPost(
    channel: string,
    message: Omit<Body, 'buttons'>,
    reply: object,
    stop: { readonly signal?: AbortSignal },
  ) {
    try {
      return await api.channels.createMessage(channel, { ...message, ...reply }, stop)
    } catch (error) {
      const trouble = troubleOf(error)
      const refused = trouble.type === 'refused' && trouble.code !== codes.tooLarge
      if (!refused || Object.keys(reply).length === 0) throw error
      return api.channels.createMessage(channel, message, stop)
    }
  }

  return {
    create,
    async findDraft(channel, nonce, about) {
      const earlier = posts.find(channel, nonce)
      return earlier && search(channel, nonce, earlier, isDraftFor(about))
    },
  }
}

/** Discord has certainly not created the message: it refused, or asked us to wait. After any other error it may exist. */
const isNo = (trouble: Trouble) => trouble.type === 'refused' || (trouble.type === 'passing' && trouble.afterMs > 0)

const repliesTo = ({ message_reference: reference }: Found, about: string | null) =>
  reference?.message_id === undefined || reference.message_id === about

const isFinal = (about: string | null, content: string) => (one: Found) =>
  one.content === content.trim() && !hasStop(one) && repliesTo(one, about)

const isDraftFor = (about: string | null) => (one: Found) => hasStop(one) && repliesTo(one, about)

const hasStop = ({ components = [] }: Found) =>
  components.some(
    row => 'components' in row && row.components.some(one => 'custom_id' in one && one.custom_id === stopButton.id),
  )

/** An earlier attempt at a post: its message, or null if unknown; then the message can only be newer than `after`. */
export interface EarlierTry {
  readonly id: string | null
  readonly after: string
}

export interface Posts {
  /** Called before each attempt. Null: it is the first. `about`: the message it answers, which is older. */
  begin(channel: string, nonce: string, about: string | null): EarlierTry | null
  /** The post exists as this message. */
  exists(channel: string, nonce: string, message: string): void
  /** For messages received over Discord's gateway. Ignores messages that are not ours or not in progress. */
  received(channel: string, nonce: string, message: string): void
  /** Discord has refused it, so it does not exist. */
  failed(channel: string, nonce: string): void
  find(channel: string, nonce: string): EarlierTry | null
  /** Whether a message is, or must be assumed to be, another post. */
  isAnother(channel: string, nonce: string, message: string): boolean
}

interface Journal {
  /** Messages and their nonces, the oldest first. */
  readonly own: readonly (readonly [message: string, nonce: string])[]
  /** Nonces in progress, and the newest message of the channel that we knew before. */
  readonly open: readonly (readonly [nonce: string, after: string])[]
}

const most = { own: 30, open: 30 }
/** In a channel without known messages only the clock tells what is older; it may be off by this much. */
const clockErrorMs = 120_000

export function createPostJournal(memory: ChatMemory, clock: Clock): Posts {
  const nameOf = (channel: string) => `posts:${channel}`
  const load = (channel: string): Journal =>
    JSON.parse(memory.get(nameOf(channel)) ?? '{"own":[],"open":[]}') as Journal
  const store = (channel: string, { own, open }: Journal) =>
    memory.put(nameOf(channel), JSON.stringify({ own: own.slice(-most.own), open: open.slice(-most.open) }))

  function find(channel: string, nonce: string): EarlierTry | null {
    const { own, open } = load(channel)
    const [id] = own.find(([, of]) => of === nonce) ?? []
    if (id !== undefined) return { id, after: id }
    const [, after] = open.find(([of]) => of === nonce) ?? []
    return after === undefined ? null : { id: null, after }
  }

  function exists(channel: string, nonce: string, message: string): void {
    const { own, open } = load(channel)
    store(channel, {
      own: [...own.filter(([id]) => id !== message), [message, nonce]],
      open: open.filter(([of]) => of !== nonce),
    })
  }

  return {
    find,
    exists,
    begin(channel, nonce, about) {
      const earlier = find(channel, nonce)
      if (earlier) return earlier
      const { own, open } = load(channel)
      const known = [...own.map(([id]) => id), ...(about === null ? [] : [about])]
      const after = known.length === 0 ? idAt(clock.now() - clockErrorMs) : known.reduce(laterOf)
      store(channel, { own, open: [...open, [nonce, after]] })
      return null
    },
    received(channel, nonce, message) {
      if (find(channel, nonce)?.id === null) exists(channel, nonce, message)
    },
    failed(channel, nonce) {
      const { own, open } = load(channel)
      store(channel, { own, open: open.filter(([of]) => of !== nonce) })
    },
    isAnother(channel, nonce, message) {
      const { own } = load(channel)
      const [, of] = own.find(([id]) => id === message) ?? []
      if (of !== undefined) return of !== nonce
      // A message older than all we remember may be a forgotten post.
      return own.length >= most.own && own.every(([id]) => compareIds(message, id) < 0)
    },
  }
}

// Renders our texts for Discord: within its limits, without pinging anybody, and with a nonce.

/** Discord counts code points. There are never fewer UTF-16 units, so a text that fits by them fits. */
export const limits = { length: 2000, measure: (text: string): number => text.length }

/** Model output must never ping anybody; only the person who is answered gets a notification. */
export const allowedMentions = { parse: [], replied_user: true }

/** The same for every attempt at a delivery, so that Discord accepts it once. At most 25 characters. */
export const nonceOf = (key: string): string => createHash('sha256').update(key).digest('base64url').slice(0, 24)

const styles = { primary: 1, plain: 2, danger: 4 } as const

/** The rows of buttons under a message. */
export const componentsOf = (buttons: readonly Button[]) =>
  buttonRows(buttons).map(row => ({
    type: 1 as const,
    components: row.map(({ id, label, style }) => ({
      ...{ type: 2 as const, style: styles[style ?? 'plain'], label, custom_id: id },
    })),
  }))

/** Text, files and buttons of a new message. */
export const payloadOf = ({ buttons = [], ...body }: Body) => ({
  ...body,
  ...(buttons.length === 0 ? {} : { components: componentsOf(buttons) }),
})

const statusRoom = 160

/** The end of the text so far, and the current action. Blank: there is nothing to show. */
export function draftOf({ text, label, steps }: Doing): string {
  const shown = endOf(text.trimEnd(), limits.length - statusRoom)
  const others = steps > 1 ? ` (step ${steps})` : ''
  const line = label === null ? '' : `-# ⚙ ${oneLine(label, statusRoom - 30)}${others}`
  return [shown, line].filter(part => part !== '').join('\n')
}

/** The beginning of a text that is sent as a file. */
export function beginningOf(text: string, room = 1500): string {
  return `${shortened(text, room)}\n\n-# The answer has ${text.length} characters; the file contains all of it.`
}

const oneLine = (text: string, most: number): string => excerpt(text.replace(/\s+/g, ' '), most)
