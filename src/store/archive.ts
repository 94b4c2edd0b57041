// Archives conversations in files for people and the agent: messages/*.jsonl and conversations/*.md. Written after the commit, from the same rows.

import { join } from 'node:path'
import { aborted } from '../base/aborted.ts'
import { createSerial } from '../base/serial.ts'
import type { Clock } from '../base/time.ts'
import type { WallTime } from '../base/zone.ts'
import { endOf, fulfil, type Intent, rotate } from './archive-files.ts'
import { type ArchiveRow, dayOf, fileNameOf, messageOf, paragraphOf } from './archive-lines.ts'
import type { Database } from './database.ts'

export interface ArchiveParts {
  readonly db: Database
  /** The workspace. */
  readonly dir: string
  readonly clock: Clock
  /** That time in the owner's time zone: for days and hours in conversations/. */
  wall(ms: number): WallTime
  /** Called once per failure period. Nothing is lost: writing is tried again. */
  failed(error: unknown): void
}

export interface Archive {
  /** Something may have ended. Cheap: it is written about 300 ms later. */
  nudge(): void
  /** Catches up, then writes after each nudge until the signal aborts; call `flush` for what is pending then. */
  run(signal: AbortSignal): Promise<void>
  /** Resolves when everything that has ended is in the files, or the failure to write it was reported. */
  flush(): Promise<void>
}

const pauseMs = 300
const retryMs = 10_000
/** Small enough that formatting one batch blocks nobody. */
const batch = { rows: 100, characters: 250_000 }
const rotateOver = 5 * 1024 * 1024

interface Plan {
  readonly ids: readonly number[]
  readonly files: readonly Intent[]
}

export function createArchive({ db, dir, clock, wall, failed }: ArchiveParts): Archive {
  const sql = {
    // Exactly the condition of the index: otherwise SQLite would scan all rows.
    next: db.prepare(
      `SELECT id, queue, lane, key, state, body, at FROM items
       WHERE archived = 0 AND (queue = 'out' OR state NOT IN ('waiting', 'running')) ORDER BY id LIMIT ${batch.rows}`,
    ),
    intent: db.prepare('SELECT body FROM archive_intent'),
    intend: db.prepare('INSERT INTO archive_intent (id, body) VALUES (1, ?)'),
    done: db.prepare('DELETE FROM archive_intent'),
    mark: db.prepare('UPDATE items SET archived = 1 WHERE id IN (SELECT value FROM json_each(?))'),
  }
  let nudged = Promise.withResolvers<void>()
  const inOrder = createSerial()
  let troubled = false

  /** Exists only after a crash or a failed write: otherwise a plan is carried out as soon as it is made. */
  const leftOver = (): Plan | null => {
    const row = sql.intent.get() as { body: string } | undefined
    return row ? (JSON.parse(row.body) as Plan) : null
  }

  const plan = async (): Promise<Plan | null> => {
    const rows: ArchiveRow[] = []
    let characters = 0
    for (const row of sql.next.iterate()) {
      const one = row as unknown as ArchiveRow
      characters += one.body.length
      if (rows.length > 0 && characters > batch.characters) break
      rows.push(one)
    }
    if (rows.length === 0) return null
    const made = { ids: rows.map(({ id }) => id), files: await intents(rows) }
    await db.write(() => sql.intend.run(JSON.stringify(made)))
    return made
  }

  const intents = async (rows: readonly ArchiveRow[]): Promise<readonly Intent[]> => {
    const pieces = new Map<string, { readonly head: string; readonly texts: string[] }>()
    const put = (path: string, head: string, text: string) => {
      const known = pieces.get(path)
      if (known) known.texts.push(text)
      else pieces.set(path, { head, texts: [text] })
    }
    for (const row of rows) {
      const message = messageOf(row)
      if (!message) continue
      const name = fileNameOf(row.lane)
      const shown = wall(row.at)
      const day = dayOf(shown)
      put(join('messages', `${name}.jsonl`), '', `${JSON.stringify(message)}\n`)
      put(join('conversations', `${name}-${day}.md`), `# ${name}, ${day}\n\n`, paragraphOf(message, shown))
    }
    const files: Intent[] = []
    for (const [path, { head, texts }] of pieces) files.push(await intentOf(path, head, texts))
    return files
  }

  const intentOf = async (path: string, head: string, texts: readonly string[]): Promise<Intent> => {
    const aside = `aside-${clock.now()}`
    let end = await endOf(join(dir, path), aside)
    if (end.size > rotateOver && path.endsWith('.jsonl')) {
      await rotate(join(dir, path))
      end = { size: 0, open: false }
    }
    const before = end.size === 0 ? head : end.open ? '\n' : ''
    const [first = '', ...others] = texts
    return { path, size: end.size, pieces: [`${before}${first}`, ...others] }
  }

  /** One at a time; true once nothing is pending. */
  const catchUp = async (): Promise<boolean> => {
    try {
      for (let next = leftOver() ?? (await plan()); next; next = await plan()) {
        const { ids, files } = next
        for (const file of files) await fulfil(dir, file)
        // The intent is deleted last. If a power failure undoes this, the intent turns out to be fulfilled and is deleted again.
        db.writeLightly(() => {
          sql.mark.run(JSON.stringify(ids))
          sql.done.run()
        })
      }
      troubled = false
      return true
    } catch (error) {
      if (!troubled) failed(error)
      troubled = true
      return false
    }
  }
  const work = (): Promise<boolean> => inOrder(catchUp)

  return {
    nudge: () => nudged.resolve(),
    async run(signal) {
      const stopped = aborted(signal)
      for (let clean = await work(); !signal.aborted; clean = await work()) {
        const waited = clean ? nudged.promise : clock.sleep(retryMs, signal)
        await Promise.race([waited, stopped])
        if (signal.aborted) return
        nudged = Promise.withResolvers()
        await clock.sleep(clean ? pauseMs : 0, signal)
      }
    },
    flush: async () => void (await work()),
  }
}
