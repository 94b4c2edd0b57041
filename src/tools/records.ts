// Tools for the facts of the brain, the tasks of the board and the content items of Content Intel.
import {
  type BoardTask,
  type ContentItem,
  type ContentState,
  contentStates,
  type Fact,
  type Fields,
  isDay,
  type Records,
  type TaskState,
  taskStates,
} from '../base/records.ts'
import type { Caller, Tool, ToolAnswer } from '../base/tools.ts'
import { done, excerpt, limited, lines, refused, tool } from './tool.ts'

/** A description is left empty if the name says it all: the whole list is part of every turn. */
const id = { type: 'string', about: '', required: true } as const
const limit = { type: 'integer', about: 'default 20' } as const
const usual = (wanted: number | undefined) => limited(wanted, 20, 200)
const unknown = (what: string, id: string) => refused(`There is no ${what} ${JSON.stringify(id.slice(0, 80))}.`)

export function brainTools(facts: Records<Fact>): readonly Tool[] {
  const view = openView(facts, factLine)
  const about = {
    type: { type: 'string', about: 'such as preference' },
    category: { type: 'string', about: '' },
    tags: { type: 'strings', about: '' },
  } as const
  return [
    tool({
      name: 'brain_add',
      about: 'Adds a fact to the brain.',
      takes: { content: { type: 'string', about: '', required: true }, ...about },
      ownerOnly: true,
      async call({ content, type = 'fact', category = '', tags = [] }) {
        const fact = await facts.add({ content, type, category, tags })
        return done(`Added as ${fact.id}.`)
      },
    }),
    tool({
      name: 'brain_search',
      about: 'Searches the facts of the brain.',
      takes: { query: { type: 'string', about: 'words', required: true }, limit },
      readOnly: true,
      async call({ query, limit }, caller) {
        const words = query.toLowerCase().split(/\s+/).filter(Boolean)
        const found = (await facts.list())
          .map(fact => ({ fact, hits: words.filter(word => textOf(fact).includes(word)).length }))
          .filter(({ hits }) => hits > 0)
          .sort((a, b) => b.hits - a.hits)
          .map(({ fact }) => fact)
        return view.show(caller, found.slice(0, usual(limit)), 'Nothing was found.')
      },
    }),
    tool({
      name: 'brain_list',
      about: 'The newest facts of the brain.',
      takes: { category: { type: 'string', about: 'only these' }, limit },
      readOnly: true,
      async call({ category, limit }, caller) {
        const all = (await facts.list()).filter(fact => category === undefined || fact.category === category)
        return view.show(caller, newest(all).slice(0, usual(limit)), 'There are none.')
      },
    }),
    tool({
      name: 'brain_update',
      about: 'Changes a fact of the brain.',
      takes: { id, content: { type: 'string', about: '' }, ...about },
      ownerOnly: true,
      call: ({ id, ...change }, caller) => view.change(caller, id, given(change), 'fact'),
    }),
    tool({
      name: 'brain_remove',
      about: 'Removes a fact from the brain.',
      takes: { id },
      ownerOnly: true,
      call: async ({ id }) => ((await facts.remove(id)) ? done('Removed.') : unknown('fact', id)),
    }),
  ]
}

export function taskTools(tasks: Records<BoardTask>): readonly Tool[] {
  const view = openView(tasks, taskLine)
  const status = { type: 'string', about: '', oneOf: taskStates } as const
  const due = { type: 'string', about: 'such as 2026-11-16' } as const
  const stateOf = (status: string | undefined) => taskStates.find(state => state === status)
  const noDay = refused('"due" must be a day such as 2026-11-16, or empty. Nothing was changed.')
  return [
    tool({
      name: 'tasks_add',
      about: 'Adds a task to the board.',
      takes: {
        title: { type: 'string', about: '', required: true },
        notes: { type: 'string', about: '' },
        status,
        due,
      },
      ownerOnly: true,
      async call({ title, notes = '', status, due = '' }) {
        if (!isDay(due)) return noDay
        const task = await tasks.add({ title, notes, status: stateOf(status) ?? 'todo', order: null, due })
        return done(`Added as ${task.id}.`)
      },
    }),
    tool({
      name: 'tasks_list',
      about: 'The tasks of the board.',
      takes: { status, limit },
      readOnly: true,
      async call({ status, limit }, caller) {
        const all = (await tasks.list()).filter(task => status === undefined || task.status === status)
        return view.show(caller, newest(all).slice(0, usual(limit)), 'There are none.')
      },
    }),
    tool({
      name: 'tasks_update',
      about: 'Changes or moves a task.',
      takes: {
        id,
        title: { type: 'string', about: '' },
        notes: { type: 'string', about: '' },
        status,
        due,
      },
      ownerOnly: true,
      async call({ id, title, notes, status, due }, caller) {
        if (!isDay(due ?? '')) return noDay
        return view.change(caller, id, given({ title, notes, status: stateOf(status), due }), 'task')
      },
    }),
    tool({
      name: 'tasks_remove',
      about: 'Removes a task from the board.',
      takes: { id },
      ownerOnly: true,
      call: async ({ id }) => ((await tasks.remove(id)) ? done('Removed.') : unknown('task', id)),
    }),
  ]
}

