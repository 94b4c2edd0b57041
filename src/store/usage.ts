// Usage of each turn: tokens, cost, time. Stored when it ends, summed up on request.
import type { UsageReport } from '../base/activity.ts'
import type { Spent, SpentToday } from '../base/budget.ts'
import type { LaneKey } from '../base/event.ts'
import type { Signal } from '../base/signal.ts'
import type { Clock } from '../base/time.ts'
import type { Database } from './database.ts'
import { createUsageDays } from './usage-days.ts'

export interface UsageSum {
  readonly backend: string
  readonly model: string | null
  readonly turns: number
  readonly failed: number
  readonly inputTokens: number
  readonly outputTokens: number
  /** Null: none of these turns reported a cost. */
  readonly costUsd: number | null
}

export interface UsageStore {
  listen(signal: Signal): void
  /** Since then, by backend and model, most used first. */
  since(at: number): readonly UsageSum[]
  /** Of the last event of a lane that an agent worked on; null: there is none lately. */
  lastOf(lane: LaneKey): { readonly ms: number; readonly spent: readonly UsageSum[] } | null
  /** Since then, by day, channel, source and backend, latest day first. `dayOf` names the day of a time. */
  byDay(since: number, dayOf: (at: number) => string): Promise<UsageReport>
  /** Spending since then, by source and person. Needed for every event, so it is summed up once and then updated. */
  spentSince(at: number): SpentToday
  forgetBefore(at: number): Promise<void>
}

const summed = `backend, model, count(*) AS turns, sum(1 - ok) AS failed, total(input_tokens) AS input,
  total(output_tokens) AS output, sum(cost_usd) AS cost, total(ms) AS ms`

export function createUsage(db: Database, clock: Clock): UsageStore {
  const insert = db.prepare(
    `INSERT INTO turns (event, at, lane, source, kind, person, backend, model, ms, first_word_ms, input_tokens, output_tokens, cost_usd, ok, why)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const sums = db.prepare(
    `SELECT ${summed} FROM turns WHERE at >= ? GROUP BY backend, model ORDER BY turns DESC, backend, model`,
  )
  const ofEvent = db.prepare(
    `SELECT ${summed} FROM turns WHERE event = ? AND lane = ? GROUP BY backend, model ORDER BY min(at)`,
  )
  const last = db.prepare(
    `SELECT id FROM (SELECT id, lane FROM items WHERE lane = ? AND queue = 'in' ORDER BY id DESC LIMIT 200) i
     WHERE EXISTS (SELECT 1 FROM turns WHERE event = i.id AND lane = i.lane) ORDER BY id DESC LIMIT 1`,
  )
  const spent = db.prepare(
    `SELECT source, person, total(cost_usd) AS usd, total(input_tokens) + total(output_tokens) AS tokens
     FROM turns WHERE at >= ? GROUP BY source, person`,
  )
  const forget = db.prepare('DELETE FROM turns WHERE at < ?')
  let counted: { readonly since: number; add(source: string, person: string | null, one: Spent): void } | null = null
  let today: SpentToday = createSum()

  return {
    spentSince(at) {
      if (counted?.since === at) return today
      const sum = createSum()
      for (const { source, person, usd, tokens } of spent.all(at))
        sum.add(String(source), person === null ? null : String(person), { usd: Number(usd), tokens: Number(tokens) })
      counted = { since: at, add: sum.add }
      today = sum
      return sum
    },
    listen(signal) {
      if (signal.type !== 'turn-ended') return
      const { id, lane, source, kind, person, backend, model, ms, firstWordMs, usage, ok, why } = signal
      const at = clock.now()
      const tokens = (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0)
      counted?.add(source, person, { usd: usage?.costUsd ?? 0, tokens })
      // In the same commit as the outcome that follows; a full disk is reported there.
      db.write(() =>
        insert.run(
          ...[id, at, lane, source, kind, person, backend, model, Math.round(ms), rounded(firstWordMs)],
          ...[usage?.inputTokens ?? null, usage?.outputTokens ?? null, usage?.costUsd ?? null, ok ? 1 : 0, why],
        ),
      ).catch(() => undefined)
    },
    since: at => sums.all(at).map(sumOf),
    lastOf(lane) {
      const row = last.get(lane)
      const found = row ? ofEvent.all(Number(row.id), lane) : []
      if (found.length === 0) return null
      return { ms: found.reduce((ms, one) => ms + Number(one.ms), 0), spent: found.map(sumOf) }
    },
    byDay: createUsageDays(db, clock),
    forgetBefore: async at => void (await db.write(() => forget.run(at))),
  }
}

const sumOf = (row: Record<string, unknown>): UsageSum => ({
  backend: String(row.backend),
  model: row.model === null ? null : String(row.model),
  turns: Number(row.turns),
  failed: Number(row.failed),
  inputTokens: Number(row.input),
  outputTokens: Number(row.output),
  costUsd: row.cost === null ? null : Number(row.cost),
})

const rounded = (ms: number | null) => (ms === null ? null : Math.round(ms))

function createSum(): SpentToday & { add(source: string, person: string | null, one: Spent): void } {
  const sources = new Map<string, Spent>()
  const people = new Map<string, Spent>()
  const nothing: Spent = { usd: 0, tokens: 0 }
  let all = nothing
  const plus = (a: Spent, b: Spent): Spent => ({ usd: a.usd + b.usd, tokens: a.tokens + b.tokens })
  return {
    get usd() {
      return all.usd
    },
    get tokens() {
      return all.tokens
    },
    ofSource: source => sources.get(source) ?? nothing,
    ofPerson: person => people.get(person) ?? nothing,
    add(source, person, one) {
      all = plus(all, one)
      sources.set(source, plus(sources.get(source) ?? nothing, one))
      if (person !== null) people.set(person, plus(people.get(person) ?? nothing, one))
    },
  }
}
