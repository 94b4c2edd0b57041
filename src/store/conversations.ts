// What was settled for one conversation alone: who answers it, and from where on it counts.
import type { LaneKey } from '../base/event.ts'
import type { Clock } from '../base/time.ts'
import type { Database } from './database.ts'

/** Null: as it is for all. */
export interface ConversationChoice {
  readonly backend: string | null
  readonly model: string | null
}

export interface Conversations {
  choice(lane: LaneKey): ConversationChoice
  choose(lane: LaneKey, choice: ConversationChoice): Promise<void>
  /** What came before this item is not handed to an agent any more. */
  freshFrom(lane: LaneKey): number
  /** From here on it is a new conversation. */
  beginAnew(lane: LaneKey): Promise<void>
}

interface Row {
  backend: string | null
  model: string | null
  fresh_from: number
}

export function openConversations(db: Database, clock: Clock): Conversations {
  const find = db.prepare('SELECT backend, model, fresh_from FROM conversations WHERE lane = ?')
  const choose = db.prepare(
    `INSERT INTO conversations (lane, backend, model, updated_at) VALUES (?, ?, ?, ?)
     ON CONFLICT (lane) DO UPDATE SET backend = excluded.backend, model = excluded.model, updated_at = excluded.updated_at`,
  )
  const anew = db.prepare(
    `INSERT INTO conversations (lane, fresh_from, updated_at) VALUES (?1, (SELECT coalesce(max(id), 0) FROM items), ?2)
     ON CONFLICT (lane) DO UPDATE SET fresh_from = excluded.fresh_from, updated_at = excluded.updated_at`,
  )
  const row = (lane: LaneKey) => find.get(lane) as Row | undefined
  return {
    choice(lane) {
      const { backend = null, model = null } = row(lane) ?? {}
      return { backend, model }
    },
    choose: async (lane, { backend, model }) =>
      void (await db.write(() => choose.run(lane, backend, model, clock.now()))),
    freshFrom: lane => row(lane)?.fresh_from ?? 0,
    beginAnew: async lane => void (await db.write(() => anew.run(lane, clock.now()))),
  }
}
