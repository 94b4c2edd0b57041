// What a tool does, as people see it: from the name of the tool and its input. All of it is bounded, however long the input is.
import { context, groupsOf, hunksBetween } from '../base/line-diff.ts'
import { longestOutput, longestWork, type TodoItem, type Work } from '../base/tool-use.ts'
import { type Json, objects, string } from './stdio.ts'

/** `tool`: by its name in ALLOWED_TOOLS. The parameters may be spelled as any of the backends spells them. */
export function workOf(tool: string, input: Json): Work {
  return known[tool]?.(input) ?? { kind: 'other', input: asJson(input) }
}

/** A change whose diff the backend reports itself. Lines that only name the file are left out. */
export const diffWork = (path: string, diff: string): Work => ({
  kind: 'edit',
  path: cut(path),
  diff: cut(diff.replace(/^(?:Index: .*\n)?(?:=+\n)?(?:--- .*\n\+\+\+ .*\n)?/, '').replace(/\n$/, '')),
})

type Reading = (input: Json) => Work | null

const edit: Reading = input => {
  const path = pathIn(input)
  const edits = objects(input.edits)
  const diff = cut((edits.length > 0 ? edits : [input]).map(changeIn).filter(Boolean).join(`\n${apart}\n`))
  return path === '' || diff === '' ? null : { kind: 'edit', path: cut(path), diff }
}

const write: Reading = input => {
  const path = pathIn(input)
  if (path === '' || typeof input.content !== 'string') return null
  return { kind: 'edit', path: cut(path), diff: lineDiff('', input.content) }
}

const notebookEdit: Reading = input => {
  const path = string(input.notebook_path)
  const cell = ['cell', string(input.cell_id), string(input.edit_mode) || 'replace'].filter(Boolean).join(' ')
  if (path === '') return null
  const lines = lineDiff('', string(input.new_source))
  return { kind: 'edit', path: cut(path), diff: cut(`@@ ${cell} @@${lines === '' ? '' : `\n${lines}`}`) }
}

const read: Reading = input => (pathIn(input) === '' ? null : { kind: 'read', path: cut(pathIn(input)) })

const list: Reading = input => ({ kind: 'read', path: cut(pathIn(input) || '.') })

const search: Reading = input => {
  const query = first(input, 'query', 'pattern')
  return query === '' ? null : { kind: 'search', query: cut(query), path: cut(pathIn(input)) || null }
}

const todo: Reading = input => {
  if (!Array.isArray(input.todos)) return null
  const items = objects(input.todos).slice(0, mostItems)
  return { kind: 'todo', items: items.map(itemOf) }
}

const known: Readonly<Record<string, Reading | undefined>> = {
  __proto__: null as never,
  Bash: ({ command }) => (typeof command === 'string' ? { kind: 'command', command: cut(command) } : null),
  Edit: edit,
  MultiEdit: edit,
  Write: write,
  NotebookEdit: notebookEdit,
  Read: read,
  LS: list,
  Grep: search,
  Glob: search,
  WebSearch: search,
  WebFetch: ({ url }) => (typeof url === 'string' ? { kind: 'fetch', url: cut(url) } : null),
  TodoWrite: todo,
}

/** Cut so that its beginning and its end stay. */
export function boundedOutput(text: string): string {
  if (text.length <= longestOutput) return text
  const half = longestOutput / 2 - 40
  const left = text.length - 2 * half
  return `${whole(text.slice(0, half))}\n… ${left} characters left out …\n${whole(text.slice(-half))}`
}

/** Lines that start with a space, `+` or `-`; `@@` stands between changes that are far apart. Without line numbers: these are parts of a file. */
export function lineDiff(before: string, after: string): string {
  if (before.length + after.length > longestCompared) return cut(replaced(before, after))
  const old = linesOf(before)
  const shown: string[] = []
  for (const group of groupsOf(hunksBetween(old, linesOf(after)))) {
    let done = Math.max(0, (group[0]?.from ?? 0) - context)
    if (shown.length > 0) shown.push(apart)
    for (const { from, to, lines } of group) {
      shown.push(...signed(' ', old.slice(done, from)), ...signed('-', old.slice(from, to)), ...signed('+', lines))
      done = to
    }
    shown.push(...signed(' ', old.slice(done, done + context)))
  }
  return cut(shown.join('\n'))
}

/** Comparing takes time in proportion to the length and to the number of changes. Longer texts are shown as replaced. */
const longestCompared = 500_000
const mostItems = 200
const apart = '@@'

const signed = (sign: string, lines: readonly string[]) => lines.map(line => `${sign}${line}`)

/** Only as much as is shown. */
const replaced = (before: string, after: string) =>
  [
    ...signed('-', linesOf(before.slice(0, longestWork))),
    ...signed('+', linesOf(after.slice(0, longestWork))),
    ...(before.length > longestWork || after.length > longestWork ? [apart] : []),
  ].join('\n')

/** A line break at the end is not a line. */
const linesOf = (text: string): readonly string[] => (text === '' ? [] : text.replace(/\n$/, '').split('\n'))

function changeIn(edit: Json): string {
  const before = first(edit, 'old_string', 'oldString', 'oldText', 'old_text')
  const after = first(edit, 'new_string', 'newString', 'newText', 'new_text')
  const diff = lineDiff(before, after)
  const everywhere = edit.replace_all === true || edit.replaceAll === true
  return everywhere && diff !== '' ? `@@ every occurrence @@\n${diff}` : diff
}

const itemOf = (item: Json): TodoItem => ({
  text: whole((first(item, 'content', 'text', 'step', 'description') || '…').slice(0, 1000)),
  state: states[string(item.status)] ?? (item.completed === true ? 'done' : 'open'),
})

const states: Readonly<Record<string, TodoItem['state'] | undefined>> = {
  __proto__: null as never,
  ...{ completed: 'done', done: 'done', in_progress: 'active', inProgress: 'active', active: 'active' },
}

const first = (input: Json, ...names: readonly string[]): string =>
  names.map(name => string(input[name])).find(Boolean) ?? ''

const pathIn = (input: Json) => first(input, 'file_path', 'filePath', 'absolute_path', 'path', 'dir_path')

const cut = (text: string): string => {
  if (text.length <= longestWork) return text
  const kept = longestWork - 60
  return `${whole(text.slice(0, kept))}\n@@ ${text.length - kept} more characters @@`
}

/** Without half a character at either end. */
const whole = (text: string): string => text.replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, '')

function asJson(input: Json): string {
  try {
    return cut(JSON.stringify(input, null, 2))
  } catch {
    return '(too deeply nested to be shown)'
  }
}
