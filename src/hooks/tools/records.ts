// Facts of the brain and tasks of the board by tools.
import { type BoardTask, type Fact, type Records, type TaskState, taskStates } from '../../base/records.ts'
import type { Tool } from '../../base/tools.ts'
import { done, excerpt, limited, lines, refused, tool } from './tool.ts'

const id = { type: 'string', about: 'its id', required: true } as const
const limit = { type: 'integer', about: 'default 20' } as const
const usual = (wanted: number | undefined) => limited(wanted, 20, 200)
const unknown = (what: string, id: string) => refused(`There is no ${what} ${JSON.stringify(id.slice(0, 80))}.`)

export function brainTools(facts: Records<Fact>): readonly Tool[] {
  const about = {
    type: { type: 'string', about: 'such as preference' },
    category: { type: 'string', about: 'such as work' },
    tags: { type: 'strings', about: 'words' },
  } as const
  return [
    tool({
      name: 'brain_add',
      about: 'Adds a fact to the brain.',
      takes: { content: { type: 'string', about: 'the fact', required: true }, ...about },
      ownerOnly: true,
      async call({ content, type = 'fact', category = '', tags = [] }) {
        const fact = await facts.add({ content, type, category, tags })
        return done(`Added as ${fact.id}.`)
      },
    }),
    tool({
      name: 'brain_search',
      about: 'Facts of the brain that have these words.',
      takes: { query: { type: 'string', about: 'words', required: true }, limit },
      readOnly: true,
      async call({ query, limit }) {
        const words = query.toLowerCase().split(/\s+/).filter(Boolean)
        const found = (await facts.list())
          .map(fact => ({ fact, hits: words.filter(word => textOf(fact).includes(word)).length }))
          .filter(({ hits }) => hits > 0)
          .sort((a, b) => b.hits - a.hits)
        return lines(
          'Nothing was found.',
          found.slice(0, usual(limit)).map(({ fact }) => factLine(fact)),
        )
      },
    }),
    tool({
      name: 'brain_list',
      about: 'The newest facts of the brain.',
      takes: { category: { type: 'string', about: 'only these' }, limit },
      readOnly: true,
      async call({ category, limit }) {
        const all = (await facts.list()).filter(fact => category === undefined || fact.category === category)
        return lines('There are none.', newest(all).slice(0, usual(limit)).map(factLine))
      },
    }),
    tool({
      name: 'brain_update',
      about: 'Changes a fact of the brain.',
      takes: { id, content: { type: 'string', about: 'the fact' }, ...about },
      ownerOnly: true,
      async call({ id, ...change }) {
        const fact = await facts.change(id, given(change))
        return fact ? done(`Changed: ${factLine(fact)}`) : unknown('fact', id)
      },
    }),
    tool({
      name: 'brain_remove',
      about: 'Takes a fact out of the brain.',
      takes: { id },
      ownerOnly: true,
      call: async ({ id }) => ((await facts.remove(id)) ? done('It is gone.') : unknown('fact', id)),
    }),
  ]
}

export function taskTools(tasks: Records<BoardTask>): readonly Tool[] {
  const status = { type: 'string', about: 'its column', oneOf: taskStates } as const
  const stateOf = (status: string | undefined) => taskStates.find(state => state === status)
  return [
    tool({
      name: 'tasks_add',
      about: 'Puts a task on the board.',
      takes: {
        title: { type: 'string', about: 'in one line', required: true },
        notes: { type: 'string', about: 'details' },
        status,
      },
      ownerOnly: true,
      async call({ title, notes = '', status }) {
        const task = await tasks.add({ title, notes, status: stateOf(status) ?? 'todo' })
        return done(`Added as ${task.id}.`)
      },
    }),
    tool({
      name: 'tasks_list',
      about: 'The tasks of the board.',
      takes: { status, limit },
      readOnly: true,
      async call({ status, limit }) {
        const all = (await tasks.list()).filter(task => status === undefined || task.status === status)
        return lines('There are none.', newest(all).slice(0, usual(limit)).map(taskLine))
      },
    }),
    tool({
      name: 'tasks_update',
      about: 'Changes or moves a task.',
      takes: {
        id,
        title: { type: 'string', about: 'in one line' },
        notes: { type: 'string', about: 'details' },
        status,
      },
      ownerOnly: true,
      async call({ id, title, notes, status }) {
        const task = await tasks.change(id, given({ title, notes, status: stateOf(status) }))
        return task ? done(`Changed: ${taskLine(task)}`) : unknown('task', id)
      },
    }),
    tool({
      name: 'tasks_remove',
      about: 'Takes a task off the board.',
      takes: { id },
      ownerOnly: true,
      call: async ({ id }) => ((await tasks.remove(id)) ? done('It is gone.') : unknown('task', id)),
    }),
  ]
}

type Given<T> = { [Name in keyof T]?: Exclude<T[Name], undefined> }

/** Without what was left out. */
const given = <T extends Readonly<Record<string, string | TaskState | readonly string[] | undefined>>>(
  all: T,
): Given<T> => Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as Given<T>

const newest = <One extends { readonly updatedAt: string }>(all: readonly One[]) =>
  all.toSorted((a, b) => (a.updatedAt < b.updatedAt ? 1 : a.updatedAt > b.updatedAt ? -1 : 0))

const textOf = ({ content, type, category, tags }: Fact) => [content, type, category, ...tags].join(' ').toLowerCase()

const factLine = ({ id, content, type, category, tags }: Fact) =>
  `- ${id} (${[type, category, ...tags].filter(Boolean).join(', ')}): ${excerpt(content, 500)}`

const taskLine = ({ id, status, title, notes }: BoardTask) =>
  `- ${id} (${status}): ${excerpt(title, 200)}${notes ? ` — ${excerpt(notes, 200)}` : ''}`
