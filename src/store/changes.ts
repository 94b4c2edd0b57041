// The log of changes to the guarded files: text before, text after, and on whose behalf. Bounded in size.
import type { LaneKey } from '../base/event.ts'
import type { ChangeState, MemoryChange } from '../base/memory.ts'
import { visible } from '../base/scrub.ts'
import type { Clock } from '../base/time.ts'
import type { Database } from './database.ts'
import { isUnkept, type Version } from './guarded-files.ts'
import { unified } from './merge.ts'

export interface NewChange extends Pick<MemoryChange, 'file' | 'events' | 'lane' | 'person' | 'owner' | 'state'> {
  readonly before: Version
  readonly after: Version
  /** The file with the full text after the change, if it is not stored here; relative to the workspace. */
  readonly aside: string | null
}

export interface Change extends NewChange {
  readonly id: number
  readonly at: number
}

export interface Changes {
  /** The content of the files when they were last checked; empty: never checked. */
  known(): ReadonlyMap<string, Version>
  keep(versions: ReadonlyMap<string, Version>): Promise<void>
  /** Also stores, in the same commit, the current content of the file; null: of a file without a history. */
  record(change: NewChange, current: Version | null): Promise<Change>
  /** Stores the decision, with the resulting content if it is known. */
  decide(change: Change, current: Version | null): Promise<Change>
  find(id: number): Change | null
  /** The newest change in one of these states. */
  newest(states: readonly ChangeState[]): Change | null
  waiting(file: string, before: Version, after: Version): Change | null
  list(most: number): readonly Change[]
  /** Removes the secrets that are known by now from the changes that are decided. */
  redact(): Promise<void>
  /** A secret was removed from this text: it must not be written to a file. */
  isRedacted(text: string): boolean
}

/** `hide` puts `mask` in place of every known secret. */
export interface Secrets {
  hide(text: string): string
  readonly mask: string
}

const mostDecided = 1000
const mostWaiting = 200
/** For longer texts only the hash is stored. */
export const longestText = 64 * 1024

export const isTooLong = ({ text }: Version): boolean => text !== null && Buffer.byteLength(text) > longestText

interface Row {
  readonly id: number
  readonly at: number
  readonly file: string
  readonly events: string
  readonly lane: LaneKey | null
  readonly person: string | null
  readonly owner: number
  readonly state: ChangeState
  readonly before: string | null
  readonly before_hash: string
  readonly after: string | null
  readonly after_hash: string
  readonly aside: string | null
}

