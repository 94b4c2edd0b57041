// Which session of which backend a conversation goes on in. sessions.json shows the same for people and the agent.
import type { Sessions } from '../base/sessions.ts'
import type { Clock } from '../base/time.ts'
import type { Database } from './database.ts'

export interface SessionStore extends Sessions {
  /** Lane to session id, as sessions.json shows it. */
  all(): Readonly<Record<string, string>>
}

export function openSessions(db: Database, clock: Clock, changed: () => void): SessionStore {
  const sql = {
    find: db.prepare('SELECT session, confirmed FROM sessions WHERE lane = ? AND backend = ?'),
    put: db.prepare(
      `INSERT INTO sessions (lane, backend, session, confirmed, updated_at) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (lane) DO UPDATE SET backend = excluded.backend, session = excluded.session,
         confirmed = excluded.confirmed, updated_at = excluded.updated_at`,
    ),
    forget: db.prepare('DELETE FROM sessions WHERE lane = ?'),
    all: db.prepare('SELECT lane, session FROM sessions WHERE confirmed = 1 ORDER BY lane'),
  }
  const find = (lane: string, backend: string) => {
    const row = sql.find.get(lane, backend) as { session: string; confirmed: number } | undefined
    return row ? { id: row.session, confirmed: row.confirmed === 1 } : null
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
    async forget(lane) {
      await db.write(() => sql.forget.run(lane))
      changed()
    },
    all: () => Object.fromEntries(sql.all.all().map(row => [row.lane, row.session])) as Record<string, string>,
  }
}
