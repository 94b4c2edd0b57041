// What the gateway says over /ws, parsed at the edge. The wire itself is fixed (spec: Mission Control and WebChat).
import * as v from 'valibot'

const id = v.string()

const frameSchema = v.variant('type', [
  v.object({ type: v.literal('hello'), conversation: v.string() }),
  v.object({ type: v.literal('accepted'), id }),
  v.object({ type: v.literal('refused'), id, reason: v.fallback(v.string(), 'no reason given') }),
  v.object({ type: v.literal('waiting'), id, position: v.number() }),
  v.object({ type: v.literal('draft'), id, text: v.string() }),
  v.object({ type: v.literal('action'), id, label: v.string(), phase: v.string() }),
  // Words spoken unasked answer no message of ours; whatever their id is, they are not dropped.
  v.object({ type: v.literal('final'), id: v.fallback(v.string(), ''), text: v.string(), ok: v.boolean() }),
  v.object({
    type: v.literal('history'),
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

/** Null: not for us. A newer gateway may say more than we know, so that is no error. */
export function readFrame(line: unknown): Frame | null {
  if (typeof line !== 'string') return null
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), frameSchema), line)
  return parsed.success ? parsed.output : null
}
