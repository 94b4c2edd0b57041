// Sub-agents and their channels in the database. Their progress is read from their items: there is no second record that could disagree.

import type { NewEvent, Place } from '../base/event.ts'
import type { Posted, SubAgent, SubAgentStore } from '../base/subagents.ts'
import type { Clock } from '../base/time.ts'
import type { Database } from './database.ts'

/** How many posts of a channel are kept. */
const postsKept = 200
const mostListed = 200

interface Row {
  id: string
  key: string
  name: string
  instruction: string
  parent: string
  place: string | null
  root: string
  depth: number
  owner: number
  person: string | null
  origin: string | null
  model: string | null
  at: number
  stopping: number | null
  entered: number
  open_state: string | null
  interrupted: number | null
  last: number | null
  last_state: string | null
  ended_at: number | null
  report: string | null
}

const found = `
  SELECT s.*, open.state AS open_state, open.interrupted, last.id AS last, last.state AS last_state, last.ended_at, report.body AS report
  FROM subagents s
  LEFT JOIN items open ON open.id = (
    SELECT min(id) FROM items WHERE lane = 'agent:' || s.id AND queue = 'in' AND state IN ('waiting', 'running'))
  LEFT JOIN items last ON last.id = (SELECT max(id) FROM items WHERE lane = 'agent:' || s.id AND queue = 'in')
  LEFT JOIN items report ON report.queue = 'in' AND report.key = 'agent:' || s.id || '#report-' || last.id`

export function createSubAgentStore(db: Database, clock: Clock): SubAgentStore {
  const sql = {
    add: db.prepare(
      `INSERT INTO subagents (id, key, name, instruction, parent, place, root, depth, owner, person, origin, model, at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    entered: db.prepare('UPDATE subagents SET entered = 1 WHERE id = ?'),
    remove: db.prepare('DELETE FROM subagents WHERE id = ?'),
    notEntered: db.prepare(`${found} WHERE s.entered = 0 ORDER BY s.n`),
    find: db.prepare(`${found} WHERE s.id = ?`),
    withKey: db.prepare(`${found} WHERE s.key = ?`),
    all: db.prepare(`${found} ORDER BY s.n DESC LIMIT ?`),
    ofRoot: db.prepare(`${found} WHERE s.root = ? ORDER BY s.n DESC LIMIT ?`),
    open: db.prepare(
      `SELECT id, lane, key, body, state FROM items
       WHERE queue = 'in' AND state IN ('waiting', 'running') AND lane >= 'agent:' AND lane < 'agent;' ORDER BY id`,
    ),
    stopping: db.prepare('UPDATE subagents SET stopping = ? WHERE id = ?'),
    post: db.prepare('INSERT INTO posts (channel, at, sender, text) VALUES (?, ?, ?, ?)'),
    prune: db.prepare(
      `DELETE FROM posts WHERE channel = ?1
       AND id <= (SELECT id FROM posts WHERE channel = ?1 ORDER BY id DESC LIMIT 1 OFFSET ${postsKept})`,
    ),
    posts: db.prepare('SELECT id, at, sender, text FROM posts WHERE channel = ? ORDER BY id DESC LIMIT ?'),
    postsAfter: db.prepare('SELECT id, at, sender, text FROM posts WHERE channel = ? AND id > ? ORDER BY id LIMIT ?'),
    question: db.prepare(`SELECT id, lane, state FROM items WHERE queue = 'in' AND key = ?`),
    reports: db.prepare(
      `SELECT key, body FROM items WHERE lane = ?1 AND id > ?2 AND queue = 'in' AND substr(key, 1, length(?3)) = ?3 ORDER BY id`,
    ),
    forget: db.prepare(
      `DELETE FROM subagents WHERE at < ? AND entered = 1
       AND NOT EXISTS (SELECT 1 FROM items WHERE items.lane = 'agent:' || subagents.id)`,
    ),
    forgetPosts: db.prepare('DELETE FROM posts WHERE at < ?'),
  }

  return {
    async add({ id, name, instruction, parent, place, root, depth, principal, model }, key) {
      const where = place && JSON.stringify(place)
      const { owner, person, origin } = principal
      const at = clock.now()
      await db.write(() =>
        sql.add.run(id, key, name, instruction, parent, where, root, depth, owner ? 1 : 0, person, origin, model, at),
      )
    },
    entered: async id => void (await db.write(() => sql.entered.run(id))),
    remove: async id => void (await db.write(() => sql.remove.run(id))),
    notEntered: () => sql.notEntered.all().map(row => ({ agent: toAgent(row), key: String(row.key) })),
    find: id => sql.find.all(id).map(toAgent)[0] ?? null,
    withKey: key => sql.withKey.all(key).map(toAgent)[0] ?? null,
    list: root => (root === undefined ? sql.all.all(mostListed) : sql.ofRoot.all(root, mostListed)).map(toAgent),
    open: () =>
      sql.open.all().map(({ id, lane, key, body, state }) => ({
        agent: String(lane).slice('agent:'.length),
        item: Number(id),
        key: String(key),
        event: JSON.parse(String(body)) as NewEvent,
        state: state === 'running' ? 'running' : 'waiting',
      })),
    stopping: async (id, item) => void (await db.write(() => sql.stopping.run(item, id))),
    async post(channel, from, text) {
      await db.write(() => {
        sql.post.run(channel, clock.now(), from, text)
        sql.prune.run(channel)
      })
    },
    posts: (channel, most, after) =>
      after === undefined
        ? sql.posts.all(channel, Math.max(0, most)).map(toPost).reverse()
        : sql.postsAfter.all(channel, after, Math.max(0, most)).map(toPost),
    answerTo(key, lane) {
      const question = sql.question.get(key) as { id: number; lane: string; state: string } | undefined
      if (!question) return { report: null }
      // If it was answered together with a later question, the report is that question's.
      const prefix = `${question.lane}#report-`
      const own = sql.reports
        .all(lane, question.id, prefix)
        .find(row => Number.parseInt(String(row.key).slice(prefix.length), 10) >= question.id)
      const report = own ? (JSON.parse(String(own.body)) as NewEvent).what : null
      if (report?.kind === 'report') return { report: { key: String(own?.key), ok: report.ok, text: report.text } }
      return question.state === 'waiting' || question.state === 'running' ? null : { report: null }
    },
    async forgetBefore(cutoff) {
      await db.write(() => {
        sql.forget.run(cutoff)
        sql.forgetPosts.run(cutoff)
      })
    },
  }
}

