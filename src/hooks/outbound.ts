// ipc/outbound: the agent sends messages by dropping files. Sent means stored in the outbox, on disk; then the file moves to sent/.
import { type FSWatcher, watch } from 'node:fs'
import { join } from 'node:path'
import type { Delivery } from '../base/chat.ts'
import { type Place, placeName } from '../base/event.ts'
import { label } from '../base/scrub.ts'
import type { Emit } from '../base/signal.ts'
import type { Clock } from '../base/time.ts'
import { errorText } from '../base/unknown.ts'
import { readDropped, type Seen, sameFile, seenAt, type Words } from './outbound-file.ts'
import { codeOf, createFolder } from './outbound-folder.ts'
import { sendable } from './sendable.ts'

export type OutboundDelivery = Required<Pick<Delivery, 'place' | 'text' | 'files'>>

export interface OutboundParts {
  /** The parent of ipc/outbound. */
  readonly workspace: string
  /** Resolves once it is on disk, also if the key is known. If it rejects, it is retried later. */
  put(key: string, delivery: OutboundDelivery): Promise<void>
  /** Null if there is no such channel, or no default channel. */
  placeOf(channel: string | null): Place | null
  /** Splits a text into pieces that the platform accepts. The text may be empty if there are files. */
  split(place: Place, text: string, files: readonly string[]): readonly string[]
  readonly emit: Emit
  readonly clock: Clock
  /** A guest may just have put this file there: it waits until that is known. Relative to the workspace. */
  isInDoubt?(file: string): boolean
}

export interface Outbound {
  /** Watches until the signal; finishes the file that is being sent. */
  run(signal: AbortSignal): Promise<void>
}

/** A file unchanged for this long is completely written. An unreadable one gets more time. */
const settleMs = 200
const quietMs = 2_000
const lookEveryMs = 5_000
const doubtMs = 500
const pruneEvery = 100

/** What is known about a file from pass to pass. */
interface Note {
  readonly seen: Seen
  readonly since: number
  /** Handled, but it could not be moved. */
  done: { readonly type: 'sent' } | { readonly type: 'failed'; readonly why: string } | null
  reported: boolean
}

