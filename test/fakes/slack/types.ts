// What a test sees of the loopback Slack: its world, what people do in it, what the app did, and what can be broken.

export interface User {
  readonly id: string
  readonly name: string
  readonly bot: boolean
}

export interface Channel {
  readonly id: string
  readonly name: string
  readonly kind: 'channel' | 'im'
}

export interface FileGiven {
  readonly name: string
  readonly bytes: Uint8Array | string
  readonly type?: string
}

export interface StoredFile {
  readonly id: string
  readonly name: string
  readonly type: string
  readonly bytes: Buffer
}

export interface Metadata {
  readonly event_type: string
  readonly event_payload: Readonly<Record<string, unknown>>
}

export interface StoredMessage {
  readonly channel: string
  readonly ts: string
  /** The root of its thread; null: it is not a reply. */
  readonly thread: string | null
  readonly user: string
  readonly text: string
  readonly blocks: readonly Readonly<Record<string, unknown>>[]
  readonly metadata: Metadata | null
  readonly files: readonly StoredFile[]
  /** What it said before, oldest first. */
  readonly history: readonly string[]
  readonly editedAt: number | null
  readonly deleted: boolean
  readonly streaming: boolean
  /** When Slack had it. */
  readonly at: number
}

/** Seen by one person only, and gone when the window is reloaded. */
export interface Ephemeral {
  readonly channel: string
  readonly thread: string | null
  readonly user: string
  readonly text: string
}

/** What a person has open to write in. */
export interface Dialog {
  readonly id: string
  readonly user: string
  readonly callback: string
  readonly metadata: string
  readonly view: unknown
}

export interface SayOptions {
  /** Puts `<@bot>` in front. */
  readonly mention?: boolean
  /** The root of the thread. */
  readonly thread?: string
  readonly files?: readonly FileGiven[]
  /** From a bot. */
  readonly bot?: boolean
  readonly subtype?: string
}

/** A command or button, and the answers at its address. */
export interface Asked {
  readonly responses: readonly { readonly text: string; readonly ephemeral: boolean }[]
}

export interface RequestSeen {
  readonly method: string
  readonly args: Readonly<Record<string, unknown>>
  readonly at: number
  /** The error in the answer; null: it was ok. */
  error: string | null
}

export interface Failure {
  /** How many requests it befalls; 1. */
  readonly times?: number
  /** 502. */
  readonly status?: number
  /** An error in an ordinary answer instead. */
  readonly error?: string
  /** Do as asked, and fail only then. */
  readonly storeFirst?: boolean
  /** Seconds, for a 429. */
  readonly retryAfter?: number
  /** No answer: the connection is reset. */
  readonly cut?: boolean
}

export interface SlackOptions {
  readonly port?: number
  /** How long an envelope may wait for its confirmation; 3000. */
  readonly ackMs?: number
  /** Most messages on a page; 200. */
  readonly page?: number
  /** Methods that this server does not have. */
  readonly without?: readonly string[]
  /** Every envelope comes twice. */
  readonly repeats?: boolean
  now?(): number
}
