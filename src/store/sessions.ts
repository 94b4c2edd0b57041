// Which session of which backend a conversation goes on in. sessions.json shows the same for people and the agent.
import type { Usage } from '../base/agent.ts'
import type { LaneKey } from '../base/event.ts'
import type { Session, Sessions, SessionView } from '../base/sessions.ts'
import type { Clock } from '../base/time.ts'
import type { Database } from './database.ts'

export interface SessionStore extends Sessions {
  /** All sessions of a conversation. */
  forgetLane(lane: LaneKey): Promise<void>
  /** Lane to session id, as sessions.json shows it: where several backends took part, the latest. */
  all(): Readonly<Record<string, string>>
  /** All of them, those used last first. */
  list(): readonly SessionView[]
  /** The conversation that was answered last. */
  latest(): { readonly lane: LaneKey } | null
}

interface Row {
  session: string
  confirmed: number
  through: number
  totals: string | null
}

export function openSessions(db: Database, clock: Clock, changed: () => void): SessionStore {
  const sql = {
    find: db.prepare('SELECT session, confirmed, through, totals FROM sessions WHERE lane = ? AND backend = ?'),
    put: db.prepare(
      `INSERT INTO sessions (lane, backend, session, confirmed, updated_at) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (lane, backend) DO UPDATE SET confirmed = excluded.confirmed, updated_at = excluded.updated_at,
         totals = iif(session = excluded.session, totals, NULL), through = iif(session = excluded.session, through, 0),
         session = excluded.session`,
    ),
    advance: db.prepare(
      'UPDATE sessions SET through = ?, totals = ?, updated_at = ? WHERE lane = ? AND backend = ? AND confirmed = 1',
    ),
    forget: db.prepare('DELETE FROM sessions WHERE lane = ? AND backend = ?'),
    forgetLane: db.prepare('DELETE FROM sessions WHERE lane = ?'),
    all: db.prepare('SELECT lane, session FROM sessions WHERE confirmed = 1 ORDER BY lane, updated_at'),
    list: db.prepare(
      `SELECT lane, backend, session, updated_at AS updatedAt, coalesce(n, 0) AS unanswered
       FROM sessions LEFT JOIN (SELECT lane, count(*) AS n FROM items
         WHERE box = 'in' AND state IN ('waiting', 'running') GROUP BY lane) USING (lane)
       ORDER BY updated_at DESC, lane, backend`,
    ),
    latest: db.prepare('SELECT lane FROM sessions WHERE confirmed = 1 ORDER BY updated_at DESC LIMIT 1'),
  }
  const find = (lane: string, backend: string): Session | null => {
    const row = sql.find.get(lane, backend) as Row | undefined
    if (!row) return null
    const totals = row.totals === null ? null : (JSON.parse(row.totals) as Usage)
    return { id: row.session, confirmed: row.confirmed === 1, through: row.through, totals }
  }
  return {
    find: async (lane, backend) => find(lane, backend),
    async remember(lane, backend, session, confirmed) {
      // Every turn comes by here with what is known already.
      const known = find(lane, backend)
      if (known?.id === session && known.confirmed === confirmed) return
      await db.write(() => sql.put.run(lane, backend, session, confirmed ? 1 : 0, clock.now()))
      if (confirmed) changed()
    },
    advance(lane, backend, through, totals) {
      const text = totals === null ? null : JSON.stringify(totals)
      // In the same commit as the outcome that follows.
      db.write(() => sql.advance.run(through, text, clock.now(), lane, backend)).then(changed, () => undefined)
    },
    async forget(lane, backend) {
      await db.write(() => sql.forget.run(lane, backend))
      changed()
    },
    async forgetLane(lane) {
      await db.write(() => sql.forgetLane.run(lane))
      changed()
    },
    all: () => Object.fromEntries(sql.all.all().map(row => [row.lane, row.session])) as Record<string, string>,
    list: () => sql.list.all().map(row => ({ ...row }) as unknown as SessionView),
    latest: () => (sql.latest.get() as { lane: string } | undefined) ?? null,
  }
}