export function createOutbound({ workspace, put, placeOf, split, emit, clock, isInDoubt }: OutboundParts): Outbound {
  const folder = createFolder(workspace, clock)
  let notes = new Map<string, Note>()
  const complain = (name: string, why: string) =>
    emit({ type: 'workspace-trouble', file: join('ipc/outbound', label(name)), why })

  const folderTrouble = onceInARow(why => complain('', why))
  const outboxTrouble = onceInARow(why => complain('', why))

  /** One pass over the folder. Returns the ms until the next file is due. */
  async function look(signal: AbortSignal): Promise<number> {
    const blocked = new Set<string>()
    const before = notes
    notes = new Map()
    // One time for the whole pass: otherwise a file could settle and be sent while an earlier name was skipped just before.
    const now = clock.now()
    let due = lookEveryMs
    let moved = 0
    for (const name of await folder.names()) {
      if (signal.aborted) break
      const note = await noteOf(name, before)
      if (note === null) continue
      notes.set(name, note)
      if (isInDoubt?.(`ipc/outbound/${name}`)) {
        due = Math.min(due, doubtMs)
        continue
      }
      const left = await consider(name, note, now - note.since, blocked)
      if (left > 0) due = Math.min(due, left)
      else {
        moved += 1
        if (moved % pruneEvery === 0) await folder.prune()
      }
    }
    if (moved > 0) await folder.prune()
    return due
  }

  async function noteOf(name: string, before: ReadonlyMap<string, Note>): Promise<Note | null> {
    const seen = await seenAt(join(folder.dir, name))
    if (seen === null) return null
    const known = before.get(name)
    return known && sameFile(known.seen, seen) ? known : { seen, since: clock.now(), done: null, reported: false }
  }

  /** 0 if it was moved out of the folder, otherwise the ms until it must be checked again. */
  async function consider(name: string, note: Note, quiet: number, blocked: Set<string>): Promise<number> {
    if (quiet < settleMs) return settleMs - quiet
    if (note.done === null) {
      const dropped = await readDropped(join(folder.dir, name), name, note.seen)
      switch (dropped.type) {
        case 'gone':
          return settleMs
        case 'unfinished':
          if (quiet < quietMs) return quietMs - quiet
          note.done = { type: 'failed', why: dropped.why }
          break
        case 'refused':
          note.done = { type: 'failed', why: dropped.why }
          break
        case 'message':
          note.done = await hand(dropped.key, dropped.words, blocked)
          break
        default:
          dropped satisfies never
      }
    }
    return note.done === null ? lookEveryMs : move(name, note, note.done)
  }

  /** Null to retry later. Messages to the same place wait with it, to keep their order. */
  async function hand(key: string, { channel, text, files }: Words, blocked: Set<string>): Promise<Note['done']> {
    const place = placeOf(channel)
    if (place === null) return { type: 'failed', why: noPlace(channel) }
    const where = placeName(place)
    if (blocked.has(where)) return null
    const along = await sendable(workspace, files)
    if ('why' in along) return { type: 'failed', why: along.why }
    const pieces = split(place, text, along.files)
    try {
      for (const [i, piece] of pieces.entries()) {
        const last = i === pieces.length - 1
        await put(i === 0 ? key : `${key}-${i}`, { place, text: piece, files: last ? along.files : [] })
      }
      outboxTrouble(null)
      return { type: 'sent' }
    } catch (error) {
      blocked.add(where)
      outboxTrouble(`Outgoing messages wait: ${errorText(error)}`)
      return null
    }
  }

  async function move(name: string, note: Note, done: NonNullable<Note['done']>): Promise<number> {
    // If it was rewritten since it was read, that is the next message, which must not be moved with this one.
    const seen = await seenAt(join(folder.dir, name))
    if (seen === null || !sameFile(seen, note.seen)) return settleMs
    try {
      if (done.type === 'sent') await folder.toSent(name)
      else {
        await folder.toFailed(name, done.why)
        complain(name, done.why)
      }
      return 0
    } catch (error) {
      const what = done.type === 'sent' ? 'It was sent.' : done.why
      if (!note.reported) complain(name, `${what} It cannot be moved (${codeOf(error)}).`)
      note.reported = true
      return lookEveryMs
    }
  }

  return {
    async run(signal) {
      let stirred = false
      let wake = () => {}
      const stir = () => {
        stirred = true
        wake()
      }
      const watching = openWatch(folder.dir, stir)
      signal.addEventListener('abort', stir)
      try {
        while (!signal.aborted) {
          stirred = false
          const began = clock.now()
          const due = await lookSafely(watching, signal)
          const nap = new AbortController()
          wake = () => nap.abort()
          if (signal.aborted) break
          if (!stirred) await clock.sleep(due, nap.signal)
          // Many changes are handled in one pass, not one by one.
          await clock.sleep(began + settleMs - clock.now(), signal)
        }
      } finally {
        signal.removeEventListener('abort', stir)
        watching.close()
      }
    },
  }

  async function lookSafely(watching: Watching, signal: AbortSignal): Promise<number> {
    try {
      const ready = await folder.ready()
      if ('why' in ready) {
        folderTrouble(ready.why)
        return lookEveryMs
      }
      watching.follow(ready.inode)
      const due = await look(signal)
      folderTrouble(null)
      return due
    } catch (error) {
      folderTrouble(`ipc/outbound cannot be read (${codeOf(error)}).`)
      return lookEveryMs
    }
  }
}

/** Reports a problem when it begins, and not again until it has ended (null) or changed. */
function onceInARow(emit: (why: string) => void): (why: string | null) => void {
  let last: string | null = null
  return why => {
    if (why !== null && why !== last) emit(why)
    last = why
  }
}

const noPlace = (channel: string | null): string =>
  channel === null
    ? 'It names no channel and there is no default one: add "channel", or set OUTPUT_CHANNEL_ID.'
    : `There is no channel "${label(channel)}" to send it to. Write it as chat:conversation, such as discord:123.`

interface Watching {
  /** Watches the current folder. If watching fails, polling has to do. */
  follow(inode: number): void
  close(): void
}

function openWatch(dir: string, stir: () => void): Watching {
  let open: { readonly watcher: FSWatcher; readonly inode: number } | null = null
  const close = () => {
    open?.watcher.close()
    open = null
  }
  return {
    follow(inode) {
      if (open?.inode === inode) return
      close()
      try {
        const watcher = watch(dir, { persistent: false }, stir)
        watcher.on('error', close)
        open = { watcher, inode }
      } catch {
        // Out of watches: polling has to do.
      }
    },
    close,
  }
}
