// A chat as the gateway sees it. Capabilities are data, not optional methods.
import type { ActionPhase } from './agent.ts'
import type { EventSource, Place, Sender } from './event.ts'

/** A message of ours on the platform: enough to edit it. */
export interface MessageRef {
  readonly place: Place
  readonly id: string
}

/** The only files that may be sent to somebody who is not the owner: those in their folder, and those given in their conversation. */
export interface FileScope {
  /** Relative to the workspace, without a slash at the end. */
  readonly folder: string
  readonly files: readonly string[]
}

/** A Markdown file that is not in the workspace. */
export interface TextDocument {
  readonly name: string
  readonly text: string
}

export interface Outgoing {
  /** Makes a repeat harmless: the platform (or the adapter) posts each key once. */
  readonly key: string
  /** A draft is best effort and may be lost; notices and finals come from the outbox and must arrive. */
  readonly kind: 'draft' | 'notice' | 'final'
  /** The platform's id of the message this answers; null for a message that answers nothing. */
  readonly about: string | null
  readonly text: string
  readonly ok: boolean
  /** What the agent is doing right now (drafts only). */
  readonly action: { readonly label: string; readonly phase: ActionPhase } | null
  /** Workspace files to send along, if the platform takes files. */
  readonly files?: readonly string[]
  /** Missing: the files were chosen in a turn of the owner. They are checked again when they are read. */
  readonly scope?: FileScope
  /** Sent along as a file. */
  readonly document?: TextDocument
  /** Shown under the text, if the platform has buttons (`limits.buttons`). */
  readonly buttons?: readonly Button[]
  /** The key of an earlier message with buttons, which this one replaces by an edit. If that is gone, it is posted as a new message. */
  readonly replaces?: string
}

/** A button under a message. `buttonLimits` in base/buttons.ts has what all platforms accept. */
export interface Button {
  /** Comes back with a click on it. */
  readonly id: string
  readonly label: string
  /** Missing: an ordinary one. */
  readonly style?: 'primary' | 'danger'
}

/** Somebody has clicked a button of ours, or answered what its first click asked. */
export interface Click {
  readonly button: string
  /** The message with the button. */
  readonly message: MessageRef
  readonly sender: Sender
  readonly name: string
  /** What they wrote after the first click was answered with `ask`; null: they have only clicked. */
  readonly text: string | null
}

export type ClickReply =
  | { readonly type: 'done' }
  /** Only the person who clicked sees it, where the platform has that. */
  | { readonly type: 'note'; readonly text: string }
  /** Asks for a text in a dialog. It comes as a second click on the same button. */
  | { readonly type: 'ask'; readonly title: string; readonly label: string }

export interface ChatLimits {
  /** The longest message, in the platform's own unit. */
  readonly length: number
  measure(markdown: string): number
  /** Minimum time between edits of a draft; null: this platform has no edits. */
  readonly editEveryMs: number | null
  /** A longer text is not split: the chat gets it whole and sends it as a file. */
  readonly fileOver?: number
  /** The chat takes no files, so the text lists the files that belong to it. */
  readonly namesFiles?: true
  /** The chat shows buttons. */
  readonly buttons?: true
}

/** The platform's response to a send. */
export type Posted =
  | { readonly type: 'posted'; readonly ref: MessageRef }
  /** Nobody is connected: the delivery waits in the outbox until the adapter asks for it. */
  | { readonly type: 'absent' }
  /** Try again later (rate limit, outage). */
  | { readonly type: 'try-again'; readonly afterMs: number; readonly why: string }
  /** Never try again (forbidden, gone, malformed). */
  | { readonly type: 'refused'; readonly why: string }

export interface ChatAdapter extends EventSource {
  readonly limits: ChatLimits
  post(place: Place, message: Outgoing, signal: AbortSignal): Promise<Posted>
  edit(ref: MessageRef, message: Outgoing, signal: AbortSignal): Promise<void>
  typing(place: Place, signal: AbortSignal): Promise<void>
}

/** An item of the outbox: one piece of one answer, for one place. */
export interface Delivery {
  readonly place: Place
  readonly kind: 'notice' | 'final'
  readonly about: string | null
  readonly text: string
  readonly ok: boolean
  /** Workspace files that the text links to. */
  readonly files?: readonly string[]
  /** Missing: the files were chosen in a turn of the owner. */
  readonly scope?: FileScope
  /** It answers a command, such as /status, and does not wait behind an answer that cannot be delivered now. */
  readonly command?: true
  readonly document?: TextDocument
  readonly buttons?: readonly Button[]
  /** As in `Outgoing`. */
  readonly replaces?: string
}

/** What a chat remembers across restarts. A kill does not undo a `put`; a power failure may. */
export interface ChatMemory {
  get(name: string): string | null
  /** Null deletes the entry. */
  put(name: string, value: string | null): void
  /** All entries whose name starts with the prefix, latest first. */
  list(prefix: string): readonly { readonly name: string; readonly value: string }[]
}

/** A chat cannot be used as configured; the message says why, and what to do. */
export class ChatUnusable extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ChatUnusable'
  }
}
