// What was said in a conversation, read back from the same rows that carried it.
import { eventOfLetter, eventOfSaying, type Letter } from '../base/chat.ts'
import type { LaneKey, NewEvent } from '../base/event.ts'
import type { Said } from '../base/history.ts'
import type { Stretch } from '../base/talks.ts'
import type { Database } from './database.ts'

export interface History {
  /** What was said before that item (null: at the end), oldest first: at most so many, and not much more than a page can hold. */
  before(lane: LaneKey, item: number | null, most: number): Stretch
  /** What was said from that item on. */
  from(lane: LaneKey, item: number, most: number): Stretch
  /** The newest messages and their answers after item `after`, oldest first, as far as an agent was concerned with them. */
  answered(lane: LaneKey, after: number, most: number): readonly Said[]
  letter(key: string): Letter | null
  wasCancelled(eventKey: string): boolean
}

export interface Row {
  id: number
  box: string
  key: string
  state: string
  body: string
  at: number
}

/** Of one stretch, unless it is a single message. */
const mostCharacters = 1_000_000

const shown = {
  waiting: 'waiting',
  running: 'running',
  done: 'answered',
  failed: 'failed',
  cancelled: 'refused',
} as const

export function openHistory(db: Database): History {
  const columns = 'id, box, key, state, body, at'
  const downFrom = db.prepare(`SELECT ${columns} FROM items WHERE lane = ? AND id < ? ORDER BY id DESC`)
  const upFrom = db.prepare(`SELECT ${columns} FROM items WHERE lane = ? AND id >= ? ORDER BY id`)
  const anyBefore = db.prepare('SELECT 1 FROM items WHERE lane = ? AND id < ? LIMIT 1')
  const later = db.prepare(`SELECT ${columns} FROM items WHERE lane = ? AND id > ? ORDER BY id DESC LIMIT ?`)
  const byKey = db.prepare(`SELECT body FROM items WHERE box = 'out' AND key = ?`)
  const event = db.prepare(`SELECT id, lane FROM items WHERE box = 'in' AND key = ?`)
  const cancelled = db.prepare(`SELECT 1 FROM items WHERE box = 'in' AND key = ? AND state = 'cancelled'`)
  return {
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
      const asked = new Set(rows.filter(row => row.box === 'in' && row.state === 'done').flatMap(row => idOf(row)))
      // What was said here unasked belongs to it too, unless it was said in this very conversation and before.
      const isNews = (row: Row) => {
        const origin = event.get(eventOfSaying(eventOfLetter(row.key))) as { id: number; lane: string } | undefined
        return !origin || origin.lane !== lane || origin.id > after
      }
      return rows.flatMap(row => {
        const one = said(row)
        return one && (asked.has(one.id) || (isUnasked(row) && isNews(row))) ? [one] : []
      })
    },
    letter(key) {
      const row = byKey.get(key) as { body: string } | undefined
      return row ? (JSON.parse(row.body) as Letter) : null
    },
  }
}

/** As many as are asked for, or as a page can hold; and the item after them, null if there is none. */
function stretch(rows: Iterable<unknown>, most: number): { readonly found: Said[]; readonly next: number | null } {
  const found: Said[] = []
  let room = mostCharacters
  for (const row of rows as Iterable<Row>) {
    if (found.length >= most || room < 0) return { found, next: row.id }
    const one = said(row)
    room -= one?.text.length ?? 0
    if (one && room < 0 && found.length > 0) return { found, next: row.id }
    if (one) found.push(one)
  }
  return { found, next: null }
}

/** What the agent was asked; a command was none of its business. */
function idOf({ body }: Row): readonly string[] {
  const { what } = JSON.parse(body) as NewEvent
  return what.kind === 'message' ? [what.id] : []
}

const isUnasked = ({ box, body }: Row) => box === 'out' && (JSON.parse(body) as Letter).about === null

export function said({ box, key, state, body, at }: Row): Said | null {
  if (box === 'in') {
    const { what, standing } = JSON.parse(body) as NewEvent
    if (what.kind !== 'message' && what.kind !== 'command') return null
    const sender = standing && { sender: { author: what.author, standing } }
    const { id, text, attachments } = what
    const files = attachments && { attachments: attachments.map(({ path: _, missing: __, ...file }) => file) }
    return { id, role: 'user', text, at, ok: true, ...sender, ...files, state: shown[state as keyof typeof shown] }
  }
  const letter = JSON.parse(body) as Letter
  if (letter.kind !== 'final') return null
  return {
    id: letter.about ?? eventOfLetter(key),
    role: 'agent',
    text: letter.text,
    at,
    ok: letter.ok,
    ...(letter.files && { files: letter.files }),
    state: letter.ok ? 'answered' : 'failed',
  }
}
