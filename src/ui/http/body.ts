// Reads the body of a POST: limited in size, then parsed by a schema. Loaded with the first such request.
import type { IncomingMessage } from 'node:http'
import * as v from 'valibot'
import { attachmentId, mostAttachments } from '../../base/attachments.ts'
import { readUpTo } from './bytes.ts'
import { conversationName } from './conversation-name.ts'

export type Body<T> =
  | { readonly type: 'good'; readonly value: T }
  | { readonly type: 'unusable'; readonly status: 400 | 413; readonly why: string }

const message = v.object({
  text: v.string('must be a string'),
  id: v.optional(
    v.pipe(v.string('must be a string'), v.regex(/^[^\p{Cc}\p{Cs}]{1,128}$/u, 'must have 1 to 128 characters')),
  ),
  conversation: v.optional(
    v.pipe(v.string('must be a string'), v.regex(conversationName, 'must match [A-Za-z0-9._-]{1,64}')),
  ),
  attachments: v.optional(
    v.pipe(
      v.array(
        v.pipe(v.string('must be a string'), v.regex(attachmentId, 'must be the id of an attachment')),
        'must be a list',
      ),
      v.maxLength(mostAttachments, `must have at most ${mostAttachments} entries`),
    ),
  ),
})

const target = v.pipe(v.string('must be a string'), v.maxLength(200, 'must have at most 200 characters'))
const decision = v.pipe(
  v.object({
    approve: v.optional(target),
    owner: v.optional(v.boolean('must be true or false'), false),
    deny: v.optional(target),
  }),
  v.check(({ approve, deny }) => (approve === undefined) !== (deny === undefined), 'needs "approve" or "deny"'),
)

/** Rejects only when the connection breaks. */
export const readMessage = (request: IncomingMessage, limit: number) =>
  readJson(request, limit, message, '{"text":"…","id":"…","conversation":"…"}')

export const readDecision = (request: IncomingMessage, limit: number) =>
  readJson(request, limit, decision, '{"approve":"CODE","owner":false} or {"deny":"CODE"}')

/** The tool validates its own arguments. */
export const readCall = (request: IncomingMessage, limit: number) =>
  readJson(request, limit, v.object({ arguments: v.optional(v.unknown()) }), '{"arguments":{…}}')

export const readJson = async <T>(
  request: IncomingMessage,
  limit: number,
  schema: v.GenericSchema<unknown, T>,
  expected: string,
): Promise<Body<T>> => {
  const bytes = await readUpTo(request, limit)
  if (bytes === 'too-long') return { type: 'unusable', status: 413, why: `The body is longer than ${limit} bytes.` }
  let json: unknown
  try {
    json = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    return { type: 'unusable', status: 400, why: `The body is not JSON. Expected ${expected}.` }
  }
  const parsed = v.safeParse(schema, json)
  if (parsed.success) return { type: 'good', value: parsed.output }
  return { type: 'unusable', status: 400, why: parsed.issues.map(inWords).join('; ') }
}

const inWords = (issue: v.BaseIssue<unknown>): string => {
  const field = v.getDotPath(issue)
  if (field === null) return issue.kind === 'schema' ? 'The body must be a JSON object.' : `The body ${issue.message}.`
  return issue.received === 'undefined' ? `"${field}" is missing` : `"${field}" ${issue.message}`
}
