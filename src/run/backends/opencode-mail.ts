// What a turn of opencode waits for, in the order in which it comes.
import type { Json } from '../stdio.ts'
import type { Reply } from './opencode-http.ts'

export type Incoming =
  | { readonly type: 'event'; readonly event: Json }
  /** It asks something, or a tool begins. */
  | { readonly type: 'asking'; readonly event: Json }
  | { readonly type: 'reply'; readonly reply: Reply }
  | { readonly type: 'broken'; readonly error: unknown }
  /** The reply is there, but the rest of the events does not arrive. */
  | { readonly type: 'late' }
  /** It waits too long before its next request to the model. */
  | { readonly type: 'waited'; readonly until: number; readonly message: string }

export interface Mailbox {
  put(mail: Incoming): void
  next(): Promise<Incoming>
}

export function createMailbox(): Mailbox {
  const waiting: Incoming[] = []
  let wake: (() => void) | null = null
  return {
    put(mail) {
      waiting.push(mail)
      wake?.()
      wake = null
    },
    async next() {
      for (;;) {
        const first = waiting.shift()
        if (first) return first
        await new Promise<void>(resolve => {
          wake = resolve
        })
      }
    },
  }
}
