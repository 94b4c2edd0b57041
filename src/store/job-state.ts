// The stored state of each job: when it was first seen, its last due time and the result of its pre-check.
import type { JobState, JobStates } from '../base/job-state.ts'
import type { Clock } from '../base/time.ts'
import type { Database } from './database.ts'

/**
 * Stored times are in the past: one this far ahead was written while the clock was wrong, and would silence its job until then. After the
 * correction no due time fires twice, because the queue knows their keys. A smaller difference is normal clock adjustment.
 */
const wrongAfterMs = 60_000

export function createJobStates(db: Database, clock: Clock): JobStates {
  const sql = {
    find: db.prepare('SELECT schedule, since, due, fired, checked FROM job_states WHERE kind = ? AND name = ?'),
    insert: db.prepare('INSERT INTO job_states (kind, name, schedule, since) VALUES (?, ?, ?, ?)'),
    reset: db.prepare('UPDATE job_states SET schedule = ?, since = ?, due = ?, fired = ? WHERE kind = ? AND name = ?'),
    note: db.prepare(
      `UPDATE job_states SET due = max(coalesce(due, ?3), coalesce(?3, due)), fired = coalesce(?4, fired), checked = coalesce(?5, checked)
       WHERE kind = ?1 AND name = ?2`,
    ),
    all: db.prepare('SELECT kind, name FROM job_states'),
    forget: db.prepare('DELETE FROM job_states WHERE kind = ? AND name = ?'),
  }
  const find = (kind: string, name: string) => sql.find.get(kind, name) as JobState | undefined

  return {
    know: (kind, name, schedule) =>
      db.write(() => {
        const now = clock.now()
        const known = find(kind, name)
        if (!known) {
          sql.insert.run(kind, name, schedule, now)
          return { schedule, since: now, due: null, fired: null, checked: null, aheadMs: 0 }
        }
        const ahead = Math.max(known.since, known.due ?? 0, known.fired ?? 0) - now
        const aheadMs = ahead > wrongAfterMs ? ahead : 0
        if (known.schedule === schedule && aheadMs === 0) return { ...known, aheadMs }
        const past = (at: number | null) => (aheadMs > 0 && at !== null ? Math.min(at, now) : at)
        const since = known.schedule === schedule ? Math.min(known.since, now) : now
        const [due, fired] = [past(known.due), past(known.fired)]
        sql.reset.run(schedule, since, due, fired, kind, name)
        return { schedule, since, due, fired, checked: known.checked, aheadMs }
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
