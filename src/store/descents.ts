// How much descends from each event, so that limits hold across restarts.
import type { DescentStore } from '../base/descent.ts'
import type { Clock } from '../base/time.ts'
import type { Database } from './database.ts'

export function createDescentStore(db: Database, clock: Clock): DescentStore {
  const used = db.prepare('SELECT turns, messages FROM descents WHERE origin = ?')
  const turnsOf = db.prepare('SELECT total(turns) AS turns FROM descents WHERE person = ? AND at >= ?')
  const add = db.prepare(
    `INSERT INTO descents (origin, person, at, turns, messages) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (origin) DO UPDATE SET turns = turns + excluded.turns, messages = messages + excluded.messages, at = excluded.at`,
  )
  const forget = db.prepare('DELETE FROM descents WHERE at < ?')
  return {
    used(origin) {
      const row = used.get(origin)
      return { turns: Number(row?.turns ?? 0), messages: Number(row?.messages ?? 0) }
    },
    turnsOf: (person, since) => Number(turnsOf.get(person, since)?.turns ?? 0),
    add: async (origin, person, { turns, messages }) =>
      void (await db.write(() => add.run(origin, person, clock.now(), turns, messages))),
    forgetBefore: async at => void (await db.write(() => forget.run(at))),
  }
}
