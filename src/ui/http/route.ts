// What answers one method on one path.
import type { Admission } from './guard.ts'
import type { Exchange } from './reply.ts'

export interface Route {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** `open`: for everyone. `token`: refused without. `asks`: answers the missing token itself. */
  readonly access: 'open' | 'token' | 'asks'
  /** Asked for under any name, such as that of a tunnel: it proves itself by more than where it comes from. */
  readonly anyHost?: true
  answer(exchange: Exchange, admission: Admission, signal: AbortSignal): Promise<void> | void
}
