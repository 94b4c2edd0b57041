// The `/memory` command: searches memory, shows its changes, and lets the owner decide about them.
import {
  authorOf,
  type ChangeResult,
  type MemoryChange,
  type MemoryHit,
  type MemoryLog,
  type MemorySearch,
} from '../base/memory.ts'
import type { CommandRow } from './command.ts'

export interface MemoryParts {
  readonly memory: MemorySearch & MemoryLog
  /** Formats a point in time for people. */
  time(ms: number): string
}

const mostHits = 5
const mostChanges = 10

/** Memory covers all conversations, so guests may not see any of it. */
export const memoryRow = (parts: MemoryParts): CommandRow => ({
  names: ['memory'],
  takes: '[WORDS]',
  ownerOnly: true,
  about: 'Search the memory, or: log, undo [ID], approve ID, deny ID.',
  answer: ({ rest }) => run(parts, rest),
})

async function run({ memory, time }: MemoryParts, rest: string): Promise<string> {
  if (rest === '')
    return 'Usage: `/memory WORDS` searches the memory. Also: `/memory log`, `undo [ID]`, `approve ID`, `deny ID`.'
  if (/^log$/i.test(rest)) return logOf(await memory.list(mostChanges), time)
  // With any other text after these words, it is a search, such as "deny the cookies".
  const [, verb = '', id] = /^(undo|approve|deny)(?:\s+#?(\d{1,15}))?$/i.exec(rest) ?? []
  switch (verb.toLowerCase()) {
    case 'undo':
      return answerFor(await memory.undo(id === undefined ? null : Number(id)), 'Undone')
    case 'approve':
      return id === undefined ? whichOne : answerFor(await memory.approve(Number(id)), 'Approved')
    case 'deny':
      return id === undefined ? whichOne : answerFor(await memory.deny(Number(id)), 'Denied')
    default:
      return hitsOf(await memory.search(rest.slice(0, 1000), mostHits))
  }
}

const whichOne = 'Add the number of the change; `/memory log` shows the numbers.'

const answerFor = (result: ChangeResult, done: string): string =>
  result.ok ? `${done}: change ${result.change.id} of ${result.change.file}.` : `Not done. ${result.why}`

const hitsOf = (hits: readonly MemoryHit[]): string =>
  hits.length === 0
    ? 'Nothing found.'
    : hits.map(({ source, snippet }) => `- ${source}: ${snippet.replace(/\s+/g, ' ')}`).join('\n')

const states = {
  made: '',
  waiting: ', **waiting for your approval**',
  approved: ', approved',
  denied: ', denied',
  undone: ', undone',
}

function logOf(changes: readonly MemoryChange[], time: MemoryParts['time']): string {
  if (changes.length === 0) return 'No changes yet.'
  return changes
    .map(
      change =>
        `- ${change.id}. ${time(change.at)}: ${change.file}, by ${authorOf(change)}${states[change.state]}${changedLine(change)}`,
    )
    .join('\n')
}

/** The first added or removed line, to identify the change. In backticks, because the text is not ours. */
function changedLine({ diff }: MemoryChange): string {
  const line = /^[+-].*\S.*$/m.exec(diff)?.[0].replaceAll('`', "'").slice(0, 100)
  return line === undefined ? '' : `: \`${line}\``
}
