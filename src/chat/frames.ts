// The wire format of WebChat: frames from clients, validated, and frames to clients.
import * as v from 'valibot'
import { attachmentId, mostAttachments } from '../base/attachments.ts'
import type { PastMessage } from '../base/history.ts'
import type { Request } from '../base/requests.ts'
import { excerpt } from '../base/scrub.ts'

// Half a surrogate pair cannot be stored, so two such ids would become one.
const id = v.pipe(v.string(), v.regex(/^[^\p{Cc}\p{Cs}]{1,128}$/u))

const attachments = v.pipe(
  v.array(v.pipe(v.string(), v.regex(attachmentId))),
  v.maxLength(mostAttachments, `at most ${mostAttachments} attachments`),
)

const clientFrame = v.variant('type', [
  v.object({ type: v.literal('message'), id, text: v.string(), attachments: v.exactOptional(attachments) }),
  v.object({ type: v.literal('edit'), id, text: v.string() }),
  v.object({ type: v.literal('cancel'), id }),
  v.object({ type: v.literal('steer'), id }),
  v.object({ type: v.literal('stop') }),
])

export type ClientFrame = v.InferOutput<typeof clientFrame>

export type ServerFrame =
  | { readonly type: 'hello'; readonly conversation: string }
  | { readonly type: 'accepted'; readonly id: string }
  | { readonly type: 'refused'; readonly id: string | null; readonly reason: string }
  | {
      readonly type: 'said'
      readonly id: string
      readonly text: string
      readonly attachments?: NonNullable<PastMessage['attachments']>
    }
  | { readonly type: 'waiting'; readonly id: string; readonly position: number }
  /** `from`: the text continues the previous draft at this position. */
  | { readonly type: 'draft'; readonly id: string; readonly from?: number; readonly text: string }
  | {
      readonly type: 'action'
      readonly id: string
      readonly label: string
      readonly phase: 'started' | 'ended' | 'failed' | 'notice'
    }
  | {
      readonly type: 'final'
      readonly id: string
      readonly text: string
      readonly ok: boolean
      readonly files?: readonly string[]
    }
  /** An agent asks something, or it was answered. */
  | { readonly type: 'request'; readonly request: Request }
  | {
      readonly type: 'history'
      readonly messages: readonly PastMessage[]
      readonly older: number | null
      /** What was asked in their turns; open and ended ones. */
      readonly requests: readonly Request[]
      /** How much work is stored, by the ids of the messages whose answers have any. */
      readonly work: Readonly<Record<string, number>>
    }

export type Parsed =
  | { readonly ok: true; readonly frame: ClientFrame }
  | { readonly ok: false; readonly id: string | null; readonly reason: string }

export function parseFrame(text: string): Parsed {
  let raw: unknown
  try {
    raw = JSON.parse(text)
  } catch {
    return {
      ok: false,
      id: null,
      reason:
        'The frame is not JSON. Send one JSON object per frame, such as {"type":"message","id":"1","text":"hello"}.',
    }
  }
  const result = v.safeParse(clientFrame, raw)
  if (result.success) return { ok: true, frame: result.output }
  const given = v.safeParse(v.object({ id }), raw)
  return {
    ok: false,
    id: given.success ? given.output.id : null,
    reason: `Invalid frame (${excerpt(result.issues[0].message, 120)}). Known types: message, edit, cancel, steer, stop; an id has 1 to 128 characters.`,
  }
}
