// A connection to a page or a program, as far as a chat needs to know it.
import type { RefusalReason } from './event.ts'

export interface Socket {
  /** True: the system has it already, and passes it on even if this process is killed now. */
  send(text: string): boolean
  /** Resolves when the other side has answered a ping sent now, so that it has everything sent before. False: it is gone. */
  reached(): Promise<boolean>
  onText(listener: (text: string) => void): void
  onClose(listener: () => void): void
  close(code: number, reason: string): void
}

/** One message over HTTP, and what became of it. */
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
      /** Called once, with whether the answer left this machine: the outbox keeps what did not. */
      delivered(sent: boolean): void
    }
