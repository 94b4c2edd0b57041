// The record files: facts in brain.json, tasks in tasks.json, content items in content-items.json. Lenient about what people write there.
import { join } from 'node:path'
import * as v from 'valibot'
import { type BoardTask, type ContentItem, contentStates, type Fact, isDay, taskStates } from '../base/records.ts'
import { createRecords, type RecordsFile, type RecordsParts } from './records.ts'

interface WorkspaceParts extends Pick<RecordsParts<never>, 'newId' | 'now' | 'failed' | 'guard'> {
  /** The workspace. */
  readonly dir: string
}

const words = v.pipe(
  v.string(),
  v.check(text => text.trim() !== ''),
)
const text = (otherwise = '') => v.fallback(v.optional(v.string(), otherwise), otherwise)
const tags = v.fallback(v.optional(v.array(v.string()), []), [])
const marks = { id: v.string(), createdAt: text(), updatedAt: text() }

const fact = v.object({
  ...marks,
  content: words,
  type: text('fact'),
  category: text(),
  tags,
})

const task = v.object({
  ...marks,
  title: words,
  notes: text(),
  status: v.fallback(v.optional(v.picklist(taskStates), 'todo'), 'todo'),
  order: v.fallback(v.optional(v.nullable(v.pipe(v.number(), v.finite())), null), null),
  due: v.fallback(v.optional(v.pipe(v.string(), v.check(isDay)), ''), ''),
})

const contentItem = v.object({
  ...marks,
  title: words,
  url: text(),
  kind: text('article'),
  summary: text(),
  status: v.fallback(v.optional(v.picklist(contentStates), 'new'), 'new'),
  tags,
})

export const createBrain = (parts: WorkspaceParts): RecordsFile<Fact> =>
  createRecords({ ...parts, path: join(parts.dir, 'brain.json'), pauseMs: 300, read: raw => readFact(raw) })

export const createTasks = (parts: WorkspaceParts): RecordsFile<BoardTask> =>
  createRecords({ ...parts, path: join(parts.dir, 'tasks.json'), pauseMs: 300, read: raw => asOne(task, raw) })

export const createContent = (parts: WorkspaceParts): RecordsFile<ContentItem> =>
  createRecords({
    ...parts,
    path: join(parts.dir, 'content-items.json'),
    pauseMs: 300,
    read: raw => asOne(contentItem, raw),
  })

/** Also for code that only reads the file. */
export const readFact = (raw: unknown): Fact | null => asOne(fact, raw)

function asOne<Schema extends v.GenericSchema>(schema: Schema, raw: unknown): v.InferOutput<Schema> | null {
  const result = v.safeParse(schema, raw)
  return result.success ? result.output : null
}
