// A connection to a page or a program, as much of it as a chat needs.
import type { RefusalReason } from './event.ts'

export interface Socket {
  /** True: the operating system has it and will send it even if this process is killed now. */
  send(text: string): boolean
  /** Sends a ping and resolves when the other side answers, so that it has everything sent before. False: the connection is gone. */
  reached(): Promise<boolean>
  onText(listener: (text: string) => void): void
  onClose(listener: () => void): void
  close(code: number, reason: string): void
}

/** How a client wants to receive updates. */
export interface Connected {
  /** `delta`: only the new part of a draft. */
  readonly drafts: 'whole' | 'delta'
}

/** One message over HTTP, and its outcome. */
export interface NewMessage {
  readonly conversation: string
  readonly text: string
  readonly id: string
  /** Ids of files that were uploaded before. */
  readonly attachments?: readonly string[]
}

export type MessageReply =
  | { readonly type: 'accepted'; readonly id: string; readonly conversation: string; readonly position: number }
  | { readonly type: 'refused'; readonly id: string; readonly reason: string; readonly why: RefusalReason }
  | {
      readonly type: 'final'
      readonly id: string
      readonly text: string
      readonly ok: boolean
      readonly files?: readonly string[]
      /** Called once with whether the answer was sent; if it was not, the outbox keeps it. */
      delivered(sent: boolean): void
    }
