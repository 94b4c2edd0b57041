// A chat as the gateway sees it. Abilities are data, not optional methods.
import type { ActionPhase } from './agent.ts'
import type { EventSource, Place } from './event.ts'

/** A message of ours on the platform, enough to edit it. */
export interface MessageRef {
  readonly place: Place
  readonly id: string
}

export interface Outgoing {
  /** Makes a repeat harmless: the platform (or the adapter) posts one key once. */
  readonly key: string
  /** A draft is best effort and may be lost; a notice and a final come from the outbox and may not. */
  readonly kind: 'draft' | 'notice' | 'final'
  /** The platform's id of the message this answers; null when we speak unasked. */
  readonly about: string | null
  readonly text: string
  readonly ok: boolean
  /** What the agent is doing right now (drafts only). */
  readonly action: { readonly label: string; readonly phase: ActionPhase } | null
  /** Files of the workspace that go with it, where the platform takes files. */
  readonly files?: readonly string[]
  /** An earlier try at sending it was cut off or failed: it may have arrived all the same. */
  readonly again?: boolean
}

export interface ChatLimits {
  /** The longest message, by the platform's own measure. */
  readonly length: number
  measure(markdown: string): number
  /** How often a draft may be edited; null: this platform has no edits. */
  readonly editEveryMs: number | null
  /** A text longer than this is not split: the chat takes it whole and sends it as a file. */
  readonly fileOver?: number
  /** It takes no files: which ones belong to a text is said in the text. */
  readonly namesFiles?: true
}

/** What a platform answered to a send. */
export type Posted =
  | { readonly type: 'posted'; readonly ref: MessageRef }
  /** Nobody is there to take it: it waits in the outbox until the adapter asks for it. */
  | { readonly type: 'absent' }
  /** Try again: later (rate limit, outage) … */
  | { readonly type: 'try-again'; readonly afterMs: number; readonly why: string }
  /** … or never (forbidden, gone, malformed). */
  | { readonly type: 'refused'; readonly why: string }

export interface ChatAdapter extends EventSource {
  readonly limits: ChatLimits
  post(place: Place, message: Outgoing, signal: AbortSignal): Promise<Posted>
  edit(ref: MessageRef, message: Outgoing, signal: AbortSignal): Promise<void>
  typing(place: Place, signal: AbortSignal): Promise<void>
}

/** A letter of the outbox: one piece of one answer, on its way to one place. */
export interface Letter {
  readonly place: Place
  readonly kind: 'notice' | 'final'
  readonly about: string | null
  readonly text: string
  readonly ok: boolean
  /** Files of the workspace that the text links to. */
  readonly files?: readonly string[]
}

/** The event that a letter or a draft of this key tells of; for what an agent said on the way (`#said-…#final`), that saying. */
export const eventOfLetter = (key: string): string => key.replace(/#(?:draft|final(?:-\d+)?|notice-[^#]*)$/, '')

/** What an agent says in the middle of a turn is like an event of its own: each saying of it once. */
export const sayingKey = (eventKey: string, mark: string): string => `${eventKey}#said-${mark}`
export const eventOfSaying = (key: string): string => key.replace(/#said-[^#]*$/, '')

/** What a chat remembers over a restart. A kill does not undo what was put, a power cut may. */
export interface ChatMemory {
  get(name: string): string | null
  /** Null: forgets it. */
  put(name: string, value: string | null): void
  /** All whose name begins so, the latest first. */
  list(prefix: string): readonly { readonly name: string; readonly value: string }[]
}

/** A chat cannot be used as it is set up; the message says why, and what to do. */
export class ChatUnusable extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ChatUnusable'
  }
}
