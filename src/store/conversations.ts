// The conversations of a chat: list, sections of one, and a search over all.
import { setImmediate } from 'node:timers/promises'
import type { Delivery } from '../base/chat.ts'
import type { Conversation, ConversationHit, ConversationList, Stretch } from '../base/conversations.ts'
import type { NewEvent } from '../base/event.ts'
import type { Request, RequestStore } from '../base/requests.ts'
import type { Database } from './database.ts'
import { type History, pastMessageOf, type Row } from './history.ts'

const titleLength = 60
const snippet = { before: 40, all: 160 }
const mostWords = 8
/** How much one step of a search may read, and for how long: messages must not wait for a search. */
const slice = { items: 4000, ms: 5 }
/** One section has at most so many requests; open ones always. */
const shownRequests = { most: 100, characters: 500_000 }

export function createConversationList(
  db: Database,
  history: Pick<History, 'before' | 'from'>,
  chat: string,
  requests: Pick<RequestStore, 'open' | 'ofLane'>,
): ConversationList {
  const prefix = `${chat}:`
  const range = [prefix, `${chat};`] as const // `;` is what follows `:`
  const laneOf = (conversation: string) => prefix + conversation
  const newestFirst = createNewestFirst(db, range)
  const open = db.prepare(
    `SELECT lane, state, count(*) AS n FROM items
     WHERE queue = 'in' AND state IN ('waiting', 'running') AND lane >= ?1 AND lane < ?2 GROUP BY lane, state`,
  )
  const first = db.prepare('SELECT queue, body FROM items WHERE lane = ? ORDER BY id LIMIT 10')
  const newest = db.prepare('SELECT max(id) AS id FROM items')
  const work = db.prepare(
    `SELECT key, n FROM (SELECT key, (SELECT count(*) FROM work WHERE event = items.id AND kind <> 'cut') AS n FROM items
     WHERE lane = ? AND queue = 'in' AND id >= ? AND id < ?) WHERE n > 0`,
  )

  const titleOf = (lane: string): string => {
    const rows = first.all(lane) as unknown as Pick<Row, 'queue' | 'body'>[]
    const questions = rows.filter(({ queue }) => queue === 'in').map(({ body }) => questionIn(body))
    const answered = rows.filter(({ queue }) => queue === 'out').map(({ body }) => (JSON.parse(body) as Delivery).text)
    return [...questions, ...answered].map(beginning).find(text => text !== '') ?? ''
  }

  const matching = (words: readonly string[]) => {
    const likes = words.map(() => `AND body LIKE ? ESCAPE '\\'`).join(' ')
    return db.prepare(
      `SELECT id, lane, queue, key, state, body, at FROM items
       WHERE id > ? AND id <= ? AND lane >= ? AND lane < ? ${likes} ORDER BY id DESC`,
    )
  }

  const requestsIn = (conversation: string, from: number, to: number | null): readonly Request[] => {
    const lane = laneOf(conversation)
    const own = requests.ofLane(lane, from, to ?? Number.MAX_SAFE_INTEGER, shownRequests.most)
    if (to !== null) return fitting(own)
    const isHere = ({ place }: Request) => place?.chat === chat && place.conversation === conversation
    const others = requests.open().filter(request => request.lane !== lane && isHere(request))
    return fitting([...own, ...others])
  }

  const workIn = (lane: string, from: number, to: number | null): Readonly<Record<string, number>> => {
    const idOf = (key: string) => (key.startsWith(`${lane}:`) ? key.slice(lane.length + 1) : key)
    const rows = work.all(lane, from, to ?? Number.MAX_SAFE_INTEGER)
    return Object.fromEntries(rows.map(({ key, n }) => [idOf(String(key)), Number(n)]))
  }

  return {
    list(most) {
      const busy = new Map<string, number>()
      for (const { lane, state, n } of open.all(...range)) busy.set(`${state} ${lane}`, Number(n))
      return newestFirst(most).map(
        ({ lane, at }): Conversation => ({
          id: lane.slice(prefix.length),
          title: titleOf(lane),
          at,
          waiting: busy.get(`waiting ${lane}`) ?? 0,
          running: busy.has(`running ${lane}`),
        }),
      )
    },
    before(conversation, item, most) {
      const stretch = history.before(laneOf(conversation), item, most)
      const from = stretch.older ?? 0
      const requests = requestsIn(conversation, from, item)
      return { ...stretch, requests, work: workIn(laneOf(conversation), from, item) }
    },
    from(conversation, item, most): Stretch {
      const stretch = history.from(laneOf(conversation), item, most)
      const requests = requestsIn(conversation, item, stretch.newer)
      return { ...stretch, requests, work: workIn(laneOf(conversation), item, stretch.newer) }
    },

    async search(given, most) {
      const terms = given.normalize('NFC').split(/\s+/).filter(Boolean).slice(0, mostWords)
      if (terms.length === 0) return []
      const find = matching(terms)
      const patterns = terms.map(patternOf)
      const words = terms.map(word => word.toLowerCase())
      const hits: ConversationHit[] = []
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
        await setImmediate()
      }
      return hits
    },
  }
}

