// One JSON file of records that the gateway, people and the agent edit at the same time. Memory first; the file follows.

import { existsSync, renameSync, statSync } from 'node:fs'
import { appendFile, readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { isDeepStrictEqual as same } from 'node:util'
import type { Records } from '../base/records.ts'
import { createSerial } from '../base/serial.ts'
import { isMissing, isObject } from '../base/unknown.ts'
import { replaceWhole, signatureOf } from './files.ts'
import { byId, type Clash, type Entries, merge } from './records-merge.ts'

export interface RecordsFile<One extends { readonly id: string }> extends Records<One> {
  /** Writes what is pending. */
  flush(): Promise<void>
}

export interface RecordsParts<One> {
  readonly path: string
  /** Parses a record; null: it is not understood, is left as it is and not shown. Its `id` is set. */
  read(raw: unknown): One | null
  newId(): string
  now(): number
  readonly pauseMs: number
  /** Nothing is lost: the records are in memory, and the write is tried again. */
  failed(error: unknown): void
  /** `settle` undoes what a guest has just made of the file; `wrote` says that a change of the file is ours. */
  readonly guard?: { settle(file: string): Promise<void>; wrote(file: string): void; isInDoubt(file: string): boolean }
}

const retryMs = 5000
const mostTries = 5
const mostRemoved = 100
/** For the file of dropped values; when it is full it becomes the older of two such files. */
const mostLostBytes = 1024 * 1024
/** Somebody who saves in place may be half done: a file that is not valid JSON gets a moment to become valid. */
const patience = { times: 4, ms: 50 }

type Found =
  | {
      readonly type: 'list'
      readonly list: readonly unknown[]
      readonly around: Readonly<Record<string, unknown>> | null
    }
  | { readonly type: 'missing' }
  | { readonly type: 'broken' }

export function createRecords<One extends { readonly id: string }>(parts: RecordsParts<One>): RecordsFile<One> {
  const { path, read, newId, now, pauseMs, failed } = parts
  let entries = new Map<string, unknown>()
  /** The content of the file when both sides last agreed. */
  let base: Entries = new Map()
  /** The rest of the object, if the file is an object around the list. */
  let around: Readonly<Record<string, unknown>> | null = null
  /** The records removed last, until the process ends. */
  const removed = new Map<string, Readonly<Record<string, unknown>>>()
  let seen: string | null = null
  let broken: string | null = null
  let dirty = false
  let timer: NodeJS.Timeout | null = null
  /** One at a time, so that a read and its consequence are one step. */
  const inTurn = createSerial()

  const look = async (): Promise<{ readonly found: Found; readonly signature: string | null }> => {
    for (let i = 1; ; i++) {
      const signature = signatureOf(path)
      const found = await readList(path)
      // Replaced while it was read: the text may be either version.
      if (signature !== signatureOf(path)) continue
      if (found.type !== 'broken' || i === patience.times) return { found, signature }
      await pause(patience.ms)
    }
  }

  /** Without what a guest makes of the file while their turn runs. */
  const lookSafely = async () => {
    const { guard } = parts
    for (let tries = 0; tries < mostTries; tries++) {
      await guard?.settle(basename(path))
      const looked = await look()
      if (!guard?.isInDoubt(basename(path))) return looked
    }
    throw new Error(`${basename(path)} keeps changing; it is read again later.`)
  }

  const takeIn = async (): Promise<void> => {
    const now = signatureOf(path)
    if (now === seen || (now !== null && now === broken)) return
    const { found, signature } = await lookSafely()
    if (signature === seen) return
    // A missing file means nothing: an editor may be about to put the next version there.
    if (found.type === 'missing') seen = null
    else if (found.type === 'broken') {
      broken = signature
      failed(
        new Error(
          `${basename(path)} is not a valid JSON list; fix it. It will be renamed before the next change is written.`,
        ),
      )
    } else {
      const theirs = byId(found.list)
      const clashes: Clash[] = []
      entries = merge(base, entries, theirs, clash => clashes.push(clash))
      base = theirs
      around = found.around
      seen = signature
      if (clashes.length > 0) await keep(clashes)
    }
  }

  /** People who write the file cannot be notified like HTTP clients, so dropped values are stored beside it. */
  const keep = async (clashes: readonly Clash[]): Promise<void> => {
    const at = new Date(now()).toISOString()
    const lines = clashes.map(clash => `${JSON.stringify({ at, ...clash })}\n`)
    const beside = `${path}.lost.jsonl`
    try {
      const size = statSync(beside, { throwIfNoEntry: false })?.size ?? 0
      if (size > mostLostBytes) renameSync(beside, `${path}.lost-before.jsonl`)
      await appendFile(beside, lines.join(''), { mode: 0o600 })
      const where = `the newer value was kept, the other one is in ${basename(beside)}`
      failed(new Error(`${basename(path)} was changed by two sides at the same time, in the same field; ${where}.`))
    } catch (error) {
      failed(error)
    }
  }

  const write = async (): Promise<void> => {
    if (timer) clearTimeout(timer)
    timer = null
    if (!dirty) return
    try {
      for (let written: string | null = null; written === null; ) {
        await takeIn()
        if (broken !== null && signatureOf(path) === broken) renameSync(path, asideName(path, now()))
        const expected = signatureOf(path) === null ? null : seen
        const list = [...entries.values()]
        const text = JSON.stringify(around ? { ...around, items: list } : list, null, 2)
        written = await replaceWhole(path, `${text}\n`, () => signatureOf(path) === expected)
        if (written !== null) {
          seen = written
          parts.guard?.wrote(basename(path))
        }
      }
      base = new Map(entries)
      dirty = false
    } catch (error) {
      timer ??= setTimeout(() => void inTurn(write), retryMs).unref()
      failed(error)
    }
  }

  const touch = () => {
    dirty = true
    timer ??= setTimeout(() => void inTurn(write), pauseMs)
  }

  const shown = cachedReader(read)
  const edit = <T>(work: () => T): Promise<T> =>
    inTurn(async () => {
      await takeIn()
      return work()
    })
  const put = (id: string, raw: Readonly<Record<string, unknown>>): One => {
    const one = shown(id, raw)
    if (!one) throw new Error(`this is not a valid entry of ${basename(path)}`)
    entries.set(id, raw)
    touch()
    return one
  }

  return {
    list: () => edit(() => [...entries].flatMap(([id, raw]) => shown(id, raw) ?? [])),
    add: record =>
      edit(() => {
        const at = new Date(now()).toISOString()
        const id = newId()
        return put(id, { id, ...record, createdAt: at, updatedAt: at })
      }),
    change: (id, change, was = {}) =>
      edit(() => {
        const raw = entries.get(id)
        const item = shown(id, raw)
        if (!isObject(raw) || !item) return { type: 'gone' }
        const moved = (Object.keys(was) as (keyof typeof was & keyof One)[]).some(
          field => !same(item[field], was[field]) && !(field in change && same(item[field], change[field])),
        )
        if (moved) return { type: 'conflict', item }
        const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined))
        return { type: 'changed', item: put(id, { ...raw, ...given, updatedAt: new Date(now()).toISOString() }) }
      }),
    remove: id =>
      edit(() => {
        const raw = entries.get(id)
        const item = shown(id, raw)
        if (!isObject(raw) || !item) return null
        removed.delete(id)
        removed.set(id, raw)
        for (const oldest of removed.keys()) if (removed.size > mostRemoved) removed.delete(oldest)
        entries.delete(id)
        touch()
        return item
      }),
    restore: id =>
      edit(() => {
        const raw = removed.get(id)
        removed.delete(id)
        // The file may have restored it already.
        return shown(id, entries.get(id)) ?? (raw ? put(id, raw) : null)
      }),
    flush: () => inTurn(write),
  }
}

async function readList(path: string): Promise<Found> {
  try {
    const raw: unknown = JSON.parse(await readFile(path, 'utf8'))
    if (Array.isArray(raw)) return { type: 'list', list: raw, around: null }
    if (isObject(raw) && Array.isArray(raw.items)) return { type: 'list', list: raw.items, around: raw }
    return { type: 'broken' }
  } catch (error) {
    // Also for a folder, or a file that we may not read: it is moved aside like an invalid one.
    return isMissing(error) ? { type: 'missing' } : { type: 'broken' }
  }
}

function asideName(path: string, at: number): string {
  const name = `${path}.broken-${new Date(at).toISOString().replaceAll(/[:.]/g, '-')}`
  let free = name
  for (let n = 2; existsSync(free); n++) free = `${name}-${n}`
  return free
}

/** Caches parsed records, so that listing does not parse them again. */
function cachedReader<One>(read: (raw: unknown) => One | null): (id: string, raw: unknown) => One | null {
  const known = new WeakMap<object, { readonly one: One | null }>()
  return (id, raw) => {
    if (!isObject(raw)) return null
    let found = known.get(raw)
    if (!found) {
      found = { one: read({ ...raw, id }) }
      known.set(raw, found)
    }
    return found.one
  }
}