export function contentTools(content: Records<ContentItem>): readonly Tool[] {
  const view = openView(content, contentLine)
  const status = { type: 'string', about: '', oneOf: contentStates } as const
  const about = {
    url: { type: 'string', about: '' },
    kind: { type: 'string', about: 'article, video, post, idea' },
    summary: { type: 'string', about: '' },
    status,
    tags: { type: 'strings', about: '' },
  } as const
  const stateOf = (status: string | undefined) => contentStates.find(state => state === status)
  return [
    tool({
      name: 'content_add',
      about: 'Adds something to read or write about.',
      takes: { title: { type: 'string', about: '', required: true }, ...about },
      ownerOnly: true,
      async call({ title, url = '', kind = 'article', summary = '', status, tags = [] }) {
        const item = await content.add({ title, url, kind, summary, status: stateOf(status) ?? 'new', tags })
        return done(`Added as ${item.id}.`)
      },
    }),
    tool({
      name: 'content_list',
      about: 'The newest content items.',
      takes: { status, limit },
      readOnly: true,
      async call({ status, limit }, caller) {
        const all = (await content.list()).filter(item => status === undefined || item.status === status)
        return view.show(caller, newest(all).slice(0, usual(limit)), 'There are none.')
      },
    }),
    tool({
      name: 'content_update',
      about: 'Changes a content item.',
      takes: { id, title: { type: 'string', about: '' }, ...about },
      ownerOnly: true,
      call: ({ id, status, ...change }, caller) =>
        view.change(caller, id, given({ ...change, status: stateOf(status) }), 'content item'),
    }),
    tool({
      name: 'content_remove',
      about: 'Removes a content item.',
      takes: { id },
      ownerOnly: true,
      call: async ({ id }) => ((await content.remove(id)) ? done('Removed.') : unknown('content item', id)),
    }),
  ]
}

/**
 * Remembers what each conversation has been shown, since its agent remembers it over many turns. A change is refused if
 * somebody else has changed the record since, unless the agent calls again.
 */
function openView<One extends { readonly id: string }>(records: Records<One>, lineOf: (one: One) => string) {
  /** Least recently used first. */
  const shown = new Map<string, Map<string, One>>()
  const note = ({ lane }: Caller, all: readonly One[]) => {
    const own = shown.get(lane) ?? new Map<string, One>()
    shown.delete(lane)
    shown.set(lane, own)
    for (const one of all) {
      own.delete(one.id)
      own.set(one.id, one)
    }
    forgetOldest(own, 1000)
    forgetOldest(shown, 100)
  }
  return {
    show(caller: Caller, all: readonly One[], empty: string): ToolAnswer {
      note(caller, all)
      return lines(empty, all.map(lineOf))
    },
    async change(caller: Caller, id: string, change: Partial<Fields<One>>, what: string): Promise<ToolAnswer> {
      const seen = shown.get(caller.lane)?.get(id)
      const fields = Object.keys(change) as (keyof Fields<One>)[]
      const was = seen && (Object.fromEntries(fields.map(field => [field, seen[field]])) as Partial<Fields<One>>)
      const revision = await records.change(id, change, was)
      if (revision.type === 'gone') return unknown(what, id)
      note(caller, [revision.item])
      const line = lineOf(revision.item)
      return revision.type === 'changed'
        ? done(`Changed: ${line}`)
        : refused(
            `Somebody else has changed it since you looked: ${line}\nNothing was written. Call again to replace that.`,
          )
    },
  }
}

function forgetOldest(all: Map<string, unknown>, most: number): void {
  for (const key of all.keys()) {
    if (all.size <= most) return
    all.delete(key)
  }
}

type Given<T> = { [Name in keyof T]?: Exclude<T[Name], undefined> }

/** Without the fields that were left out. */
const given = <T extends Readonly<Record<string, string | TaskState | ContentState | readonly string[] | undefined>>>(
  all: T,
): Given<T> => Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as Given<T>

const newest = <One extends { readonly updatedAt: string }>(all: readonly One[]) =>
  all.toSorted((a, b) => (a.updatedAt < b.updatedAt ? 1 : a.updatedAt > b.updatedAt ? -1 : 0))

const textOf = ({ content, type, category, tags }: Fact) => [content, type, category, ...tags].join(' ').toLowerCase()

const factLine = ({ id, content, type, category, tags }: Fact) =>
  `- ${id} (${[type, category, ...tags].filter(Boolean).join(', ')}): ${excerpt(content, 500)}`

const taskLine = ({ id, status, title, notes, due }: BoardTask) =>
  `- ${id} (${status}${due ? `, due ${due}` : ''}): ${excerpt(title, 200)}${notes ? ` — ${excerpt(notes, 200)}` : ''}`

const contentLine = ({ id, kind, status, tags, title, url, summary }: ContentItem) =>
  `- ${id} (${[status, kind, ...tags].filter(Boolean).join(', ')}): ${[excerpt(title, 200), excerpt(url, 300), excerpt(summary, 300)].filter(Boolean).join(' — ')}`
