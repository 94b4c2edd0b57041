// Decisions about people, and pending pairing codes. Strangers cannot fill it: few codes each, few in total, and none is kept for long.

import type {
  Approval,
  Decision,
  Denial,
  KnownPerson,
  PairingAdmin,
  PairingList,
  PairingRequest,
  Person,
} from '../base/pairing.ts'
import { label } from '../base/scrub.ts'
import type { Clock } from '../base/time.ts'
import type { Database } from './database.ts'

export interface Pairing extends PairingAdmin {
  /** The decision about a person; null: none yet. */
  decided(chat: string, user: string): Decision | null
  /** A code for a stranger, on disk once it resolves. Null: they have one, used up their codes, or too many others are waiting. */
  request(person: Person, where: string): Promise<string | null>
  /** Ids of approved people in this chat, owners first. */
  letIn(chat: string): readonly string[]
  /** Whether anybody has been approved so far. */
  anybody(): boolean
}

/** In [0, below), unpredictable. */
export type RandomInt = (below: number) => number

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour
const validMs = hour
const mostPerDay = 3
const mostOpen = 50
const wrong = { most: 10, withinMs: hour, lockMs: 10 * minute }

/** No characters that look alike: without 0 and O, 1, I and L. */
const alphabet = 'ABCDEFGHJKMNPQRSTUVWXYZ23456789'
const codeLength = 8

interface RequestRow {
  code: string
  chat: string
  user: string
  name: string
  place: string
  at: number
}

