// The request bodies of the owner's admin API. Loaded with the first such request.
import type { IncomingMessage } from 'node:http'
import * as v from 'valibot'
import { ruleScopes } from '../../base/requests.ts'
import { readJson } from './body.ts'

const text = (most: number) =>
  v.pipe(
    v.string('must be a string'),
    v.minLength(1, 'must not be empty'),
    v.maxLength(most, `must have at most ${most} characters`),
  )
const perhaps = (most: number) => v.exactOptional(v.nullable(text(most)))
const name = text(200)
const id = v.pipe(
  v.number('must be a number'),
  v.integer('must be a whole number'),
  v.minValue(1, 'must be 1 or more'),
  v.maxValue(Number.MAX_SAFE_INTEGER, 'is too large'),
)

const onlyOneOf = <T extends object>(names: readonly (keyof T & string)[]) =>
  v.check<T, string>(
    order => names.filter(one => order[one] !== undefined).length === 1,
    `needs one of ${names.map(one => `"${one}"`).join(', ')}`,
  )

const newJob = v.object(
  {
    name,
    schedule: text(500),
    instruction: text(50_000),
    zone: perhaps(100),
    channel: perhaps(200),
    model: perhaps(200),
    missed: v.exactOptional(v.picklist(['skip', 'once'], 'must be "skip" or "once"')),
    skipIf: perhaps(2000),
  },
  'must be an object',
)

const jobOrder = v.pipe(
  v.object({
    add: v.optional(newJob),
    pause: v.optional(name),
    paused: v.optional(v.boolean('must be true or false')),
    remove: v.optional(name),
    run: v.optional(name),
  }),
  onlyOneOf(['add', 'pause', 'remove', 'run']),
)

const clear = v.object({ clear: text(300) })

const writtenRule = v.object(
  {
    list: v.picklist(['allow', 'ask', 'deny'], 'must be "allow", "ask" or "deny"'),
    rule: text(2000),
    conversation: perhaps(300),
    project: perhaps(4000),
  },
  'must be an object',
)
const ruleOrder = v.pipe(
  v.object({ add: v.optional(writtenRule), remove: v.optional(writtenRule) }),
  onlyOneOf(['add', 'remove']),
)

const stop = v.object({ stop: text(100) })

const revoke = v.object({ revoke: text(100) })

const memoryOrder = v.pipe(
  v.object({
    sync: v.optional(v.literal(true, 'must be true')),
    undo: v.optional(v.nullable(id)),
    approve: v.optional(id),
    deny: v.optional(id),
  }),
  onlyOneOf(['sync', 'undo', 'approve', 'deny']),
)

const decision = v.variant(
  'allow',
  [
    v.strictObject({
      id,
      allow: v.literal(true),
      always: v.exactOptional(v.picklist(ruleScopes, `must be one of ${ruleScopes.join(', ')}`)),
      answers: v.exactOptional(v.record(v.string(), text(10_000), 'must be an object of answers by their questions')),
    }),
    v.strictObject({
      id,
      allow: v.literal(false),
      message: v.exactOptional(v.pipe(v.string('must be a string'), v.maxLength(10_000, 'is too long'))),
    }),
  ],
  'must be true or false',
)

const settings = v.object({
  set: v.record(v.string(), v.unknown(), 'must be an object of values by their keys'),
})

const fileOrder = v.object({
  name: text(200),
  text: v.nullable(v.string('must be a string, or null to remove the file')),
  version: v.nullable(v.pipe(v.string('must be a string or null'), v.maxLength(200, 'is no version'))),
})

/** Each rejects only when the connection breaks. */
export const readJobOrder = (request: IncomingMessage, limit: number) =>
  readJson(
    request,
    limit,
    jobOrder,
    '{"add":{"name":"…","schedule":"…","instruction":"…"}}, {"pause":"NAME","paused":true}, {"remove":"NAME"} or {"run":"NAME"}',
  )

export const readClear = (request: IncomingMessage, limit: number) =>
  readJson(request, limit, clear, '{"clear":"CONVERSATION"}, {"clear":"stale"} or {"clear":"all"}')

export const readMemoryOrder = (request: IncomingMessage, limit: number) =>
  readJson(request, limit, memoryOrder, '{"sync":true}, {"undo":ID or null}, {"approve":ID} or {"deny":ID}')

export const readDecision = (request: IncomingMessage, limit: number) =>
  readJson(
    request,
    limit,
    decision,
    '{"id":ID,"allow":true}, with "always":"conversation", "project" or "everywhere", or {"id":ID,"allow":false,"message":"why"}',
  )

export const readRuleOrder = (request: IncomingMessage, limit: number) =>
  readJson(
    request,
    limit,
    ruleOrder,
    '{"add":{"list":"allow","rule":"Bash(git status:*)"}}, with "conversation" or "project", or {"remove":{…}}',
  )

export const readStop = (request: IncomingMessage, limit: number) => readJson(request, limit, stop, '{"stop":"ID"}')

export const readRevoke = (request: IncomingMessage, limit: number) =>
  readJson(request, limit, revoke, '{"revoke":"ID"} or {"revoke":"all"}')

export const readFileOrder = (request: IncomingMessage, limit: number) =>
  readJson(request, limit, fileOrder, '{"name":"memory.md","text":"…","version":"… as it was read, or null"}')

export const readSettings = (request: IncomingMessage, limit: number) =>
  readJson(request, limit, settings, '{"set":{"KEY":VALUE or null}}')
