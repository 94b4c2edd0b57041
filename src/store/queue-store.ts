// The table behind the lanes. Every change is one job of a group commit; finished items are never scanned.
import type { LaneKey, NewEvent } from '../base/event.ts'
import type {
  Arrival,
  FollowUp,
  Outcome,
  QueueCounts,
  QueueName,
  QueueRow,
  QueueStore,
  StoredPut,
} from '../base/lanes.ts'
import type { Clock } from '../base/time.ts'
import type { Database } from './database.ts'

/** received = answered + waiting + running + refused + failed, at any time. */
export interface SqliteQueueStore extends QueueStore {
  counts(queue: QueueName): QueueCounts
  /** How many deliveries wait for a retry because the last attempt failed. */
  delayed(): number
  /** Records immediately that a delivery in progress was sent: after a crash it is not sent again. */
  sent(key: string): void
  /** The events that were running when the gateway was killed, until `killedDealtWith`. Not those that an orderly stop interrupted. */
  killed(): readonly { readonly id: number; readonly item: NewEvent }[]
  killedDealtWith(): Promise<void>
  /**
   * Deletes items that ended before `cutoff` and are archived; older deliveries that nobody fetched are given up. Returns how many were
   * deleted.
   */
  forgetBefore(cutoff: number, signal: AbortSignal): Promise<number>
}

/** Deferred until somebody asks for it: later than any real time. */
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

/** Repeats the condition of the index on open items: SQLite does not infer it, and would read all finished rows. */
const running = `state = 'running' AND state IN ('waiting', 'running')`

const columns = 'id, lane, key, body, at, attempts, retries, interrupted, not_before'

