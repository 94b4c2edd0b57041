// The table behind the lanes. Every change is one job of a group commit; what is finished is never scanned.
import type { LaneKey } from '../base/event.ts'
import type { Arrival, Box, FollowUp, Outcome, Shelf, ShelfPut, ShelfRow } from '../base/lanes.ts'
import type { Clock } from '../base/time.ts'
import type { Database } from './database.ts'

/** received = answered + waiting + running + refused + failed, at every moment. */
export interface Counts {
  readonly received: number
  readonly waiting: number
  readonly running: number
  readonly answered: number
  readonly refused: number
  readonly failed: number
}

export interface SqliteShelf extends Shelf {
  counts(box: Box): Counts
  /** Notes, at once, that a letter which is being sent has left: after a crash it is not sent again. */
  sent(key: string): void
  /** Forgets what ended before `cutoff` and is archived; what nobody fetched until then is given up. Returns how many went. */
  forgetBefore(cutoff: number, signal: AbortSignal): Promise<number>
}

/** Put off until somebody asks for it: later than any real time. */
const never = 9_000_000_000_000_000

interface Row {
  id: number
  lane: string
  key: string
  body: string
  at: number
  attempts: number
  retries: number
  interrupted: number
  not_before: number
}

const columns = 'id, lane, key, body, at, attempts, retries, interrupted, not_before'