const toPost = (row: Readonly<Record<string, unknown>>): Posted => ({
  ...{ id: Number(row.id), at: Number(row.at), from: String(row.sender), text: String(row.text) },
})

function toAgent(raw: unknown): SubAgent {
  const row = raw as Row
  const { id, name, instruction, parent, root, depth, model, at, person } = row
  const state = stateOf(row)
  const isOpen = state === 'waiting' || state === 'working'
  return {
    ...{ id, name, instruction, parent, root, depth, model, at },
    place: row.place === null ? null : (JSON.parse(row.place) as Place),
    principal: { owner: row.owner === 1, person, origin: row.origin ?? row.key },
    state,
    endedAt: isOpen ? null : (row.ended_at ?? at),
    progress: isOpen ? (row.interrupted ? 'was interrupted and will be resumed' : '') : (reportOf(row)?.text ?? ''),
  }
}

function stateOf(row: Row): SubAgent['state'] {
  if (row.open_state !== null) return row.open_state === 'running' ? 'working' : 'waiting'
  if (row.entered === 0 && row.last === null) return 'waiting'
  const report = reportOf(row)
  if (report?.ok) return 'done'
  // Also if there was nobody left to report to.
  if (row.last_state === 'cancelled' || (row.last !== null && row.last === row.stopping)) return 'stopped'
  return report !== null || row.last_state === 'failed' ? 'failed' : 'done'
}

function reportOf({ report }: Row): { readonly ok: boolean; readonly text: string } | null {
  if (report === null) return null
  const { what } = JSON.parse(report) as NewEvent
  return what.kind === 'report' ? what : null
}
