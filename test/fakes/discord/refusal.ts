// Discord's error responses: status, code and the shape of "Invalid Form Body".
import type { Json } from './state.ts'

export class Refusal extends Error {
  readonly status: number
  readonly body: Json
  readonly headers: Readonly<Record<string, string>>

  constructor(status: number, body: Json, headers: Readonly<Record<string, string>> = {}) {
    super(String(body.message))
    this.status = status
    this.body = body
    this.headers = headers
  }
}

const known = {
  0: [401, '401: Unauthorized'],
  10003: [404, 'Unknown Channel'],
  10004: [404, 'Unknown Guild'],
  10007: [404, 'Unknown Member'],
  10008: [404, 'Unknown Message'],
  10013: [404, 'Unknown User'],
  10015: [404, 'Unknown Webhook'],
  10062: [404, 'Unknown interaction'],
  30034: [400, 'Max number of daily application command creates has been reached (200)'],
  40005: [413, 'Request entity too large'],
  40060: [400, 'Interaction has already been acknowledged.'],
  50001: [403, 'Missing Access'],
  50003: [403, 'Cannot execute action on a DM channel'],
  50005: [403, 'Cannot edit a message authored by another user'],
  50006: [400, 'Cannot send an empty message'],
  50007: [403, 'Cannot send messages to this user'],
  50013: [403, 'Missing Permissions'],
  50021: [403, 'Cannot execute action on a system message'],
  50024: [400, 'Cannot execute action on this channel type'],
  50027: [401, 'Invalid Webhook Token'],
  50033: [400, 'Invalid Recipient(s)'],
  50041: [400, 'Invalid API version provided'],
  50083: [400, 'Thread is archived'],
  50109: [400, 'The request body contains invalid JSON.'],
  160002: [400, 'Cannot reply without permission to read message history'],
  160004: [400, 'A thread has already been created for this message'],
} as const satisfies Record<number, readonly [number, string]>

export const refusal = (code: keyof typeof known): Refusal => {
  const [status, message] = known[code]
  return new Refusal(status, { message, code })
}

/** Seconds in the body are exact, those in the header rounded up, as Discord's are. */
export const tooFast = (
  afterMs: number,
  scope: 'user' | 'global' | 'shared',
  headers: Readonly<Record<string, string>> = {},
): Refusal => {
  const seconds = Math.max(afterMs, 1) / 1000
  return new Refusal(
    429,
    { message: 'You are being rate limited.', retry_after: seconds, global: scope === 'global' },
    {
      'Retry-After': String(Math.ceil(seconds)),
      'X-RateLimit-Scope': scope,
      ...(scope === 'global' ? { 'X-RateLimit-Global': 'true' } : {}),
      ...headers,
    },
  )
}

/** Collects the errors of a body, to report them all at once. */
export const openForm = () => {
  const errors: Json = {}
  const add = (path: string, code: string, message: string): void => {
    let node = errors
    for (const step of path.split('.')) {
      node[step] ??= {}
      node = node[step] as Json
    }
    node._errors = [...((node._errors as Json[] | undefined) ?? []), { code, message }]
  }
  return {
    add,
    length(path: string, value: unknown, least: number, most: number): void {
      if (typeof value !== 'string') {
        add(path, value === undefined ? 'BASE_TYPE_REQUIRED' : 'STRING_TYPE_CONVERT', 'This field is required')
        return
      }
      const length = [...value].length
      if (length >= least && length <= most) return
      if (least > 0) add(path, 'BASE_TYPE_BAD_LENGTH', `Must be between ${least} and ${most} in length.`)
      else add(path, 'BASE_TYPE_MAX_LENGTH', `Must be ${most} or fewer in length.`)
    },
    count(path: string, value: readonly unknown[], most: number): void {
      if (value.length > most) add(path, 'BASE_TYPE_MAX_LENGTH', `Must be ${most} or fewer in length.`)
    },
    done(): void {
      if (Object.keys(errors).length > 0) {
        throw new Refusal(400, { message: 'Invalid Form Body', code: 50035, errors })
      }
    },
  }
}

export type Form = ReturnType<typeof openForm>
