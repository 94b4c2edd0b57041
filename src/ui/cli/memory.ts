// `aetheel memory`: searches memory, shows its changes, and undoes, approves or denies them.

import * as v from 'valibot'
import { counted } from '../../base/counted.ts'
import {
  authorOf,
  type ChangeResult,
  type MemoryChange,
  type MemoryHit,
  type MemoryLog,
  type MemorySearch,
} from '../../base/memory.ts'
import { writtenTime } from '../../base/zone.ts'
import { openProgress } from './chat/progress.ts'
import { renderDiff } from './diff.ts'
import { askGateway, print, printResult, refusal, rowsOf, withAdmin } from './gateway-client.ts'
import type { Address, CliPorts, Flags } from './ports.ts'
import { cutTo, type OutputStream, type Paint, paintFor, type Terminal } from './terminal.ts'

type Memory = MemorySearch & MemoryLog

export async function searchMemory(ports: CliPorts, terminal: Terminal, flags: Flags, words: string): Promise<number> {
  const hits = await withMemory(ports, flags, memory => memory.search(words, Number(flags.number)))
  return print(terminal, flags.json === true, hits, () => {
    const paint = paintFor(terminal.stdout)
    return hits.length === 0 ? ['Nothing was found.'] : hits.flatMap(hit => renderHit(hit, terminal.zone(), paint))
  })
}

export async function syncMemory(ports: CliPorts, terminal: Terminal, flags: Flags): Promise<number> {
  const progress = openProgress(terminal.stderr, terminal.now, () => '')
  progress.show('reading memory, notes and conversations')
  const found = await withMemory(ports, flags, memory => memory.sync()).finally(progress.close)
  return print(terminal, flags.json === true, found, () => [
    `${counted(found.documents, 'document')}, ${found.changed} of them new or changed.`,
  ])
}

export async function logMemory(ports: CliPorts, terminal: Terminal, flags: Flags): Promise<number> {
  const changes = await withMemory(ports, flags, memory => memory.list(Number(flags.number)))
  return print(terminal, flags.json === true, changes, () => {
    if (changes.length === 0) return ['Nothing was changed yet.']
    return renderLog(changes, flags.diff === true, terminal.zone(), terminal.stdout)
  })
}

const decided = {
  undo: ({ id, file }) => `Undone: change ${id} of ${file}.`,
  approve: ({ id, file }) => `Approved: change ${id} of ${file} is in effect from now on.`,
  deny: ({ id, file }) => `Denied: change ${id} of ${file}. The file stays as it is.`,
} as const satisfies Record<string, (change: MemoryChange) => string>

/** Without an id, undoes the newest change in effect. */
export async function decideMemory(
  ports: CliPorts,
  terminal: Terminal,
  flags: Flags,
  what: keyof typeof decided,
  id: string | undefined,
): Promise<number> {
  const result = await withMemory(ports, flags, memory =>
    what === 'undo' ? memory.undo(id === undefined ? null : Number(id)) : memory[what](Number(id)),
  )
  return printResult(terminal, flags.json === true, result, ({ change }) => decided[what](change))
}

const withMemory = <T>(ports: CliPorts, flags: Flags, use: (memory: Memory) => Promise<T>): Promise<T> =>
  withAdmin(ports, flags, remoteMemory, ports.memory, use)

const changeSchema = v.object({
  id: v.number(),
  at: v.number(),
  file: v.string(),
  events: v.array(v.number()),
  lane: v.nullable(v.string()),
  person: v.nullable(v.string()),
  owner: v.boolean(),
  state: v.picklist(['made', 'waiting', 'approved', 'denied', 'undone']),
  diff: v.string(),
})
const hitsSchema = v.object({
  hits: v.array(v.object({ source: v.string(), title: v.string(), snippet: v.string(), at: v.nullable(v.number()) })),
})
const logSchema = v.object({ changes: v.array(changeSchema) })
const syncSchema = v.object({ documents: v.number(), changed: v.number() })
const resultSchema = v.variant('ok', [v.object({ ok: v.literal(true), change: changeSchema }), refusal])

const remoteMemory = (running: Address): Memory => {
  const order = (what: object): Promise<ChangeResult> => askGateway(running, '/api/memory', resultSchema, what)
  return {
    search: async (words, limit) =>
      (await askGateway(running, `/api/memory?q=${encodeURIComponent(words)}&limit=${limit}`, hitsSchema)).hits,
    sync: () => askGateway(running, '/api/memory', syncSchema, { sync: true }),
    list: async limit => (await askGateway(running, `/api/memory/log?limit=${limit}`, logSchema)).changes,
    undo: id => order({ undo: id }),
    approve: id => order({ approve: id }),
    deny: id => order({ deny: id }),
  }
}

function renderHit({ source, title, snippet, at }: MemoryHit, zone: string, paint: Paint): readonly string[] {
  // The title of a message in a conversation already has its author and time.
  const saysWhen = /\d{4}-\d\d-\d\d \d\d:\d\d$/.test(title)
  const when = at === null || saysWhen ? '' : `  ${paint('dim', writtenTime(at, zone))}`
  const found = cutTo(snippet, 400).replace(/\*\*(.+?)\*\*/g, (_, words: string) => paint('bold', words))
  const called = title === '' || title === source ? '' : `  ${cutTo(title, 60)}`
  return [`${paint('cyan', cutTo(source, 60))}${called}${when}`, `  ${found}`]
}

const states = {
  made: 'in effect',
  waiting: 'waits for you',
  approved: 'approved',
  denied: 'denied',
  undone: 'undone',
} as const

function renderLog(
  changes: readonly MemoryChange[],
  diff: boolean,
  zone: string,
  out: OutputStream,
): readonly string[] {
  const paint = paintFor(out)
  const rows = changes.map(change => [
    ...[String(change.id), writtenTime(change.at, zone), change.file, authorOf(change), change.lane ?? '-'],
    states[change.state],
  ])
  const { head, rows: lines } = rowsOf(['ID', 'WHEN', 'FILE', 'BY', 'CONVERSATION', 'STATE'], rows, out)
  const waiting = changes.some(({ state }) => state === 'waiting')
  return [
    ...head,
    ...changes.flatMap((change, i) => {
      const line = change.state === 'waiting' ? paint('yellow', lines[i] ?? '') : (lines[i] ?? '')
      return diff ? [line, ...renderDiff(change.diff, paint)] : [line]
    }),
    ...(waiting ? ['', 'Decide with: npx aetheel memory approve ID, or: npx aetheel memory deny ID'] : []),
  ]
}
