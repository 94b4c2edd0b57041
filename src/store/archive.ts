// What was said, in files that people and the agent read: messages/*.jsonl and conversations/*.md. Written after the commit, from the same rows.
import { join } from 'node:path'
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
  /** What a clock on the wall shows then: the days and hours in conversations/. */
  wall(ms: number): WallTime
  /** Told once while it lasts. Nothing is lost: it is tried again. */
  failed(error: unknown): void
}

export interface Archive {
  /** Something may have ended. Costs nothing: it is written about 300 ms later. */
  nudge(): void
  /** Catches up, then writes after each nudge until the signal; what is owed then is for `flush`. */
  run(signal: AbortSignal): Promise<void>
  /** Resolves when everything that has ended is in the files, or could not be written and was told. */
  flush(): Promise<void>
}

const pauseMs = 300
const retryMs = 10_000
/** Small enough that nobody waits for one to be put into words. */
const batch = { rows: 100, characters: 250_000 }
const rotateOver = 5 * 1024 * 1024

interface Plan {
  readonly ids: readonly number[]
  readonly files: readonly Intent[]
}

export function openArchive({ db, dir, clock, wall, failed }: ArchiveParts): Archive {
  const sql = {
    // The condition of the index, word for word: else SQLite would look at every row there is.
    next: db.prepare(
      `SELECT id, box, lane, key, state, body, at FROM items
       WHERE archived = 0 AND (box = 'out' OR state NOT IN ('waiting', 'running')) ORDER BY id LIMIT ${batch.rows}`,
    ),
    intent: db.prepare('SELECT body FROM archive_intent'),
    intend: db.prepare('INSERT INTO archive_intent (id, body) VALUES (1, ?)'),
    done: db.prepare('DELETE FROM archive_intent'),
    mark: db.prepare('UPDATE items SET archived = 1 WHERE id IN (SELECT value FROM json_each(?))'),
  }
  let nudged = Promise.withResolvers<void>()
  let working: Promise<boolean> = Promise.resolve(true)
  let troubled = false

  /** Found only after a crash or a failed write: otherwise a plan is carried out as soon as it is made. */
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

  /** One at a time; true once nothing is owed. */
  const catchUp = async (): Promise<boolean> => {
    try {
      for (let next = leftOver() ?? (await plan()); next; next = await plan()) {
        const { ids, files } = next
        for (const file of files) await fulfil(dir, file)
        // The intent goes last. What a power cut brings back of this is found to be fulfilled, and marked again.
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
  const work = (): Promise<boolean> => (working = working.then(catchUp))

  return {
    nudge: () => nudged.resolve(),
    async run(signal) {
      const aborted = new Promise<void>(resolve => signal.addEventListener('abort', () => resolve(), { once: true }))
      for (let clean = await work(); !signal.aborted; clean = await work()) {
        const waited = clean ? nudged.promise : clock.sleep(retryMs, signal)
        await Promise.race([waited, aborted])
        if (signal.aborted) return
        nudged = Promise.withResolvers()
        await clock.sleep(clean ? pauseMs : 0, signal)
      }
    },
    flush: async () => void (await work()),
  }
}
