// What each turn took: tokens, money, time. Written down as it ends, summed up when somebody asks.
import type { UsageDay } from '../base/activity.ts'
import type { Spent, SpentToday } from '../base/budget.ts'
import type { Signal } from '../base/signal.ts'
import type { Clock } from '../base/time.ts'
import type { Database } from './database.ts'

export interface UsageSum {
  readonly backend: string
  readonly model: string | null
  readonly turns: number
  readonly failed: number
  readonly inputTokens: number
  readonly outputTokens: number
  /** Null: none of these turns told what it cost. */
  readonly costUsd: number | null
}

export interface UsageBook {
  listen(signal: Signal): void
  /** Since then, by backend and model, the most used first. */
  since(at: number): readonly UsageSum[]
  /** Since then, by day, source and backend, the latest day first. `dayOf` names the day of a time. */
  byDay(since: number, dayOf: (at: number) => string): Promise<readonly UsageDay[]>
  /** What was spent since then, by source and person. Asked for with every event, so it is summed up once and then counted on. */
  spentSince(at: number): SpentToday
  forgetBefore(at: number): Promise<void>
}

export function openUsage(db: Database, clock: Clock): UsageBook {
  const insert = db.prepare(
    `INSERT INTO turns (event, at, lane, source, kind, person, backend, model, ms, first_word_ms, input_tokens, output_tokens, cost_usd, ok, why)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const sums = db.prepare(
    `SELECT backend, model, count(*) AS turns, sum(1 - ok) AS failed, total(input_tokens) AS input, total(output_tokens) AS output,
       sum(cost_usd) AS cost
     FROM turns WHERE at >= ? GROUP BY backend, model ORDER BY turns DESC, backend, model`,
  )
  const ofTime = db.prepare(
    `SELECT source, backend, count(*) AS turns, sum(1 - ok) AS failed, total(input_tokens) AS input, total(output_tokens) AS output,
       sum(cost_usd) AS cost, avg(first_word_ms) AS words
     FROM turns WHERE at >= ? AND at < ? GROUP BY source, backend ORDER BY turns DESC, source, backend`,
  )
  const spent = db.prepare(
    `SELECT source, person, total(cost_usd) AS usd, total(input_tokens) + total(output_tokens) AS tokens
     FROM turns WHERE at >= ? GROUP BY source, person`,
  )
  const forget = db.prepare('DELETE FROM turns WHERE at < ?')
  let counted: { readonly since: number; add(source: string, person: string | null, one: Spent): void } | null = null
  let today: SpentToday = openSum()

  return {
    spentSince(at) {
      if (counted?.since === at) return today
      const sum = openSum()
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
      // In the same commit as the outcome that follows; a full disk is told there.
      db.write(() =>
        insert.run(
          ...[id, at, lane, source, kind, person, backend, model, Math.round(ms), rounded(firstWordMs)],
          ...[usage?.inputTokens ?? null, usage?.outputTokens ?? null, usage?.costUsd ?? null, ok ? 1 : 0, why],
        ),
      ).catch(() => undefined)
    },
    since: at =>
      sums.all(at).map(row => ({
        backend: String(row.backend),
        model: row.model === null ? null : String(row.model),
        turns: Number(row.turns),
        failed: Number(row.failed),
        inputTokens: Number(row.input),
        outputTokens: Number(row.output),
        costUsd: row.cost === null ? null : Number(row.cost),
      })),
    async byDay(since, dayOf) {
      const days: UsageDay[] = []
      const end = clock.now() + 1
      for (let from = since; from < end; ) {
        const to = Math.min(end, nextDay(from, dayOf))
        const day = dayOf(from)
        days.unshift(...ofTime.all(from, to).map(row => usageDay(day, row)))
        from = to
        // Many turns take a while to sum up; nobody else should wait for more than a day of them.
        await new Promise<void>(resolve => setImmediate(resolve))
      }
      return days
    },
    forgetBefore: async at => void (await db.write(() => forget.run(at))),
  }
}

const quarterMs = 900_000

/** Days begin at another moment in each zone, but always at a quarter of an hour. */
function nextDay(at: number, dayOf: (at: number) => string): number {
  const day = dayOf(at)
  let same = Math.floor(at / quarterMs)
  let other = same + 26 * 4
  while (other - same > 1) {
    const middle = (same + other) >> 1
    if (dayOf(middle * quarterMs) === day) same = middle
    else other = middle
  }
  return other * quarterMs
}

const usageDay = (day: string, row: Record<string, unknown>): UsageDay => ({
  day,
  source: String(row.source),
  backend: String(row.backend),
  turns: Number(row.turns),
  failed: Number(row.failed),
  inputTokens: Number(row.input),
  outputTokens: Number(row.output),
  costUsd: row.cost === null ? null : Number(row.cost),
  firstWordMs: row.words === null ? null : Math.round(Number(row.words)),
})

const rounded = (ms: number | null) => (ms === null ? null : Math.round(ms))

function openSum(): SpentToday & { add(source: string, person: string | null, one: Spent): void } {
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