export function createChanges(
  db: Database,
  clock: Clock,
  secrets: Secrets = { hide: text => text, mask: '…' },
): Changes {
  const sql = {
    known: db.prepare('SELECT file, text, hash FROM guarded_files'),
    keep: db.prepare(
      `INSERT INTO guarded_files (file, text, hash) VALUES (?, ?, ?)
       ON CONFLICT (file) DO UPDATE SET text = excluded.text, hash = excluded.hash`,
    ),
    insert: db.prepare(
      `INSERT INTO changes (at, file, events, lane, person, owner, state, before, before_hash, after, after_hash, aside)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    decide: db.prepare(
      'UPDATE changes SET state = ?, before = ?, before_hash = ?, after = ?, after_hash = ?, aside = ? WHERE id = ?',
    ),
    find: db.prepare('SELECT * FROM changes WHERE id = ?'),
    newest: db.prepare('SELECT * FROM changes WHERE state = ? ORDER BY id DESC LIMIT 1'),
    waiting: db.prepare(
      `SELECT * FROM changes WHERE state = 'waiting' AND file = ? AND before_hash = ? AND after_hash = ? LIMIT 1`,
    ),
    list: db.prepare('SELECT * FROM changes ORDER BY id DESC LIMIT ?'),
    decided: db.prepare(
      "SELECT id, before, after FROM changes WHERE state <> 'waiting' AND id > ? ORDER BY id LIMIT 50",
    ),
    redact: db.prepare('UPDATE changes SET before = ?, after = ? WHERE id = ?'),
    // A flood of waiting changes must not push out the log, and must not be lost without a trace.
    giveUp: db.prepare(
      `UPDATE changes SET state = 'denied' WHERE state = 'waiting' AND id <=
         (SELECT id FROM changes WHERE state = 'waiting' ORDER BY id DESC LIMIT 1 OFFSET ${mostWaiting})`,
    ),
    forget: db.prepare(
      `DELETE FROM changes WHERE state <> 'waiting' AND id <=
         (SELECT id FROM changes WHERE state <> 'waiting' ORDER BY id DESC LIMIT 1 OFFSET ${mostDecided})`,
    ),
  }

  const hidden = (text: string | null) => (text === null ? null : secrets.hide(text))
  /** What waits is kept as it is, since approving it must give exactly that. */
  const stored = (version: Version, state: ChangeState) => {
    const text = isTooLong(version) ? null : version.text
    return [state === 'waiting' ? text : hidden(text), version.hash] as const
  }
  const keep = (file: string, version: Version | null) => version && sql.keep.run(file, version.text, version.hash)
  const one = (row: unknown): Change | null => (row === undefined ? null : changeOf(row as Row))

  return {
    known: () =>
      new Map(
        (sql.known.all() as unknown as (Version & { file: string })[]).map(({ file, text, hash }) => [
          file,
          { text, hash },
        ]),
      ),
    keep: versions =>
      db.write(() => {
        for (const [file, version] of versions) keep(file, version)
      }),
    record: (change, current) =>
      db.write(() => {
        const { file, events, lane, person, owner, state, before, after, aside } = change
        const at = clock.now()
        const { lastInsertRowid } = sql.insert.run(
          ...[at, file, JSON.stringify(events), lane, person, owner ? 1 : 0, state],
          ...[...stored(before, state), ...stored(after, state), aside],
        )
        keep(file, current)
        sql.giveUp.run()
        sql.forget.run()
        return { ...change, id: Number(lastInsertRowid), at }
      }),
    decide: (change, current) =>
      db.write(() => {
        const { id, file, state, before, after, aside } = change
        sql.decide.run(state, ...stored(before, state), ...stored(after, state), aside, id)
        keep(file, current)
        return change
      }),
    find: id => one(sql.find.get(id)),
    newest: states =>
      states
        .flatMap(state => one(sql.newest.get(state)) ?? [])
        .reduce<Change | null>((newest, next) => (newest && newest.id > next.id ? newest : next), null),
    waiting: (file, before, after) => one(sql.waiting.get(file, before.hash, after.hash)),
    async redact() {
      for (let from = 0; ; ) {
        const rows = sql.decided.all(from) as unknown as Pick<Row, 'id' | 'before' | 'after'>[]
        const found = rows.filter(({ before, after }) => hidden(before) !== before || hidden(after) !== after)
        if (found.length > 0)
          await db.write(() => {
            for (const { id, before, after } of found) sql.redact.run(hidden(before), hidden(after), id)
          })
        const last = rows.at(-1)
        if (!last) return
        from = last.id
      }
    },
    isRedacted: text => text.includes(secrets.mask),
    list: most => (sql.list.all(Math.max(0, Math.trunc(most))) as unknown as Row[]).map(changeOf),
  }
}

/** As shown to the owner. */
export function shownChange(change: Change): MemoryChange {
  const { id, at, file, events, lane, person, owner, state } = change
  // A name may have been chosen to look like a line of somebody else's.
  return { id, at, file: visible(file), events, lane, person, owner, state, diff: diffOf(change) }
}

/** The values in a diff of a `.env` file. */
const assigned = /^([+ -]\s*(?:export\s+)?[\w.]+\s*=).*$/gm

const diffOf = ({ file, before, after, aside }: Change): string => {
  if (before.text !== null && before.text === after.text) return '(only its permissions)'
  if (!isUnkept(before) && !isUnkept(after)) {
    const diff = unified(before.text ?? '', after.text ?? '')
    return /(?:^|\/)\.env[^/]*$/.test(file) ? diff.replace(assigned, '$1…') : diff
  }
  return aside === null ? '(too large to be shown)' : `(too large to be shown; the text after it is in ${aside})`
}

function changeOf(row: Row): Change {
  const { id, at, file, lane, person, state, aside } = row
  return {
    ...{ id, at, file, lane, person, state, aside },
    events: JSON.parse(row.events) as number[],
    owner: row.owner === 1,
    before: { text: row.before, hash: row.before_hash },
    after: { text: row.after, hash: row.after_hash },
  }
}
