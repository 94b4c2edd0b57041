// The frames of the gateway over /ws, parsed at the edge. The wire format itself is fixed (spec: Mission Control and WebChat).
import * as v from 'valibot'
import { requestSchema } from '../requests.ts'

const id = v.string()

const frameSchema = v.variant('type', [
  v.object({ type: v.literal('hello'), conversation: v.string() }),
  v.object({ type: v.literal('accepted'), id }),
  v.object({ type: v.literal('refused'), id, reason: v.fallback(v.string(), 'no reason given') }),
  v.object({ type: v.literal('waiting'), id, position: v.number() }),
  v.object({ type: v.literal('draft'), id, from: v.exactOptional(v.number()), text: v.string() }),
  v.object({ type: v.literal('action'), id, label: v.string(), phase: v.string() }),
  // Unprompted messages answer no message of ours; they are kept whatever their id is.
  v.object({ type: v.literal('final'), id: v.fallback(v.string(), ''), text: v.string(), ok: v.boolean() }),
  v.object({ type: v.literal('request'), request: requestSchema }),
  v.object({
    type: v.literal('history'),
    /** Of an older gateway, or with a kind that we do not know: none. */
    requests: v.fallback(v.array(requestSchema), []),
    messages: v.array(
      v.object({
        id: v.fallback(v.string(), ''),
        role: v.fallback(v.string(), ''),
        text: v.fallback(v.string(), ''),
        state: v.fallback(v.string(), ''),
      }),
    ),
  }),
])

export type Frame = v.InferOutput<typeof frameSchema>

/** Null if it is not for us. A newer gateway may send more than we know, so that is no error. */
export function readFrame(line: unknown): Frame | null {
  if (typeof line !== 'string') return null
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), frameSchema), line)
  return parsed.success ? parsed.output : null
}

/** For one connection: a draft may carry only what is new; restores the whole text. */
export function wholeDrafts(): (frame: Frame) => Frame {
  const texts = new Map<string, string>()
  return frame => {
    if (frame.type === 'final') texts.delete(frame.id)
    if (frame.type !== 'draft') return frame
    const { id, from = 0 } = frame
    const text = (texts.get(id) ?? '').slice(0, from) + frame.text
    texts.set(id, text)
    return { type: 'draft', id, text }
  }
}
