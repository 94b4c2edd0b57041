// The request bodies of the owner's records. Loaded with the first such request.
import type { IncomingMessage } from 'node:http'
import * as v from 'valibot'
import {
  type BoardTask,
  type ContentItem,
  contentStates,
  type Fact,
  type Fields,
  isDay,
  taskStates,
} from '../../base/records.ts'
import { type Body, readJson } from './body.ts'

interface Change<One> {
  readonly change: Partial<One>
  /** As the client last saw it. */
  readonly was?: Partial<One>
}

/** Each rejects only when the connection breaks. */
export interface RecordBodies<One> {
  readNew(request: IncomingMessage, limit: number): Promise<Body<One>>
  readChange(request: IncomingMessage, limit: number): Promise<Body<Change<One>>>
}

const text = (most: number) =>
  v.pipe(v.string('must be a string'), v.maxLength(most, `must have at most ${most} characters`))
const words = (most: number) =>
  v.pipe(
    text(most),
    v.check(text => text.trim() !== '', 'must not be empty'),
  )
const oneOf = <const T extends readonly string[]>(all: T) => v.picklist(all, `must be one of ${all.join(', ')}`)
const long = text(10_000)
const short = text(100)
const tags = v.pipe(v.array(words(100), 'must be a list'), v.maxLength(50, 'must be at most 50'))
const order = v.nullable(v.pipe(v.number('must be a number'), v.finite('must be a number')))
const aDay = 'must be a day such as 2026-11-16, or empty'
const due = v.pipe(v.string(aDay), v.check(isDay, aDay))

/** A field without a value in `usual` is required. */
const bodiesOf = <One extends object>(
  fields: { readonly [Name in keyof One]: v.GenericSchema<unknown, One[Name]> },
  usual: Partial<One>,
): RecordBodies<One> => {
  const each = Object.entries(fields) as [keyof One & string, v.GenericSchema][]
  const known = <T>(schemas: (readonly [string, v.GenericSchema])[]) =>
    // Unknown fields are refused, since they would be lost silently.
    v.strictObject(Object.fromEntries(schemas), ({ expected }) =>
      expected === 'never' ? 'is not known here' : 'must be an object',
    ) as unknown as v.GenericSchema<unknown, T>
  const whole = known<One>(each.map(([name, one]) => [name, name in usual ? v.optional(one, usual[name]) : one]))
  const change = v.object({
    change: v.pipe(
      known<Partial<One>>(each.map(([name, one]) => [name, v.exactOptional(one)])),
      v.check(given => Object.keys(given).length > 0, 'must name at least one field'),
    ),
    was: v.exactOptional(known<Partial<One>>(each.map(([name]) => [name, v.exactOptional(v.unknown())]))),
  })
  const names = each.map(([name]) => `"${name}":…`).join(',')
  return {
    readNew: (request, limit) => readJson(request, limit, whole, `{${names}}`),
    readChange: (request, limit) => readJson(request, limit, change, `{"change":{${names}},"was":{…}}`),
  }
}

export const factBodies = bodiesOf<Fields<Fact>>(
  { content: words(10_000), type: short, category: short, tags },
  { type: 'fact', category: '', tags: [] },
)

export const taskBodies = bodiesOf<Fields<BoardTask>>(
  { title: words(500), notes: long, status: oneOf(taskStates), order, due },
  { notes: '', status: 'todo', order: null, due: '' },
)

export const contentBodies = bodiesOf<Fields<ContentItem>>(
  { title: words(500), url: text(2000), kind: short, summary: long, status: oneOf(contentStates), tags },
  { url: '', kind: 'article', summary: '', status: 'new', tags: [] },
)
