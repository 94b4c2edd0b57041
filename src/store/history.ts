// The messages of a conversation, read back from the rows of the queues.
import type { Delivery } from '../base/chat.ts'
import type { Stretch } from '../base/conversations.ts'
import { eventOfDelivery, eventOfInterim, type LaneKey, type NewEvent } from '../base/event.ts'
import type { PastMessage } from '../base/history.ts'
import { isRequestMessage } from '../base/requests.ts'
import type { Database } from './database.ts'

export interface History {
  /** The messages before that item (null: at the end), oldest first: at most `most`, and not much more than fits on a page. */
  before(lane: LaneKey, item: number | null, most: number): Stretch
  /** The messages from that item on. */
  from(lane: LaneKey, item: number, most: number): Stretch
  /** The newest messages and answers after item `after`, oldest first, as far as they concern the agent. */
  answered(lane: LaneKey, after: number, most: number): readonly PastMessage[]
  delivery(key: string): Delivery | null
  wasCancelled(eventKey: string): boolean
  /** The paths of the files that came with the latest messages. */
  attachments(lane: LaneKey): readonly string[]
}

export interface Row {
  id: number
  queue: string
  key: string
  state: string
  body: string
  at: number
}

/** The limit of one section, unless it is a single message. */
const mostCharacters = 1_000_000
/** How many messages back an attached file counts as given. */
const attachedWithin = 200

const shown = {
  waiting: 'waiting',
  running: 'running',
  done: 'answered',
  failed: 'failed',
  cancelled: 'refused',
} as const

export function createHistory(db: Database): History {
  const columns = 'id, queue, key, state, body, at'
  const downFrom = db.prepare(`SELECT ${columns} FROM items WHERE lane = ? AND id < ? ORDER BY id DESC`)
  const upFrom = db.prepare(`SELECT ${columns} FROM items WHERE lane = ? AND id >= ? ORDER BY id`)
  const anyBefore = db.prepare('SELECT 1 FROM items WHERE lane = ? AND id < ? LIMIT 1')
  const later = db.prepare(`SELECT ${columns} FROM items WHERE lane = ? AND id > ? ORDER BY id DESC LIMIT ?`)
  const byKey = db.prepare(`SELECT body FROM items WHERE queue = 'out' AND key = ?`)
  const event = db.prepare(`SELECT id, lane FROM items WHERE queue = 'in' AND key = ?`)
  const cancelled = db.prepare(`SELECT 1 FROM items WHERE queue = 'in' AND key = ? AND state = 'cancelled'`)
  const attached = db.prepare(
    `SELECT f.value ->> '$.path' AS path FROM (SELECT body FROM items WHERE lane = ? AND queue = 'in' ORDER BY id DESC LIMIT ${attachedWithin}) i,
       json_each(i.body, '$.what.attachments') f WHERE f.value ->> '$.missing' IS NULL`,
  )
  return {
    attachments: lane => attached.all(lane).map(({ path }) => String(path)),
    wasCancelled: eventKey => cancelled.get(eventKey) !== undefined,
    before(lane, item, most) {
      const { found, next } = stretch(downFrom.iterate(lane, item ?? Number.MAX_SAFE_INTEGER), most)
      return { messages: found.reverse(), older: next === null ? null : next + 1, newer: item }
    },
    from(lane, item, most) {
      const { found, next } = stretch(upFrom.iterate(lane, item), most)
      return { messages: found, older: anyBefore.get(lane, item) ? item : null, newer: next }
    },
    answered(lane, after, most) {
      const rows = (later.all(lane, after, most) as unknown as Row[]).reverse()
      const questions = new Set(
        rows.filter(row => row.queue === 'in' && row.state === 'done').flatMap(row => idOf(row)),
      )
      // Messages sent here unasked belong to it too, unless they were sent from this very conversation before.
      const isNews = (row: Row) => {
        const origin = event.get(eventOfInterim(eventOfDelivery(row.key))) as { id: number; lane: string } | undefined
        return !origin || origin.lane !== lane || origin.id > after
      }
      return rows.flatMap(row => {
        const one = pastMessageOf(row)
        return one && (questions.has(one.id) || (isUnasked(row) && isNews(row))) ? [one] : []
      })
    },
    delivery(key) {
      const row = byKey.get(key) as { body: string } | undefined
      return row ? (JSON.parse(row.body) as Delivery) : null
    },
  }
}

/** As many as requested, or as fit on a page; and the item after them, null if there is none. */
function stretch(
  rows: Iterable<unknown>,
  most: number,
): { readonly found: PastMessage[]; readonly next: number | null } {
  const found: PastMessage[] = []
  let room = mostCharacters
  for (const row of rows as Iterable<Row>) {
    if (found.length >= most || room < 0) return { found, next: row.id }
    const one = pastMessageOf(row)
    room -= one?.text.length ?? 0
    if (one && room < 0 && found.length > 0) return { found, next: row.id }
    if (one) found.push(one)
  }
  return { found, next: null }
}

/** The ids of messages to the agent; commands are excluded. */
function idOf({ body }: Row): readonly string[] {
  const { what } = JSON.parse(body) as NewEvent
  return what.kind === 'message' ? [what.id] : []
}

const isUnasked = ({ queue, key, body }: Row) =>
  queue === 'out' && !isRequestMessage(key) && (JSON.parse(body) as Delivery).about === null

export function pastMessageOf({ queue, key, state, body, at }: Row): PastMessage | null {
  if (queue === 'in') {
    const { what, sender } = JSON.parse(body) as NewEvent
    if (what.kind !== 'message' && what.kind !== 'command') return null
    const speaker = sender && { speaker: { author: what.author, sender } }
    const { id, text, attachments } = what
    const files = attachments && { attachments: attachments.map(({ path: _, missing: __, ...file }) => file) }
    return { id, role: 'user', text, at, ok: true, ...speaker, ...files, state: shown[state as keyof typeof shown] }
  }
  const delivery = JSON.parse(body) as Delivery
  if (delivery.kind !== 'final') return null
  return {
    id: delivery.about ?? eventOfDelivery(key),
    role: 'agent',
    text: delivery.text,
    at,
    ok: delivery.ok,
    ...(delivery.files && { files: delivery.files }),
    // Nobody has read what the platform refused, whatever the delivery says.
    state: delivery.ok && state !== 'failed' ? 'answered' : 'failed',
  }
}
