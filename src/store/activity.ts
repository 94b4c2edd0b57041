// The activity list: one sentence per signal, the newest in memory, more in activity-log.json. Never contains what people or
// agents wrote.
import { closeSync, fstatSync, openSync, readSync, renameSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import type { Activity, ActivityEntry } from '../base/activity.ts'
import { counted } from '../base/counted.ts'
import { type Place, placeName } from '../base/event.ts'
import { excerpt } from '../base/scrub.ts'
import type { Signal } from '../base/signal.ts'
import { createMirror, replaceWhole, signatureOf } from './files.ts'

export interface ActivityParts {
  /** The file: a JSON array, one entry per line. */
  readonly path: string
  now(): number
  /** The event that a delivery belongs to; null: none. */
  eventOf(delivery: number): number | null
  failed(error: unknown): void
}

export interface ActivityLog extends Activity {
  listen(signal: Signal): void
  /** Writes all pending entries. */
  flush(): Promise<void>
}

export const mostInMemory = 200
export const mostInFile = 2000
const pauseMs = 2000

export function createActivity({ path, now, eventOf, failed }: ActivityParts): ActivityLog {
  const recent: ActivityEntry[] = []
  /** Not in the file yet. */
  let pending: ActivityEntry[] = []
  const followers = new Set<(entry: ActivityEntry) => void>()
  // Also at least the current time: after a kill, ids may have been used that are not in the file.
  let nextId = Math.max(now(), lastIdIn(path) + 1)
  let written: string | null = null
  let failing = false

  const append = async () => {
    if (pending.length === 0) return
    try {
      // Entries that we wrote ourselves need not be parsed again.
      const lines = written !== null && signatureOf(path) === written ? linesOf(await readText(path)) : null
      const kept = lines ?? (await takeOver()).map(encode)
      const count = pending.length
      const all = [...kept, ...pending.map(encode)].slice(-mostInFile)
      written = await replaceWhole(path, `[\n${all.join(',\n')}\n]\n`, () => true)
      pending = pending.slice(count)
      failing = false
    } catch (error) {
      pending = pending.slice(-mostInFile)
      // Reported once: the report is an entry itself and would cause the next one.
      if (!failing) {
        failing = true
        failed(error)
      }
    }
  }
  /** Reads the existing file. A damaged file is renamed, and its readable entries are kept. */
  async function takeOver(): Promise<readonly ActivityEntry[]> {
    const { entries, damaged } = await readEntries(path)
    if (!damaged) return entries
    renameSync(path, `${path}.damaged`)
    const name = basename(path)
    failed(new Error(`it is damaged; it was renamed to ${name}.damaged, and the readable entries were kept`))
    return entries
  }
  const file = createMirror(append, pauseMs, failed)

  return {
    listen(signal) {
      const text = inPlainWords(signal)
      if (text === null) return
      const isDelivery = signal.type.startsWith('delivery-')
      const id = 'id' in signal ? signal.id : null
      const entry: ActivityEntry = {
        id: nextId++,
        at: now(),
        type: signal.type,
        level: isWarning(signal) ? 'warn' : 'info',
        event: id !== null && isDelivery ? eventOf(id) : id,
        lane: laneOf(signal),
        text,
      }
      recent.push(entry)
      if (recent.length > mostInMemory) recent.shift()
      pending.push(entry)
      file.touch()
      for (const follower of followers) follower(entry)
    },
    async list(before, most) {
      const isBefore = ({ id }: ActivityEntry) => before === null || id < before
      const found = recent.filter(isBefore)
      if (found.length >= most) return found.slice(-most).reverse()
      const known = new Set(found.map(({ id }) => id))
      const older = [...(await readEntries(path)).entries, ...pending].filter(
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
  return 'place' in signal ? placeName(signal.place) : null
}

const encode = (entry: ActivityEntry) => JSON.stringify(entry)

const linesOf = (text: string) =>
  text
    .split('\n')
    .slice(1, -2)
    .map(line => (line.endsWith(',') ? line.slice(0, -1) : line))

/** No file: no entries. Damaged file: only the lines that are intact. */
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

/** Reads only the end of the file, to keep the start fast. */
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

const longest = 200

/** Null: not worth an entry. */
function inPlainWords(signal: Signal): string | null {
  const words = worded(signal)
  return words === null ? null : excerpt(words, longest)
}

function isWarning(signal: Signal): boolean {
  switch (signal.type) {
    case 'turn-ended':
      return !signal.ok && signal.why !== 'stopped'
    case 'turn-acted':
      return false
    default:
      return warnings.has(signal.type)
  }
}

const warnings = new Set<Signal['type']>([
  'event-refused',
  'event-set-aside',
  'turn-put-off',
  'turn-troubled',
  'turn-moved',
  'backend-cooldown',
  'warm-trouble',
  'session-lost',
  'delivery-refused',
  'delivery-delayed',
  'chat-lost',
  'chat-trouble',
  'workspace-trouble',
])

function worded(signal: Signal): string | null {
  switch (signal.type) {
    case 'event-accepted':
      return `${signal.kind} accepted (${signal.lane})`
    case 'event-refused':
      return `refused: ${signal.why} (${signal.lane})`
    case 'command-answered':
      return `command answered (${signal.lane})`
    case 'event-set-aside':
      return `parked after ${signal.attempts} attempts (${signal.lane})`
    case 'turn-began': {
      const again = signal.attempt > 1 ? `, attempt ${signal.attempt}` : ''
      return `${signal.backend} began${again}${signal.interrupted ? ', after an interruption' : ''} (${signal.lane})`
    }
    case 'turn-acted':
      if (signal.phase === 'ended') return null
      return `${signal.phase === 'failed' ? 'a tool failed' : 'a tool is used'} (${signal.lane})`
    case 'request-opened':
      return `${signal.request.backend} asks for permission (${signal.request.lane})`
    case 'request-reminder':
      return `a request for permission is still open (${signal.request.lane})`
    case 'request-settled':
      return `a request for permission was ${signal.request.state} (${signal.request.lane})`
    // Covered by the end of the turn, or only for the timeline.
    case 'turn-spoke':
    case 'turn-asked':
    case 'turn-thought':
    case 'draft-lost':
      return null
    case 'turn-ended': {
      const how = signal.ok
        ? 'answered in'
        : signal.why === 'stopped'
          ? 'was stopped after'
          : `failed (${signal.why}) after`
      return `${signal.backend} ${how} ${seconds(signal.ms)} (${signal.lane})`
    }
    case 'turn-put-off':
      return `deferred: ${signal.why} (${signal.lane})`
    case 'turn-moved':
      return `${signal.to} takes over from ${signal.from}: ${signal.why} (${signal.lane})`
    case 'backend-cooldown':
      return `${signal.backend} is in cooldown (${signal.why}): other backends are tried first`
    case 'turn-troubled':
      return `${signal.backend}: ${signal.why} (${signal.lane})`
    case 'warm-trouble':
      return `${signal.backend} could not be kept running: ${signal.why}`
    case 'session-lost':
      return `the session was lost, starting a new one (${signal.lane})`
    case 'delivery-sent':
      return `sent ${signal.length} characters (${placed(signal)})`
    case 'delivery-refused':
      return `not sent: ${signal.why} (${placed(signal)})`
    case 'delivery-delayed':
      return `not sent yet: ${signal.why} (${placed(signal)})`
    case 'chat-ready':
      return `${signal.chat} ${signal.resumed ? 'is connected again' : 'is connected'}${signal.shard === null ? '' : `, ${signal.shard}`}`
    case 'chat-catching-up':
      return `${signal.chat}: looking for missed messages in ${counted(signal.places, 'place')}`
    case 'chat-caught-up':
      return `${signal.chat}: caught up with ${signal.messages} messages`
    case 'chat-lost':
      return `${signal.chat} was lost: ${signal.why}`
    case 'chat-trouble':
      return `${signal.chat}: ${signal.why}`
    case 'workspace-trouble':
      return `problem with ${signal.file}: ${signal.why}`
    case 'heartbeats-missing':
      return `no heartbeats: there is no ${signal.file}`
    case 'job-skipped':
      return `${signal.kind} ${signal.name} skipped: ${signal.why}`
    default:
      return signal satisfies never
  }
}

/** For people: `80 ms`, `2.1 s`, `3 min 20 s`. */
export function seconds(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  const tenths = Math.round(ms / 100)
  if (tenths < 600) return `${(tenths / 10).toFixed(1)} s`
  const whole = Math.round(ms / 1000)
  return `${Math.floor(whole / 60)} min ${whole % 60} s`
}

const placed = ({ place }: { readonly place: Place }) => placeName(place)
