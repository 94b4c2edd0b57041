// What `/memory` answers: what was found, how the memory changed, and what the owner says to that.
import type { ChangeResult, MemoryChange, MemoryHit, MemoryLog, MemorySearch } from '../base/memory.ts'
import type { CommandRow } from './command.ts'

export interface MemoryParts {
  readonly memory: MemorySearch & MemoryLog
  /** A moment, as people read it. */
  time(ms: number): string
}

const mostHits = 5
const mostChanges = 10

/** What is remembered is of all conversations, so none of it is for guests. */
export const memoryRow = (parts: MemoryParts): CommandRow => ({
  names: ['memory'],
  takes: '[WORDS]',
  ownerOnly: true,
  about: 'Search what is remembered, or: log, undo [ID], approve ID, deny ID.',
  answer: ({ rest }) => obey(parts, rest),
})

async function obey({ memory, time }: MemoryParts, rest: string): Promise<string> {
  if (rest === '')
    return 'Write what to look for: `/memory WORDS`. Also: `/memory log`, `undo [ID]`, `approve ID`, `deny ID`.'
  if (/^log$/i.test(rest)) return logOf(await memory.list(mostChanges), time)
  // Anything else behind these words is looked for, such as "deny the cookies".
  const [, verb = '', id] = /^(undo|approve|deny)(?:\s+#?(\d{1,15}))?$/i.exec(rest) ?? []
  switch (verb.toLowerCase()) {
    case 'undo':
      return told(await memory.undo(id === undefined ? null : Number(id)), 'Undone')
    case 'approve':
      return id === undefined ? whichOne : told(await memory.approve(Number(id)), 'Approved')
    case 'deny':
      return id === undefined ? whichOne : told(await memory.deny(Number(id)), 'Denied')
    default:
      return hitsOf(await memory.search(rest.slice(0, 1000), mostHits))
  }
}

const whichOne = 'Write the number of the change behind it; `/memory log` shows them.'

const told = (result: ChangeResult, done: string): string =>
  result.ok ? `${done}: change ${result.change.id} of ${result.change.file}.` : `Not done. ${result.why}`

const hitsOf = (hits: readonly MemoryHit[]): string =>
  hits.length === 0
    ? 'Nothing was found.'
    : hits.map(({ source, snippet }) => `- ${source}: ${snippet.replace(/\s+/g, ' ')}`).join('\n')

const states = {
  made: '',
  waiting: ', **waits for you**',
  approved: ', approved',
  denied: ', denied',
  undone: ', undone',
}

function logOf(changes: readonly MemoryChange[], time: MemoryParts['time']): string {
  if (changes.length === 0) return 'Nothing was changed yet.'
  return changes
    .map(
      change =>
        `- ${change.id}. ${time(change.at)}: ${change.file}, by ${authorOf(change)}${states[change.state]}${changedLine(change)}`,
    )
    .join('\n')
}

function authorOf({ events, owner, person }: MemoryChange): string {
  if (events.length === 0) return 'hand'
  return owner ? 'the owner' : (person ?? 'a stranger')
}

/** The first line that came or went, so that one knows which change it is. In backticks: it is not ours. */
function changedLine({ diff }: MemoryChange): string {
  const line = /^[+-].*\S.*$/m.exec(diff)?.[0].replaceAll('`', "'").slice(0, 100)
  return line === undefined ? '' : `: \`${line}\``
}
