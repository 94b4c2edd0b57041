// The work of an event in words: a short list under an answer, and the whole as a Markdown document.
import { gist } from '../base/shown-use.ts'
import type { ToolUse } from '../base/tool-use.ts'
import type { EventWork, WorkItem } from '../base/work.ts'

type Action = Extract<WorkItem, { kind: 'action' }>

/** More are only counted. */
const mostLines = 20
const longestLine = 100

const actionsIn = ({ items }: EventWork) => items.filter(item => item.kind === 'action')

/** One line for each action; empty if there are none. */
export function workLines(work: EventWork): string {
  const actions = actionsIn(work)
  if (actions.length === 0) return ''
  const lines = actions.slice(0, mostLines).map(action => `- ${lineOf(action)}`)
  const more = actions.length - lines.length
  return ['**What I did**', ...lines, ...(more > 0 ? [`- and ${more} more`] : [])].join('\n')
}

/** Everything that is stored of it. */
export const workDocument = (work: EventWork): string =>
  [`# What the agent did (event ${work.event})`, ...work.items.map(sectionOf)].join('\n\n').concat('\n')

function lineOf(action: Action): string {
  const { use, label } = action
  const facts = factsOf(action)
  const words = use ? `${plain(use.tool)} ${inline(gist(use.work))}` : plain(label)
  return `${words}${facts === '' ? '' : ` (${facts})`}`
}

const factsOf = ({ at, endedAt, ok, result, asked }: Action): string =>
  [
    ...(asked ? [`${asked.state}${asked.by === null ? '' : ` by ${plain(asked.by)}`}`] : []),
    ...(result?.exit ? [`exit ${result.exit}`] : ok === false ? ['failed'] : ok === null ? ['not finished'] : []),
    ...(endedAt !== null && endedAt - at >= 1000 ? [`${((endedAt - at) / 1000).toFixed(1)} s`] : []),
  ].join(', ')

function sectionOf(item: WorkItem): string {
  switch (item.kind) {
    case 'cut':
      return '*Later steps were not stored.*'
    case 'thought':
      return item.text.replace(/^/gm, '> ')
    case 'action': {
      const { result } = item
      const output = result && result.output.trim() !== '' ? [block(result.output, '')] : []
      return [`## ${lineOf(item)}`, ...(item.use ? detailOf(item.use) : []), ...output].join('\n\n')
    }
    default:
      return item satisfies never
  }
}

function detailOf({ work }: ToolUse): readonly string[] {
  switch (work.kind) {
    case 'command':
      return [block(work.command, 'sh')]
    case 'edit':
      return [block(work.diff, 'diff')]
    case 'todo':
      return [work.items.map(({ text, state }) => `- [${state === 'done' ? 'x' : ' '}] ${plain(text)}`).join('\n')]
    case 'other':
      return [block(work.input, 'json')]
    case 'search':
      return work.path === null ? [] : [`In ${inline(work.path)}`]
    case 'read':
    case 'fetch':
      return []
    default:
      return work satisfies never
  }
}

/** A fence that nothing in the text can close. */
function block(text: string, language: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}${language}\n${text.replace(/\n$/, '')}\n${fence}`
}

const inline = (text: string): string => {
  const short = text.length > longestLine ? `${text.slice(0, longestLine - 1)}…` : text
  return short === '' ? '' : `\`${short.replaceAll('`', 'ˋ')}\``
}

/** On one line, and nothing in it is Markdown. */
const plain = (text: string): string => text.replace(/\s+/g, ' ').replace(/[\\`*_[\]<>~|#]/g, '\\$&')
