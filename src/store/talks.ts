// Looks through the conversations of a chat: the list of them, stretches of one, and a search over all.
import type { Letter } from '../base/chat.ts'
import type { NewEvent } from '../base/event.ts'
import type { Conversation, TalkHit, Talks } from '../base/talks.ts'
import type { Database } from './database.ts'
import { type History, type Row, said } from './history.ts'

interface LaneRow {
  lane: string
  last: number
  at: number
}

const titleLength = 60
const snippet = { before: 40, all: 160 }
const mostWords = 8
/** What is looked at in one go, and for how long what was found there is read: a message must not wait for a search. */
const slice = { items: 4000, ms: 5 }

export function openTalks(db: Database, history: Pick<History, 'before' | 'from'>, chat: string): Talks {
  const prefix = `${chat}:`
  const range = [prefix, `${chat};`] as const // `;` is what follows `:`
  const laneOf = (conversation: string) => prefix + conversation
  // One look into the index for each conversation, however long it is.
  const lanes = db.prepare(
    `WITH RECURSIVE lanes (lane) AS (
       SELECT min(lane) FROM items WHERE lane >= ?1 AND lane < ?2
       UNION ALL
       SELECT (SELECT min(lane) FROM items WHERE lane > lanes.lane AND lane < ?2) FROM lanes WHERE lanes.lane IS NOT NULL
     ), ends (lane, last) AS (
       SELECT lane, (SELECT max(id) FROM items WHERE items.lane = lanes.lane) FROM lanes WHERE lane IS NOT NULL
     )
     SELECT ends.lane, last, at FROM ends JOIN items ON items.id = ends.last ORDER BY last DESC LIMIT ?3`,
  )
  const open = db.prepare(
    `SELECT lane, state, count(*) AS n FROM items
     WHERE box = 'in' AND state IN ('waiting', 'running') AND lane >= ?1 AND lane < ?2 GROUP BY lane, state`,
  )
  const first = db.prepare('SELECT box, body FROM items WHERE lane = ? ORDER BY id LIMIT 10')
  const newest = db.prepare('SELECT max(id) AS id FROM items')

  const titleOf = (lane: string): string => {
    const rows = first.all(lane) as unknown as Pick<Row, 'box' | 'body'>[]
    const asked = rows.filter(({ box }) => box === 'in').map(({ body }) => askedIn(body))
    const answered = rows.filter(({ box }) => box === 'out').map(({ body }) => (JSON.parse(body) as Letter).text)
    return [...asked, ...answered].map(beginning).find(text => text !== '') ?? ''
  }

  const matching = (words: readonly string[]) => {
    const likes = words.map(() => `AND body LIKE ? ESCAPE '\\'`).join(' ')
    return db.prepare(
      `SELECT id, lane, box, key, state, body, at FROM items
       WHERE id > ? AND id <= ? AND lane >= ? AND lane < ? ${likes} ORDER BY id DESC`,
    )
  }

  return {
    list(most) {
      const busy = new Map<string, number>()
      for (const { lane, state, n } of open.all(...range)) busy.set(`${state} ${lane}`, Number(n))
      return (lanes.all(...range, most) as unknown as LaneRow[]).map(
        ({ lane, at }): Conversation => ({
          id: lane.slice(prefix.length),
          title: titleOf(lane),
          at,
          waiting: busy.get(`waiting ${lane}`) ?? 0,
          running: busy.has(`running ${lane}`),
        }),
      )
    },
    before: (conversation, item, most) => history.before(laneOf(conversation), item, most),
    from: (conversation, item, most) => history.from(laneOf(conversation), item, most),

    async search(given, most) {
      const asked = given.normalize('NFC').split(/\s+/).filter(Boolean).slice(0, mostWords)
      if (asked.length === 0) return []
      const find = matching(asked)
      const patterns = asked.map(patternOf)
      const words = asked.map(word => word.toLowerCase())
      const hits: TalkHit[] = []
      for (let to = Number(newest.get()?.id ?? 0); to > 0 && hits.length < most; ) {
        const from = to - slice.items
        const until = performance.now() + slice.ms
        const rows = find.iterate(from, to, ...range, ...patterns) as Iterable<unknown>
        to = from
        for (const row of rows as Iterable<Row & { lane: string }>) {
          const hit = hitIn(row, prefix, words)
          if (hit) hits.push(hit)
          if (hits.length >= most) break
          if (performance.now() > until) {
            to = row.id - 1
            break
          }
        }
        await new Promise(resolve => setImmediate(resolve))
      }
      return hits
    },
  }
}

function askedIn(body: string): string {
  const { what } = JSON.parse(body) as NewEvent
  if (what.kind !== 'message' && what.kind !== 'command') return ''
  return what.text.trim() || (what.attachments?.[0]?.name ?? '')
}

const beginning = (text: string): string =>
  [
    ...text
      .slice(0, 4 * titleLength)
      .replaceAll(/\s+/g, ' ')
      .trim(),
  ]
    .slice(0, titleLength)
    .join('')
    .trimEnd()

/**
 * What a row holds is JSON, so the word is looked for as it stands there. SQLite knows upper and lower case of ASCII alone:
 * any other letter may be any, and the text itself is looked at afterwards.
 */
const patternOf = (word: string): string => {
  const written = [...JSON.stringify(word).slice(1, -1)]
  return `%${written.map(one => (one > '\x7f' ? '_' : /[%_\\]/.test(one) ? `\\${one}` : one)).join('')}%`
}

function hitIn(row: Row & { lane: string }, prefix: string, words: readonly string[]): TalkHit | null {
  const found = said(row)
  if (!found) return null
  const lower = found.text.normalize('NFC').toLowerCase()
  if (!words.every(word => lower.includes(word))) return null
  const { id, role, at, text } = found
  return {
    conversation: row.lane.slice(prefix.length),
    id,
    role,
    at,
    snippet: around(text, lower, words),
    item: row.id,
  }
}

function around(text: string, lower: string, words: readonly string[]): string {
  const at = Math.min(...words.map(word => lower.indexOf(word)))
  const start = at <= snippet.before ? 0 : at - snippet.before
  const end = start + snippet.all
  const shown = text.slice(start, end).toWellFormed().replaceAll('\ufffd', '').replaceAll(/\s+/g, ' ').trim()
  return `${start > 0 ? '…' : ''}${shown}${end < text.length ? '…' : ''}`
}
