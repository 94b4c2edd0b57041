// The use of a tool as people see it.
import type { ToolUse, Work } from './tool-use.ts'

/** Who allows a command must see the command that runs, so every text goes through `show`. */
export const shownUse = ({ tool, work }: ToolUse, show: (text: string) => string): ToolUse => ({
  tool: show(tool),
  work: shownWork(work, show),
})

function shownWork(work: Work, show: (text: string) => string): Work {
  switch (work.kind) {
    case 'command':
      return { ...work, command: show(work.command) }
    case 'edit':
      return { ...work, path: show(work.path), diff: show(work.diff) }
    case 'read':
      return { ...work, path: show(work.path) }
    case 'search':
      return { ...work, query: show(work.query), path: work.path === null ? null : show(work.path) }
    case 'fetch':
      return { ...work, url: show(work.url) }
    case 'todo':
      return { ...work, items: work.items.map(item => ({ ...item, text: show(item.text) })) }
    case 'other':
      return { ...work, input: show(work.input) }
    default:
      return work satisfies never
  }
}

/** What a use is about: the command, the path, the address. */
export function subjectOf(work: Work): string {
  switch (work.kind) {
    case 'command':
      return work.command
    case 'edit':
    case 'read':
      return work.path
    case 'search':
      return work.query
    case 'fetch':
      return work.url
    case 'todo':
      return `${work.items.length} items`
    case 'other':
      return work.input
    default:
      return work satisfies never
  }
}

/** A use of a tool on one line. */
export function gist(work: Work): string {
  const text = subjectOf(work).replace(/\s+/g, ' ').trim()
  return text.length > 200 ? `${text.slice(0, 199)}…` : text
}
