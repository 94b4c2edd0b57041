// Per job: since when it is known, which due time was the last, what its pre-check saw.
import type { JobMark, JobMarks } from '../base/marks.ts'
import type { Clock } from '../base/time.ts'
import type { Database } from './database.ts'

/** Marks are of the past: one this far ahead was made while the clock was wrong, and would silence its job until then. */
const wrongAfterMs = 2 * 3_600_000

export function openMarks(db: Database, clock: Clock): JobMarks {
  const sql = {
    find: db.prepare('SELECT schedule, since, due, fired, checked FROM job_marks WHERE kind = ? AND name = ?'),
    insert: db.prepare('INSERT INTO job_marks (kind, name, schedule, since) VALUES (?, ?, ?, ?)'),
    anew: db.prepare('UPDATE job_marks SET schedule = ?, since = ?, due = ? WHERE kind = ? AND name = ?'),
    note: db.prepare(
      `UPDATE job_marks SET due = max(coalesce(due, ?3), coalesce(?3, due)), fired = coalesce(?4, fired), checked = coalesce(?5, checked)
       WHERE kind = ?1 AND name = ?2`,
    ),
    all: db.prepare('SELECT kind, name FROM job_marks'),
    forget: db.prepare('DELETE FROM job_marks WHERE kind = ? AND name = ?'),
  }
  const find = (kind: string, name: string) => sql.find.get(kind, name) as JobMark | undefined

  return {
    know: (kind, name, schedule) =>
      db.write(() => {
        const now = clock.now()
        const known = find(kind, name)
        const wrong = known !== undefined && Math.max(known.since, known.due ?? 0) > now + wrongAfterMs
        if (known?.schedule === schedule && !wrong) return { ...known }
        const due = wrong ? null : (known?.due ?? null)
        if (known) sql.anew.run(schedule, now, due, kind, name)
        else sql.insert.run(kind, name, schedule, now)
        return { schedule, since: now, due, fired: known?.fired ?? null, checked: known?.checked ?? null }
      }),
    note: async (kind, name, { due = null, fired = null, checked = null }) =>
      void (await db.write(() => sql.note.run(kind, name, due, fired, checked))),
    forgetOthers: async jobs => {
      const kept = new Set(jobs.map(({ kind, name }) => `${kind}:${name}`))
      const others = (sql.all.all() as { kind: string; name: string }[]).filter(
        ({ kind, name }) => !kept.has(`${kind}:${name}`),
      )
      if (others.length === 0) return
      await db.write(() => {
        for (const { kind, name } of others) sql.forget.run(kind, name)
      })
    },
  }
}