/** The newest ones that fit; open ones always, since somebody must answer them. */
function fitting(requests: readonly Request[]): readonly Request[] {
  let room = shownRequests.characters
  const fits = requests.toReversed().filter(request => {
    room -= JSON.stringify(request.ask).length
    return request.state === 'open' || room > 0
  })
  return fits.reverse()
}

interface LaneEnd {
  readonly lane: string
  readonly at: number
}

/** The lanes of a range, most recent first. All are read once; after that only new items. */
function createNewestFirst(db: Database, range: readonly [string, string]): (most: number) => readonly LaneEnd[] {
  // One index lookup per conversation, however long it is.
  const all = db.prepare(
    `WITH RECURSIVE lanes (lane) AS (
       SELECT min(lane) FROM items WHERE lane >= ?1 AND lane < ?2
       UNION ALL
       SELECT (SELECT min(lane) FROM items WHERE lane > lanes.lane AND lane < ?2) FROM lanes WHERE lanes.lane IS NOT NULL
     )
     SELECT lane, (SELECT max(id) FROM items WHERE items.lane = lanes.lane) AS last FROM lanes
     WHERE lane IS NOT NULL ORDER BY last`,
  )
  // With `+` SQLite uses the ids instead of the index on lanes.
  const since = db.prepare('SELECT lane FROM items WHERE id > ?3 AND +lane >= ?1 AND +lane < ?2 ORDER BY id')
  const end = db.prepare('SELECT id, at FROM items WHERE lane = ? ORDER BY id DESC LIMIT 1')
  const newest = db.prepare('SELECT max(id) AS id FROM items')
  /** In the order of their last items. */
  const lanes = new Set<string>()
  let seen: number | null = null

  return most => {
    const until = Number(newest.get()?.id ?? 0)
    for (const { lane } of seen === null ? all.all(...range) : since.all(...range, seen)) {
      lanes.delete(lane as string)
      lanes.add(lane as string)
    }
    seen = until
    const found: LaneEnd[] = []
    for (const lane of [...lanes].reverse()) {
      if (found.length === most) break
      const last = end.get(lane) as { id: number; at: number } | undefined
      // Old items are deleted oldest first, so a lane without a last item has been deleted completely.
      if (last) found.push({ lane, at: last.at })
      else lanes.delete(lane)
    }
    return found
  }
}

function questionIn(body: string): string {
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
 * A row contains JSON, so the word is searched in its JSON form. SQLite folds case only for ASCII: any other character is replaced by
 * a wildcard, and the text itself is checked afterwards.
 */
const patternOf = (word: string): string => {
  const written = [...JSON.stringify(word).slice(1, -1)]
  return `%${written.map(one => (one > '\x7f' ? '_' : /[%_\\]/.test(one) ? `\\${one}` : one)).join('')}%`
}

function hitIn(row: Row & { lane: string }, prefix: string, words: readonly string[]): ConversationHit | null {
  const found = pastMessageOf(row)
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
