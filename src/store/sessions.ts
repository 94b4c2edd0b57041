// Which session of which backend a conversation continues in. sessions.json shows the same for people and the agent.
import type { PermissionMode, Usage, Verbosity } from '../base/agent.ts'
import type { LaneKey } from '../base/event.ts'
import {
  type ReceivedPrompt,
  type Session,
  type Sessions,
  type SessionsAdmin,
  type SessionsPage,
  type SessionView,
  staleDays,
} from '../base/sessions.ts'
import { type Clock, day } from '../base/time.ts'
import type { Database } from './database.ts'

export interface SessionStore extends Sessions {
  /** All sessions of a conversation. */
  forgetLane(lane: LaneKey): Promise<void>
  /** Lane to session id, as shown in sessions.json: the conversations used last, each with the session of the backend used last. */
  latestOnes(): Readonly<Record<string, string>>
  /** Most recently used first. Null: `after` is not the `next` of a page. */
  list(most: number, after?: string): SessionsPage | null
  has(lane: LaneKey): boolean
  /** All conversations that have one; with a name, those with that name after the colon. */
  lanes(name?: string): readonly LaneKey[]
  /** Those not used since then, in which nothing waits or runs. */
  lanesUnusedSince(at: number): readonly LaneKey[]
  /** The conversation that was answered last. */
  latest(): { readonly lane: LaneKey } | null
}

interface Row {
  session: string
  confirmed: number
  through: number
  totals: string | null
  received: string | null
}

/** How many conversations sessions.json shows: it is rewritten whenever one is used. */
const shownInFile = 1000

