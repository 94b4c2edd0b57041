// What tests see of the loopback Telegram.

export interface Person {
  readonly id: number
  readonly name: string
}

export interface Chat {
  id: number
  readonly type: 'private' | 'group' | 'supergroup'
  readonly title: string
  readonly forum: boolean
}

export interface Entity {
  readonly type: string
  readonly offset: number
  readonly length: number
  readonly url?: string
  readonly language?: string
  readonly user?: { readonly id: number }
}

export interface StoredMessage {
  readonly id: number
  readonly chat: number
  readonly from: number
  readonly topic: number | null
  readonly date: number
  text: string
  entities: readonly Entity[]
  readonly replyTo: number | null
  /** The data of its buttons. */
  buttons: readonly string[]
  /** Opens the field for a reply. */
  readonly forcesReply?: boolean
  readonly kind: 'text' | 'photo' | 'document' | 'service'
  readonly file: { readonly name: string; readonly bytes: number } | null
  /** Every text it had. */
  readonly history: string[]
  readonly silent: boolean
}

export interface FileGiven {
  readonly kind: 'photo' | 'document' | 'voice'
  readonly name?: string
  readonly bytes: string
  /** As Telegram tells it; by default the real one. */
  readonly size?: number
}

export interface SayOptions {
  readonly topic?: number
  readonly replyTo?: { readonly id: number }
  readonly mention?: boolean
  readonly files?: readonly FileGiven[]
  readonly date?: number
}

export interface Failure {
  /** By default 500. */
  readonly status?: number
  readonly description?: string
  readonly retryAfter?: number
  /** What was asked is done nevertheless. */
  readonly storeFirst?: boolean
  /** The connection is cut instead of an answer. */
  readonly cut?: boolean
  readonly times?: number
}

export interface RequestSeen {
  readonly method: string
  readonly payload: Readonly<Record<string, unknown>>
  /** By `performance.now()`. */
  readonly at: number
}

export interface TelegramOptions {
  /** As an older server, which does not know sendMessageDraft. */
  readonly noDrafts?: boolean
  /** The limits are not enforced. */
  readonly unlimited?: boolean
  /** Answers entities with 400, whatever they are. */
  readonly noEntities?: boolean
}
