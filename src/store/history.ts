// What was said in a conversation, read back from the same rows that carried it.
import { eventOfLetter, eventOfSaying, type Letter } from '../base/chat.ts'
import type { LaneKey, NewEvent } from '../base/event.ts'
import type { Said } from '../base/history.ts'
import type { Database } from './database.ts'

export interface History {
  /** The newest messages and answers, oldest first: at most so many, and together at most so many characters. */
  of(lane: LaneKey, most: number, characters: number): readonly Said[]
  /** The newest messages and their answers after item `after`, oldest first, as far as an agent was concerned with them. */
  answered(lane: LaneKey, after: number, most: number): readonly Said[]
  letter(key: string): Letter | null
  wasCancelled(eventKey: string): boolean
}

interface Row {
  box: string
  key: string
  state: string
  body: string
  at: number
}

const shown = {
  waiting: 'waiting',
  running: 'running',
  done: 'answered',
  failed: 'failed',
  cancelled: 'refused',
} as const

export function openHistory(db: Database): History {
  const newest = db.prepare('SELECT box, key, state, body, at FROM items WHERE lane = ? ORDER BY id DESC LIMIT ?')
  const later = db.prepare(
    'SELECT box, key, state, body, at FROM items WHERE lane = ? AND id > ? ORDER BY id DESC LIMIT ?',
  )
  const byKey = db.prepare(`SELECT body FROM items WHERE box = 'out' AND key = ?`)
  const event = db.prepare(`SELECT id, lane FROM items WHERE box = 'in' AND key = ?`)
  const cancelled = db.prepare(`SELECT 1 FROM items WHERE box = 'in' AND key = ? AND state = 'cancelled'`)
  return {
    wasCancelled: eventKey => cancelled.get(eventKey) !== undefined,
    of(lane, most, characters) {
      const found: Said[] = []
      let room = characters
      for (const row of newest.iterate(lane, most)) {
        const one = said(row as unknown as Row)
        room -= one?.text.length ?? 0
        if (room < 0) break
        if (one) found.unshift(one)
      }
      return found
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

/** What the agent was asked; a command was none of its business. */
function idOf({ body }: Row): readonly string[] {
  const { what } = JSON.parse(body) as NewEvent
  return what.kind === 'message' ? [what.id] : []
}

const isUnasked = ({ box, body }: Row) => box === 'out' && (JSON.parse(body) as Letter).about === null

function said({ box, key, state, body, at }: Row): Said | null {
  if (box === 'in') {
    const { what, standing } = JSON.parse(body) as NewEvent
    if (what.kind !== 'message' && what.kind !== 'command') return null
    const sender = standing && { sender: { author: what.author, standing } }
    const { id, text } = what
    return { id, role: 'user', text, at, ok: true, ...sender, state: shown[state as keyof typeof shown] }
  }
  const letter = JSON.parse(body) as Letter
  if (letter.kind !== 'final') return null
  return {
    id: letter.about ?? eventOfLetter(key),
    role: 'agent',
    text: letter.text,
    at,
    ok: letter.ok,
    state: letter.ok ? 'answered' : 'failed',
  }
}