export function createPairing(db: Database, clock: Clock, randomInt: RandomInt): Pairing {
  const sql = {
    person: db.prepare('SELECT decision FROM people WHERE chat = ? AND user = ?'),
    byUser: db.prepare('SELECT chat, user, name, decision FROM people WHERE user = ?'),
    people: db.prepare('SELECT chat, user, name, decision, at FROM people ORDER BY at, chat, user'),
    anybody: db.prepare(`SELECT 1 FROM people WHERE decision <> 'denied' LIMIT 1`),
    letIn: db.prepare(
      `SELECT user FROM people WHERE chat = ? AND decision <> 'denied' ORDER BY decision = 'owner' DESC, at, user`,
    ),
    decide: db.prepare(
      `INSERT INTO people (chat, user, name, decision, at) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (chat, user) DO UPDATE SET name = excluded.name, decision = excluded.decision, at = excluded.at`,
    ),
    byCode: db.prepare('SELECT code, chat, user, name, place, at FROM pairing_codes WHERE code = ?'),
    ofPerson: db.prepare('SELECT at FROM pairing_codes WHERE chat = ? AND user = ? AND at > ?'),
    askedBy: db.prepare('SELECT chat, user, name FROM pairing_codes WHERE user = ? GROUP BY chat, user'),
    open: db.prepare('SELECT code, chat, user, name, place, at FROM pairing_codes WHERE at > ? ORDER BY at'),
    count: db.prepare('SELECT count(*) AS n FROM pairing_codes WHERE at > ?'),
    insert: db.prepare('INSERT INTO pairing_codes (code, chat, user, name, place, at) VALUES (?, ?, ?, ?, ?, ?)'),
    forget: db.prepare('DELETE FROM pairing_codes WHERE at <= ?'),
    settle: db.prepare('DELETE FROM pairing_codes WHERE chat = ? AND user = ?'),
  }
  let wrongAt: number[] = []
  let lockedUntil = 0

  /** Also checked before anything is written, so that ignored people cost no write. */
  const mayAsk = ({ chat, user }: Person): boolean => {
    const now = clock.now()
    const times = (sql.ofPerson.all(chat, user, now - day) as { at: number }[]).map(({ at }) => at)
    if (times.length >= mostPerDay || times.some(at => at > now - validMs)) return false
    return (sql.count.get(now - validMs) as { n: number }).n < mostOpen
  }

  const newCode = (): string => {
    for (;;) {
      const code = Array.from({ length: codeLength }, () => alphabet.charAt(randomInt(alphabet.length))).join('')
      if (!sql.byCode.get(code)) return code
    }
  }

  const decide = (person: Person, decision: Decision) =>
    db.write(() => {
      sql.decide.run(person.chat, person.user, person.name, decision, clock.now())
      sql.settle.run(person.chat, person.user)
    })

  /** `chat:user`, also of an unknown person; or only the user if it is unique among the chats. */
  const personNamed = (name: string): (Person & { decision?: Decision }) | null => {
    const [, chat, user = name] = /^([a-z][a-z0-9-]*):([^\s:/]{1,100})$/.exec(name) ?? []
    const all = [...sql.byUser.all(user), ...sql.askedBy.all(user)] as unknown as (Person & { decision?: Decision })[]
    const [person, another] = all.filter(one => chat === undefined || one.chat === chat)
    if (!person && chat !== undefined) return { chat, user, name: '' }
    return person && !another ? person : null
  }

  async function approve(given: string, owner: boolean): Promise<Approval> {
    const now = clock.now()
    if (now < lockedUntil) return { type: 'locked', leftMs: lockedUntil - now }
    const row = requestOf(given)
    if (row && row.at <= now - validMs) return { type: 'expired', person: personOf(row) }
    const known = row ? null : personNamed(given.trim())
    const person = row ?? (known?.decision === undefined ? null : known)
    if (!person) {
      wrongAt = [...wrongAt.filter(at => at > now - wrong.withinMs), now]
      if (wrongAt.length < wrong.most) return { type: 'unknown' }
      wrongAt = []
      lockedUntil = now + wrong.lockMs
      return { type: 'locked', leftMs: wrong.lockMs }
    }
    await decide(personOf(person), owner ? 'owner' : 'guest')
    return { type: 'approved', person: personOf(person), owner }
  }

  async function deny(codeOrUser: string): Promise<Denial> {
    const person = requestOf(codeOrUser) ?? personNamed(codeOrUser.trim())
    if (!person) return { type: 'unknown' }
    await decide(personOf(person), 'denied')
    return { type: 'denied', person: personOf(person) }
  }

  const requestOf = (given: string): RequestRow | undefined =>
    sql.byCode.get(given.toUpperCase().replace(/[\s-]/g, '')) as RequestRow | undefined

  return {
    approve,
    deny,
    decided: (chat, user) => (sql.person.get(chat, user) as { decision: Decision } | undefined)?.decision ?? null,
    letIn: chat => (sql.letIn.all(chat) as { user: string }[]).map(({ user }) => user),
    anybody: () => sql.anybody.get() !== undefined,
    async request(person, where) {
      if (!mayAsk(person)) return null
      return db.write(() => {
        // Checked again, since others in the same group commit may have come first.
        if (!mayAsk(person)) return null
        const code = newCode()
        sql.forget.run(clock.now() - day)
        sql.insert.run(code, person.chat, person.user, label(person.name), label(where, 100), clock.now())
        return shown(code)
      })
    },
    async list(): Promise<PairingList> {
      const now = clock.now()
      return {
        requests: (sql.open.all(now - validMs) as unknown as RequestRow[]).map(
          (row): PairingRequest => ({
            ...personOf(row),
            code: shown(row.code),
            where: row.place,
            leftMs: row.at + validMs - now,
          }),
        ),
        people: (sql.people.all() as unknown as (Person & { decision: Decision; at: number })[]).map(
          (row): KnownPerson => ({ ...personOf(row), as: row.decision, since: row.at }),
        ),
      }
    },
  }
}

const personOf = ({ chat, user, name }: Person): Person => ({ chat, user, name })

/** Two halves are easier to read out. */
const shown = (code: string) => `${code.slice(0, codeLength / 2)}-${code.slice(codeLength / 2)}`
