// What happened, as a running list: the newest in memory, more of them in activity-log.json.
import { closeSync, fstatSync, openSync, readSync, renameSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import type { Activity, ActivityEntry } from '../base/activity.ts'
import type { Signal } from '../base/signal.ts'
import { inPlainWords, isWarning } from './activity-words.ts'
import { openMirror, replaceWhole, signatureOf } from './files.ts'

export interface ActivityParts {
  /** Where it is kept: a JSON array, an entry per line. */
  readonly path: string
  now(): number
  /** The event that a letter tells of; null: none. */
  eventOf(letter: number): number | null
  failed(error: unknown): void
}

export interface ActivityLog extends Activity {
  listen(signal: Signal): void
  /** Writes what is still owed. */
  flush(): Promise<void>
}

export const mostInMemory = 200
export const mostInFile = 2000
const pauseMs = 2000

export function openActivity({ path, now, eventOf, failed }: ActivityParts): ActivityLog {
  const recent: ActivityEntry[] = []
  /** Not in the file yet. */
  let owed: ActivityEntry[] = []
  const followers = new Set<(entry: ActivityEntry) => void>()
  // By the clock as well: whoever was killed before he wrote them down has used numbers that the file does not know.
  let nextId = Math.max(now(), lastIdIn(path) + 1)
  let written: string | null = null
  let failing = false

  const append = async () => {
    if (owed.length === 0) return
    try {
      // What we wrote ourselves need not be understood once more.
      const lines = written !== null && signatureOf(path) === written ? linesOf(await readText(path)) : null
      const kept = lines ?? (await takeOver()).map(encode)
      const count = owed.length
      const all = [...kept, ...owed.map(encode)].slice(-mostInFile)
      written = await replaceWhole(path, `[\n${all.join(',\n')}\n]\n`, () => true)
      owed = owed.slice(count)
      failing = false
    } catch (error) {
      owed = owed.slice(-mostInFile)
      // Told once: the telling is an entry itself, and would be the reason for the next.
      if (!failing) {
        failing = true
        failed(error)
      }
    }
  }
  /** What is there already. One that is damaged is put aside, and what can be read of it goes on. */
  async function takeOver(): Promise<readonly ActivityEntry[]> {
    const { entries, damaged } = await readEntries(path)
    if (!damaged) return entries
    renameSync(path, `${path}.damaged`)
    const name = basename(path)
    failed(
      new Error(`it could not be read as a whole; it is kept as ${name}.damaged, and goes on with what was legible`),
    )
    return entries
  }
  const file = openMirror(append, pauseMs, failed)

  return {
    listen(signal) {
      const text = inPlainWords(signal)
      if (text === null) return
      const isLetter = signal.type.startsWith('letter-')
      const id = 'id' in signal ? signal.id : null
      const entry: ActivityEntry = {
        id: nextId++,
        at: now(),
        type: signal.type,
        level: isWarning(signal) ? 'warn' : 'info',
        event: id !== null && isLetter ? eventOf(id) : id,
        lane: laneOf(signal),
        text,
      }
      recent.push(entry)
      if (recent.length > mostInMemory) recent.shift()
      owed.push(entry)
      file.touch()
      for (const follower of followers) follower(entry)
    },
    async list(before, most) {
      const isBefore = ({ id }: ActivityEntry) => before === null || id < before
      const found = recent.filter(isBefore)
      if (found.length >= most) return found.slice(-most).reverse()
      const known = new Set(found.map(({ id }) => id))
      const older = [...(await readEntries(path)).entries, ...owed].filter(
        entry => isBefore(entry) && !known.has(entry.id),
      )
      const all = new Map([...older, ...found].map(entry => [entry.id, entry]))
      return [...all.values()].sort((a, b) => b.id - a.id).slice(0, most)
    },
    after: id => recent.filter(entry => entry.id > id),
    follow(listener) {
      followers.add(listener)
      return () => void followers.delete(listener)
    },
    flush: file.flush,
  }
}

function laneOf(signal: Signal): string | null {
  if ('lane' in signal) return signal.lane
  return 'place' in signal ? `${signal.place.chat}:${signal.place.conversation}` : null
}

const encode = (entry: ActivityEntry) => JSON.stringify(entry)

const linesOf = (text: string) =>
  text
    .split('\n')
    .slice(1, -2)
    .map(line => (line.endsWith(',') ? line.slice(0, -1) : line))

/** Missing: there are none. Of a damaged one those lines that are still whole. */
async function readEntries(path: string): Promise<{ entries: readonly ActivityEntry[]; damaged: boolean }> {
  const text = await readText(path).catch(() => '')
  const found = parsed(text)
  if (Array.isArray(found)) return { entries: found.filter(isEntry), damaged: false }
  const lines = text.split('\n').map(line => parsed(line.replace(/,$/, '')))
  return { entries: lines.filter(isEntry), damaged: text.trim() !== '' }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

const readText = (path: string) => readFile(path, 'utf8')

function isEntry(value: unknown): value is ActivityEntry {
  const one = value as Partial<Record<keyof ActivityEntry, unknown>> | null
  return (
    typeof one === 'object' &&
    one !== null &&
    Number.isSafeInteger(one.id) &&
    typeof one.at === 'number' &&
    typeof one.type === 'string' &&
    typeof one.text === 'string'
  )
}

/** Only the end of the file is looked at: a start has no time to read it all. */
function lastIdIn(path: string): number {
  try {
    const file = openSync(path, 'r')
    try {
      const { size } = fstatSync(file)
      const tail = Buffer.alloc(Math.min(size, 4096))
      readSync(file, tail, 0, tail.length, size - tail.length)
      const ids = [...tail.toString().matchAll(/^\{"id":(\d{1,15}),/gm)].map(([, id]) => Number(id))
      return Math.max(0, ...ids)
    } finally {
      closeSync(file)
    }
  } catch {
    return 0 // there is none yet, or it cannot be read
  }
}