export function openSessions(db: Database, clock: Clock, changed: () => void): SessionStore {
  const sql = {
    find: db.prepare(
      'SELECT session, confirmed, through, totals, received FROM sessions WHERE lane = ? AND backend = ?',
    ),
    put: db.prepare(
      `INSERT INTO sessions (lane, backend, session, confirmed, updated_at) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (lane, backend) DO UPDATE SET confirmed = excluded.confirmed, updated_at = excluded.updated_at,
         totals = iif(session = excluded.session, totals, NULL), through = iif(session = excluded.session, through, 0),
         received = iif(session = excluded.session, received, NULL), session = excluded.session`,
    ),
    receive: db.prepare('UPDATE sessions SET received = ? WHERE lane = ? AND backend = ?'),
    advance: db.prepare(
      'UPDATE sessions SET through = ?, totals = ?, updated_at = ? WHERE lane = ? AND backend = ? AND confirmed = 1',
    ),
    forget: db.prepare('DELETE FROM sessions WHERE lane = ? AND backend = ?'),
    forgetLane: db.prepare('DELETE FROM sessions WHERE lane = ?'),
    latestOnes: db.prepare(
      `SELECT lane, session FROM sessions WHERE confirmed = 1 ORDER BY updated_at DESC, lane, backend LIMIT ${shownInFile}`,
    ),
    list: db.prepare(
      `SELECT lane, backend, session, updated_at AS updatedAt, coalesce(n, 0) AS unanswered
       FROM (SELECT * FROM sessions WHERE updated_at <= ?1 AND (updated_at < ?1 OR (lane, backend) > (?2, ?3))
         ORDER BY updated_at DESC, lane, backend LIMIT ?4)
       LEFT JOIN (SELECT lane, count(*) AS n FROM items
         WHERE queue = 'in' AND state IN ('waiting', 'running') GROUP BY lane) USING (lane)
       ORDER BY updated_at DESC, lane, backend`,
    ),
    has: db.prepare('SELECT 1 FROM sessions WHERE lane = ? LIMIT 1'),
    conversations: db.prepare('SELECT count(DISTINCT lane) AS n FROM sessions'),
    lanes: db.prepare('SELECT DISTINCT lane FROM sessions ORDER BY lane'),
    lanesNamed: db.prepare(
      `SELECT DISTINCT lane FROM sessions WHERE substr(lane, instr(lane, ':') + 1) = ? ORDER BY lane`,
    ),
    lanesUnused: db.prepare(
      `SELECT lane FROM sessions GROUP BY lane HAVING max(updated_at) < ? AND lane NOT IN
         (SELECT lane FROM items WHERE queue = 'in' AND state IN ('waiting', 'running'))`,
    ),
    latest: db.prepare('SELECT lane FROM sessions WHERE confirmed = 1 ORDER BY updated_at DESC LIMIT 1'),
  }
  const find = (lane: string, backend: string): Session | null => {
    const row = sql.find.get(lane, backend) as Row | undefined
    if (!row) return null
    const totals = row.totals === null ? null : (JSON.parse(row.totals) as Usage)
    const received = row.received === null ? null : (JSON.parse(row.received) as ReceivedPrompt)
    return { id: row.session, confirmed: row.confirmed === 1, through: row.through, totals, received }
  }
  return {
    find: async (lane, backend) => find(lane, backend),
    async remember(lane, backend, session, confirmed) {
      // Every turn calls this, usually with what is already known.
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
    receive: (lane, backend, received) =>
      db.writeOptionally(() => sql.receive.run(JSON.stringify(received), lane, backend)),
    async forget(lane, backend) {
      await db.write(() => sql.forget.run(lane, backend))
      changed()
    },
    async forgetLane(lane) {
      await db.write(() => sql.forgetLane.run(lane))
      changed()
    },
    latestOnes() {
      const rows = sql.latestOnes.all() as unknown as { lane: string; session: string }[]
      // Of two backends, the one used last comes later here and wins.
      const latest = new Map(rows.reverse().map(({ lane, session }) => [lane, session]))
      return Object.fromEntries([...latest].sort(([a], [b]) => (a < b ? -1 : 1)))
    },
    list(most, after) {
      const from = after === undefined ? ([Number.MAX_SAFE_INTEGER, '', ''] as const) : placeIn(after)
      if (!from) return null
      const found = sql.list.all(...from, most + 1).map(row => ({ ...row }) as unknown as SessionView)
      const sessions = found.slice(0, most)
      const last = found.length > most ? sessions.at(-1) : undefined
      return { sessions, conversations: Number(sql.conversations.get()?.n), next: last ? nextAfter(last) : null }
    },
    has: lane => sql.has.get(lane) !== undefined,
    lanes: name => lanesOf(name === undefined ? sql.lanes.all() : sql.lanesNamed.all(name)),
    lanesUnusedSince: at => lanesOf(sql.lanesUnused.all(at)),
    latest: () => (sql.latest.get() as { lane: string } | undefined) ?? null,
  }
}

const lanesOf = (rows: readonly object[]): readonly LaneKey[] => rows.map(row => (row as { lane: string }).lane)

type Place = readonly [updatedAt: number, lane: string, backend: string]

const nextAfter = ({ updatedAt, lane, backend }: SessionView): string =>
  Buffer.from(JSON.stringify([updatedAt, lane, backend] satisfies Place)).toString('base64url')

/** Null: it was not created by us. */
function placeIn(next: string): Place | null {
  try {
    const [at, lane, backend] = JSON.parse(Buffer.from(next, 'base64url').toString()) as unknown[]
    return typeof at === 'number' && typeof lane === 'string' && typeof backend === 'string'
      ? [at, lane, backend]
      : null
  } catch {
    return null
  }
}

/** Null: no override for this conversation. */
export interface ConversationChoice {
  readonly backend: string | null
  readonly model: string | null
}

export interface ConversationSettings {
  choice(lane: LaneKey): ConversationChoice
  choose(lane: LaneKey, choice: ConversationChoice): Promise<void>
  /** Null: as configured for all conversations. */
  mode(lane: LaneKey): PermissionMode | null
  chooseMode(lane: LaneKey, mode: PermissionMode | null): Promise<void>
  /** Null: as configured for all conversations. */
  verbosity(lane: LaneKey): Verbosity | null
  chooseVerbosity(lane: LaneKey, how: Verbosity | null): Promise<void>
  /** Messages before this item are no longer given to an agent. */
  freshFrom(lane: LaneKey): number
  /** Starts a new conversation from here on. */
  startOver(lane: LaneKey): Promise<void>
}

interface Row {
  backend: string | null
  model: string | null
  fresh_from: number
  mode: string | null
  verbosity: string | null
}

export function createConversationSettings(db: Database, clock: Clock): ConversationSettings {
  const find = db.prepare('SELECT backend, model, fresh_from, mode, verbosity FROM conversations WHERE lane = ?')
  const chooseMode = db.prepare(
    `INSERT INTO conversations (lane, mode, updated_at) VALUES (?, ?, ?)
     ON CONFLICT (lane) DO UPDATE SET mode = excluded.mode, updated_at = excluded.updated_at`,
  )
  const chooseVerbosity = db.prepare(
    `INSERT INTO conversations (lane, verbosity, updated_at) VALUES (?, ?, ?)
     ON CONFLICT (lane) DO UPDATE SET verbosity = excluded.verbosity, updated_at = excluded.updated_at`,
  )
  const choose = db.prepare(
    `INSERT INTO conversations (lane, backend, model, updated_at) VALUES (?, ?, ?, ?)
     ON CONFLICT (lane) DO UPDATE SET backend = excluded.backend, model = excluded.model, updated_at = excluded.updated_at`,
  )
  const resetLane = db.prepare(
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
    mode: lane => (row(lane)?.mode ?? null) as PermissionMode | null,
    chooseMode: async (lane, mode) => void (await db.write(() => chooseMode.run(lane, mode, clock.now()))),
    verbosity: lane => (row(lane)?.verbosity ?? null) as Verbosity | null,
    chooseVerbosity: async (lane, how) => void (await db.write(() => chooseVerbosity.run(lane, how, clock.now()))),
    freshFrom: lane => row(lane)?.fresh_from ?? 0,
    startOver: async lane => void (await db.write(() => resetLane.run(lane, clock.now()))),
  }
}

export function createSessionsAdmin(
  sessions: SessionStore,
  conversations: ConversationSettings,
  clock: Clock,
): SessionsAdmin {
  /** The selected lanes, or an explanation if they cannot be determined. */
  const meant = (which: string): readonly string[] | string => {
    if (which === 'all') return sessions.lanes()
    if (which === 'stale') return sessions.lanesUnusedSince(clock.now() - staleDays * day)
    const found = sessions.has(which) ? [which] : sessions.lanes(which)
    if (found.length === 0)
      return 'No such conversation has a session. "npx aetheel sessions list" shows the conversations that have one.'
    return found.length === 1
      ? found
      : `${found.length} conversations have that name: ${found.join(', ')}. Use the full name.`
  }
  return {
    list: async (most, after) => sessions.list(most, after),
    async clear(which) {
      const lanes = meant(which)
      if (typeof lanes === 'string') return { ok: false, why: lanes }
      // Requested together, they become one commit.
      await Promise.all(lanes.flatMap(lane => [sessions.forgetLane(lane), conversations.startOver(lane)]))
      return { ok: true, lanes }
    },
  }
}
