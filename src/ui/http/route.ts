// The handler of one method on one path.
import type { Admission } from './guard.ts'
import type { Exchange } from './reply.ts'

export interface Route {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** `open`: for everyone. `token`: requires the token. `asks`: handles a missing token itself. */
  readonly access: 'open' | 'token' | 'asks'
  /** Accepts any Host, such as that of a tunnel, because the request authenticates itself in another way. */
  readonly anyHost?: true
  answer(exchange: Exchange, admission: Admission, signal: AbortSignal): Promise<void> | void
}
