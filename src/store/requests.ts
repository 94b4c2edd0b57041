// Requests of agents in the database.
import type { NewRequest, Request, RequestStore } from '../base/requests.ts'
import type { Clock } from '../base/time.ts'
import type { Database } from './database.ts'

interface Row {
  readonly id: number
  readonly at: number
  readonly lane: string
  readonly event: number
  readonly body: string
  readonly state: string
  readonly answered_by: string | null
  readonly answered_at: number | null
  readonly verdict: string | null
  readonly always: string | null
}

const columns = 'id, at, lane, event, body, state, answered_by, answered_at, verdict, always'
const pending = `(state = 'open' OR (used = 0 AND state IN ('allowed', 'denied', 'expired')))`

export function createRequestStore(db: Database, clock: Clock): RequestStore {
  const sql = {
    add: db.prepare('INSERT INTO requests (at, lane, event, digest, body) VALUES (?, ?, ?, ?, ?)'),
    find: db.prepare(`SELECT ${columns} FROM requests WHERE id = ?`),
    open: db.prepare(`SELECT ${columns} FROM requests WHERE state = 'open' ORDER BY id`),
    countOpen: db.prepare(`SELECT count(*) AS n FROM requests WHERE state = 'open'`),
    openSince: db.prepare(`SELECT id, at FROM requests WHERE state = 'open' ORDER BY id`),
    ofLane: db.prepare(
      `SELECT ${columns} FROM requests WHERE lane = ? AND event >= ? AND event < ? ORDER BY event DESC, id DESC LIMIT ?`,
    ),
    all: db.prepare(`SELECT ${columns} FROM requests WHERE id < ? ORDER BY id DESC LIMIT ?`),
    pending: db.prepare(`SELECT ${columns} FROM requests WHERE event = ? AND digest = ? AND ${pending} ORDER BY id`),
    pendingOf: db.prepare(`SELECT ${columns} FROM requests WHERE event = ? AND ${pending} ORDER BY id`),
    orphans: db.prepare(
      `SELECT ${columns} FROM requests WHERE state = 'open' AND json_extract(body, '$.lasting') = 0
       AND event NOT IN (SELECT id FROM items WHERE queue = 'in' AND state IN ('waiting', 'running'))`,
    ),
    settle: db.prepare(
      `UPDATE requests SET state = ?, verdict = ?, answered_by = ?, answered_at = ?, always = ?, used = ?
       WHERE id = ? AND state = 'open'`,
    ),
    use: db.prepare('UPDATE requests SET used = 1 WHERE id = ? AND used = 0'),
    forget: db.prepare(`DELETE FROM requests WHERE at < ? AND state <> 'open'`),
  }
  const find = (id: number): Request | null => {
    const row = sql.find.get(id)
    return row ? toRequest(row as unknown as Row) : null
  }
  const all = (rows: readonly unknown[]) => rows.map(row => toRequest(row as Row))

  return {
    async add(request, digest) {
      const { lane, event, ...rest } = request
      const at = clock.now()
      const { lastInsertRowid } = await db.write(() => sql.add.run(at, lane, event, digest, JSON.stringify(rest)))
      return { ...request, ...unanswered, id: Number(lastInsertRowid), at }
    },
    find,
    open: () => all(sql.open.all()),
    countOpen: () => Number(sql.countOpen.get()?.n ?? 0),
    openSince: () => sql.openSince.all().map(({ id, at }) => ({ id: Number(id), at: Number(at) })),
    ofLane: (lane, from, to, most) => all(sql.ofLane.all(lane, from, to, most)).reverse(),
    all: (most, before) => all(sql.all.all(before ?? Number.MAX_SAFE_INTEGER, most)),
    pending: (event, digest) => all(sql.pending.all(event, digest)),
    pendingOf: event => all(sql.pendingOf.all(event)),
    orphans: () => all(sql.orphans.all()),
    async settle(id, { state, verdict, by, always, used }) {
      const words = verdict === null ? null : JSON.stringify(verdict)
      const { changes } = await db.write(() => sql.settle.run(state, words, by, clock.now(), always, used ? 1 : 0, id))
      return Number(changes) === 0 ? null : find(id)
    },
    use: async id => Number((await db.write(() => sql.use.run(id))).changes) > 0,
    forgetBefore: async at => void (await db.write(() => sql.forget.run(at))),
  }
}

const unanswered = { state: 'open', answeredBy: null, answeredAt: null, verdict: null, always: null } as const

function toRequest(row: Row): Request {
  const { id, at, lane, event, state, answered_by, answered_at, verdict, always } = row
  return {
    ...(JSON.parse(row.body) as Omit<NewRequest, 'lane' | 'event'>),
    ...{ id, at, lane, event },
    state: state as Request['state'],
    answeredBy: answered_by,
    answeredAt: answered_at,
    verdict: verdict === null ? null : (JSON.parse(verdict) as Request['verdict']),
    always: always as Request['always'],
  }
}