/** `archives`: somebody writes what ended to the archive, and it is kept until that is done. */
export function openShelf(db: Database, clock: Clock, archives = false): SqliteShelf {
  const sql = {
    last: db.prepare('SELECT at FROM items ORDER BY id DESC LIMIT 1'),
    recover: db.prepare(`UPDATE items SET state = 'waiting', interrupted = 1 WHERE box = ? AND state = 'running'`),
    sent: db.prepare(`UPDATE items SET sent = 1 WHERE box = 'out' AND key = ? AND state = 'running'`),
    left: db.prepare(`SELECT id FROM items WHERE box = ? AND state = 'running' AND sent = 1`),
    open: db.prepare(`SELECT ${columns} FROM items WHERE box = ? AND state IN ('waiting', 'running') ORDER BY id`),
    byKey: db.prepare('SELECT id FROM items WHERE box = ? AND key = ?'),
    insert: db.prepare(
      `INSERT INTO items (box, lane, key, state, body, at, attempts, archived)
       VALUES (?, ?, ?, ?, ?, ?, ?, ${archives ? 0 : 1}) RETURNING ${columns}`,
    ),
    take: db.prepare(
      `UPDATE items SET state = 'running', attempts = attempts + 1 WHERE id = ? AND state = 'waiting' RETURNING ${columns}`,
    ),
    end: db.prepare(
      `UPDATE items SET state = ?, ended_at = ?, why = ? WHERE id = ? AND state = 'running' RETURNING box`,
    ),
    later: db.prepare(
      `UPDATE items SET state = 'waiting', not_before = ?, attempts = 0, retries = retries + ?, sent = 0
       WHERE id = ? AND state = 'running'`,
    ),
    cut: db.prepare(
      `UPDATE items SET state = 'waiting', attempts = max(attempts - 1, 0), interrupted = 1 WHERE id = ? AND state = 'running'`,
    ),
    edit: db.prepare(`UPDATE items SET body = ? WHERE box = ? AND key = ? AND state = 'waiting' RETURNING ${columns}`),
    cancel: db.prepare(
      `UPDATE items SET state = 'cancelled', ended_at = ? WHERE box = ? AND key = ? AND state = 'waiting' RETURNING ${columns}`,
    ),
    read: db.prepare(`SELECT ${columns} FROM items WHERE id = ?`),
    count: db.prepare(
      'INSERT INTO counts (box, name, n) VALUES (?, ?, 1) ON CONFLICT (box, name) DO UPDATE SET n = n + 1',
    ),
    counts: db.prepare(
      `SELECT name, n FROM counts WHERE box = ?1
       UNION ALL SELECT state, count(*) FROM items WHERE box = ?1 AND state IN ('waiting', 'running') GROUP BY state`,
    ),
    oldest: db.prepare('SELECT id, at, state FROM items WHERE id > ? ORDER BY id LIMIT 500'),
    giveUp: db.prepare(
      `UPDATE items SET state = 'failed', why = 'never fetched', ended_at = ? WHERE id = ? AND box = 'out' AND state = 'waiting'`,
    ),
    remove: db.prepare(`DELETE FROM items WHERE id = ?${archives ? ' AND archived = 1' : ''}`),
    forgetLanes: ['sessions', 'conversations'].map(table =>
      db.prepare(
        `DELETE FROM ${table} WHERE updated_at < ? AND NOT EXISTS (SELECT 1 FROM items WHERE items.lane = ${table}.lane)`,
      ),
    ),
  }
  const watchers: { readonly box: Box; arrived(arrival: Arrival): void }[] = []
  let lastAt = (sql.last.get() as { at: number } | undefined)?.at ?? 0

  /** Never earlier than the item before, whatever the wall clock does. */
  const stamp = () => {
    lastAt = Math.max(lastAt, clock.now())
    return lastAt
  }

  const insert = (box: Box, lane: LaneKey, key: string, body: string, taken: boolean) => {
    sql.count.run(box, 'received')
    return toRow(sql.insert.get(box, lane, key, taken ? 'running' : 'waiting', body, stamp(), taken ? 1 : 0))
  }

  const follow = (followUps: readonly FollowUp[], arrivals: [Box, Arrival][]) => {
    for (const { box, lane, key, item } of followUps) {
      if (sql.byKey.get(box, key)) continue
      const row = insert(box, lane, key, JSON.stringify(item), false)
      arrivals.push([box, { id: row.id, key, lane, notBefore: 0 }])
    }
  }

  const announce = (arrivals: readonly [Box, Arrival][]) => {
    for (const [box, arrival] of arrivals) for (const one of watchers) if (one.box === box) one.arrived(arrival)
  }

  const settleOne = (id: number, outcome: Outcome) => {
    switch (outcome.type) {
      case 'done':
      case 'failed': {
        const failed = outcome.type === 'failed'
        const ended = sql.end.get(outcome.type, clock.now(), failed ? outcome.why : null, id) as
          | { box: Box }
          | undefined
        if (ended) sql.count.run(ended.box, failed ? 'failed' : 'answered')
        return
      }
      case 'later':
        sql.later.run(Number.isFinite(outcome.at) ? Math.ceil(outcome.at) : never, outcome.retry ? 1 : 0, id)
        return
      case 'cut':
        sql.cut.run(id)
        return
      default:
        outcome satisfies never
    }
  }

  return {
    recover: box =>
      db.write(() => {
        for (const { id } of sql.left.all(box)) settleOne(Number(id), { type: 'done' })
        sql.recover.run(box)
        return sql.open.all(box).map(toRow)
      }),

    put: (box, lane, key, body, how) =>
      db.write((): ShelfPut => {
        const known = sql.byKey.get(box, key) as { id: number } | undefined
        if (known) return { type: 'duplicate', id: known.id }
        if (how !== 'refuse') return { type: 'stored', row: insert(box, lane, key, body, how === 'start') }
        sql.count.run(box, 'received')
        sql.count.run(box, 'refused')
        return { type: 'refused' }
      }),

    async take(ids, how) {
      const takeAll = () => ids.flatMap(id => sql.take.all(id)).map(toRow)
      return how === 'durably' ? db.write(takeAll) : db.writeLightly(takeAll)
    },

    async settle(ids, outcome) {
      const arrivals: [Box, Arrival][] = []
      await db.write(() => {
        for (const id of ids) settleOne(id, outcome)
        if (outcome.type !== 'cut') follow(outcome.followUps ?? [], arrivals)
      })
      announce(arrivals)
    },

    knows: async (box, key) => sql.byKey.get(box, key) !== undefined,

    async file(box, lane, key, body, followUps) {
      const arrivals: [Box, Arrival][] = []
      const isNew = await db.write(() => {
        if (sql.byKey.get(box, key)) return false
        settleOne(insert(box, lane, key, body, true).id, { type: 'done' })
        follow(followUps, arrivals)
        return true
      })
      // After this round of the loop, so that whoever filed it hears of that before the answer.
      setImmediate(announce, arrivals)
      return isNew
    },

    async change(box, key, body, followUps = []) {
      const arrivals: [Box, Arrival][] = []
      const changed = await db.write(() => {
        const row = body === null ? sql.cancel.get(clock.now(), box, key) : sql.edit.get(body, box, key)
        if (!row) return null
        if (body === null) sql.count.run(box, 'refused')
        follow(followUps, arrivals)
        return toRow(row)
      })
      announce(arrivals)
      return changed
    },

    read: async ids => ids.flatMap(id => sql.read.all(id)).map(toRow),

    sent: key => db.mark(() => sql.sent.run(key)),

    watch(box, arrived) {
      watchers.push({ box, arrived })
    },

    counts(box) {
      const n = Object.fromEntries(sql.counts.all(box).map(row => [row.name, Number(row.n)]))
      const { received = 0, answered = 0, refused = 0, failed = 0, waiting = 0, running = 0 } = n
      return { received, answered, waiting, running, refused, failed }
    },

    async forgetBefore(cutoff, signal) {
      let gone = 0
      for (let after = 0, more = true; more && !signal.aborted; ) {
        // Small steps, so that a message never waits for the broom.
        await db.write(() => {
          const rows = sql.oldest.all(after) as { id: number; at: number; state: string }[]
          more = rows.length === 500
          for (const { id, at, state } of rows) {
            // Times grow with the ids: from here on everything is younger.
            if (at >= cutoff) {
              more = false
              break
            }
            after = id
            if (state === 'waiting') {
              if (sql.giveUp.run(clock.now(), id).changes > 0) sql.count.run('out', 'failed')
            } else if (state !== 'running') gone += Number(sql.remove.run(id).changes)
          }
        })
      }
      await db.write(() => {
        for (const forget of sql.forgetLanes) forget.run(cutoff)
      })
      return gone
    },
  }
}

function toRow(raw: unknown): ShelfRow {
  const row = raw as Row
  return {
    id: row.id,
    lane: row.lane,
    key: row.key,
    body: row.body,
    at: row.at,
    attempts: row.attempts,
    retries: row.retries,
    interrupted: row.interrupted === 1,
    notBefore: row.not_before >= never ? Number.POSITIVE_INFINITY : row.not_before,
  }
}