/** `archives`: finished items are kept until they have been archived. */
export function createQueueStore(db: Database, clock: Clock, archives = false): SqliteQueueStore {
  const sql = {
    last: db.prepare('SELECT at FROM items ORDER BY id DESC LIMIT 1'),
    recover: db.prepare(`UPDATE items SET state = 'waiting', interrupted = 1 WHERE queue = ? AND ${running}`),
    notLater: db.prepare(
      `UPDATE items SET not_before = ?2 + delay
       WHERE queue = ?1 AND state IN ('waiting', 'running') AND delay IS NOT NULL AND not_before > ?2 + delay`,
    ),
    noteKilled: db.prepare(
      `INSERT OR IGNORE INTO killed_turns (event) SELECT id FROM items WHERE queue = 'in' AND ${running}`,
    ),
    killed: db.prepare('SELECT id, body FROM killed_turns JOIN items ON items.id = killed_turns.event ORDER BY id'),
    killedDealtWith: db.prepare('DELETE FROM killed_turns'),
    sent: db.prepare(`UPDATE items SET sent = 1 WHERE queue = 'out' AND key = ? AND state = 'running'`),
    left: db.prepare(`SELECT id FROM items WHERE queue = ? AND ${running} AND sent = 1`),
    open: db.prepare(`SELECT ${columns} FROM items WHERE queue = ? AND state IN ('waiting', 'running') ORDER BY id`),
    byKey: db.prepare('SELECT id FROM items WHERE queue = ? AND key = ?'),
    insert: db.prepare(
      `INSERT INTO items (queue, lane, key, state, body, at, attempts, archived)
       VALUES (?, ?, ?, ?, ?, ?, ?, ${archives ? 0 : 1}) RETURNING ${columns}`,
    ),
    take: db.prepare(
      `UPDATE items SET state = 'running', attempts = attempts + 1 WHERE id = ? AND state = 'waiting' RETURNING ${columns}`,
    ),
    end: db.prepare(
      `UPDATE items SET state = ?, ended_at = ?, why = ? WHERE id = ? AND state = 'running' RETURNING queue`,
    ),
    later: db.prepare(
      `UPDATE items SET state = 'waiting', not_before = ?, delay = ?, attempts = 0, retries = retries + ?, sent = 0, interrupted = 0
       WHERE id = ? AND state = 'running'`,
    ),
    cut: db.prepare(
      `UPDATE items SET state = 'waiting', attempts = max(attempts - 1, 0), interrupted = 1 WHERE id = ? AND state = 'running'`,
    ),
    edit: db.prepare(
      `UPDATE items SET body = ? WHERE queue = ? AND key = ? AND state = 'waiting' RETURNING ${columns}`,
    ),
    cancel: db.prepare(
      `UPDATE items SET state = 'cancelled', ended_at = ? WHERE queue = ? AND key = ? AND state = 'waiting' RETURNING ${columns}`,
    ),
    read: db.prepare(`SELECT ${columns} FROM items WHERE id = ?`),
    count: db.prepare(
      'INSERT INTO counts (queue, name, n) VALUES (?, ?, 1) ON CONFLICT (queue, name) DO UPDATE SET n = n + 1',
    ),
    counts: db.prepare(
      `SELECT name, n FROM counts WHERE queue = ?1
       UNION ALL SELECT state, count(*) FROM items WHERE queue = ?1 AND state IN ('waiting', 'running') GROUP BY state`,
    ),
    delayed: db.prepare(
      `SELECT count(*) AS n FROM items WHERE queue = 'out' AND state IN ('waiting', 'running') AND retries > 0`,
    ),
    oldest: db.prepare('SELECT id, at, state FROM items WHERE id > ? ORDER BY id LIMIT 500'),
    giveUp: db.prepare(
      `UPDATE items SET state = 'failed', why = 'never fetched', ended_at = ? WHERE id = ? AND queue = 'out' AND state = 'waiting'`,
    ),
    remove: db.prepare(`DELETE FROM items WHERE id = ?${archives ? ' AND archived = 1' : ''}`),
    forgetLanes: ['sessions', 'conversations'].map(table =>
      db.prepare(
        `DELETE FROM ${table} WHERE updated_at < ? AND NOT EXISTS (SELECT 1 FROM items WHERE items.lane = ${table}.lane)`,
      ),
    ),
  }
  const watchers: { readonly queue: QueueName; arrived(arrival: Arrival): void }[] = []
  let lastAt = (sql.last.get() as { at: number } | undefined)?.at ?? 0

  /** Never earlier than the item before, whatever the wall clock does. */
  const stamp = () => {
    lastAt = Math.max(lastAt, clock.now())
    return lastAt
  }

  const insert = (queue: QueueName, lane: LaneKey, key: string, body: string, taken: boolean) => {
    sql.count.run(queue, 'received')
    return toRow(sql.insert.get(queue, lane, key, taken ? 'running' : 'waiting', body, stamp(), taken ? 1 : 0))
  }

  const follow = (followUps: readonly FollowUp[], arrivals: [QueueName, Arrival][]) => {
    for (const { queue, lane, key, item } of followUps) {
      if (sql.byKey.get(queue, key)) continue
      const row = insert(queue, lane, key, JSON.stringify(item), false)
      arrivals.push([queue, { id: row.id, key, lane, notBefore: 0, item }])
    }
  }

  const announce = (arrivals: readonly [QueueName, Arrival][]) => {
    for (const [queue, arrival] of arrivals) for (const one of watchers) if (one.queue === queue) one.arrived(arrival)
  }

  const defer = (id: number, at: number, retry: number) => {
    if (!Number.isFinite(at)) sql.later.run(never, null, retry, id)
    else sql.later.run(Math.ceil(at), Math.max(0, Math.ceil(at - clock.now())), retry, id)
  }

  const settleOne = (id: number, outcome: Outcome) => {
    switch (outcome.type) {
      case 'done':
      case 'failed': {
        const failed = outcome.type === 'failed'
        const ended = sql.end.get(outcome.type, clock.now(), failed ? outcome.why : null, id) as
          | { queue: QueueName }
          | undefined
        if (ended) sql.count.run(ended.queue, failed ? 'failed' : 'answered')
        return
      }
      case 'later':
        defer(id, outcome.at, outcome.retry ? 1 : 0)
        return
      case 'cut':
        sql.cut.run(id)
        return
      default:
        outcome satisfies never
    }
  }

  return {
    recover: queue =>
      db.write(() => {
        for (const { id } of sql.left.all(queue)) settleOne(Number(id), { type: 'done' })
        if (queue === 'in') sql.noteKilled.run()
        sql.recover.run(queue)
        // Otherwise an item would wait longer after the clock was set back.
        sql.notLater.run(queue, clock.now())
        return sql.open.all(queue).map(toRow)
      }),

    put: (queue, lane, key, body, how) =>
      db.write((): StoredPut => {
        const known = sql.byKey.get(queue, key) as { id: number } | undefined
        if (known) return { type: 'duplicate', id: known.id }
        if (how !== 'refuse') return { type: 'stored', row: insert(queue, lane, key, body, how === 'start') }
        sql.count.run(queue, 'received')
        sql.count.run(queue, 'refused')
        return { type: 'refused' }
      }),

    async take(ids, how) {
      const takeAll = () => ids.flatMap(id => sql.take.all(id)).map(toRow)
      return how === 'durably' ? db.write(takeAll) : db.writeLightly(takeAll)
    },

    async settle(ids, outcome) {
      const arrivals: [QueueName, Arrival][] = []
      await db.write(() => {
        for (const id of ids) settleOne(id, outcome)
        if (outcome.type !== 'cut') follow(outcome.followUps ?? [], arrivals)
      })
      announce(arrivals)
    },

    knows: async (queue, key) => sql.byKey.get(queue, key) !== undefined,

    async file(queue, lane, key, body, followUps) {
      const arrivals: [QueueName, Arrival][] = []
      const isNew = await db.write(() => {
        if (sql.byKey.get(queue, key)) return false
        settleOne(insert(queue, lane, key, body, true).id, { type: 'done' })
        follow(followUps, arrivals)
        return true
      })
      // After this round of the event loop, so that whoever filed it learns of that before the answer.
      setImmediate(announce, arrivals)
      return isNew
    },

    async change(queue, key, body, followUps = []) {
      const arrivals: [QueueName, Arrival][] = []
      const changed = await db.write(() => {
        const row = body === null ? sql.cancel.get(clock.now(), queue, key) : sql.edit.get(body, queue, key)
        if (!row) return null
        if (body === null) sql.count.run(queue, 'refused')
        follow(followUps, arrivals)
        return toRow(row)
      })
      announce(arrivals)
      return changed
    },

    read: async ids => ids.flatMap(id => sql.read.all(id)).map(toRow),

    killed: () =>
      (sql.killed.all() as { id: number; body: string }[]).map(({ id, body }) => ({ id, item: JSON.parse(body) })),

    killedDealtWith: async () => void (await db.write(() => sql.killedDealtWith.run())),

    sent: key => db.writeOptionally(() => sql.sent.run(key)),

    watch(queue, arrived) {
      watchers.push({ queue, arrived })
    },

    counts(queue) {
      const n = Object.fromEntries(sql.counts.all(queue).map(row => [row.name, Number(row.n)]))
      const { received = 0, answered = 0, refused = 0, failed = 0, waiting = 0, running = 0 } = n
      return { received, answered, waiting, running, refused, failed }
    },

    delayed: () => Number(sql.delayed.get()?.n ?? 0),

    async forgetBefore(cutoff, signal) {
      let gone = 0
      for (let after = 0, more = true; more && !signal.aborted; ) {
        // Small steps, so that a message never waits for the cleanup.
        await db.write(() => {
          const rows = sql.oldest.all(after) as { id: number; at: number; state: string }[]
          more = rows.length === 500
          for (const { id, at, state } of rows) {
            // Times increase with the ids: all further items are younger.
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

function toRow(raw: unknown): QueueRow {
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
