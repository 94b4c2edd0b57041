// Usage by day: summed up in the database, and condensed if there are many channels.
import { setImmediate } from 'node:timers/promises'
import type { UsageDay, UsageReport } from '../base/activity.ts'
import type { NewEvent } from '../base/event.ts'
import type { Clock } from '../base/time.ts'
import type { Database } from './database.ts'

/** The channels with the most turns are listed; the rest is summed up. */
export const channelsToldApart = 12
/** The name of a channel is taken from its latest items; reports and deliveries have none. */
const itemsLookedAt = 20
/** Each sub-agent has its own short-lived lane: listed separately they would push out lasting channels. */
const ofSubAgents = 'agent'

/** Usage since then; `dayOf` names the day of a time. Latest day first. */
export function createUsageDays(db: Database, clock: Clock) {
  const ofTime = db.prepare(
    `SELECT lane, source, backend, count(*) AS turns, sum(1 - ok) AS failed, total(input_tokens) AS input, total(output_tokens) AS output,
       sum(cost_usd) AS cost, count(first_word_ms) AS spoke, total(first_word_ms) AS words
     FROM turns WHERE at >= ? AND at < ? GROUP BY lane, source, backend`,
  )
  const latest = db.prepare(`SELECT body FROM items WHERE lane = ? AND queue = 'in' ORDER BY id DESC LIMIT ?`)

  return async (since: number, dayOf: (at: number) => string): Promise<UsageReport> => {
    const sums: ChannelSum[] = []
    const end = clock.now() + 1
    for (let from = since; from < end; ) {
      const to = Math.min(end, nextDay(from, dayOf))
      const day = dayOf(from)
      for (const row of ofTime.all(from, to)) sums.push(sumOf(day, row))
      from = to
      // Summing up many turns takes a while; other work should not wait for more than one day of them.
      await setImmediate()
    }
    const channels = busiest(sums, channelsToldApart)
    const names = [...channels].flatMap(channel => {
      const name = nameIn(latest.all(channel, itemsLookedAt).map(row => JSON.parse(String(row.body)) as NewEvent))
      return name === null ? [] : [[channel, name] as const]
    })
    return { days: foldChannels(sums, channels), names: Object.fromEntries(names) }
  }
}

interface Sum extends Omit<UsageDay, 'firstWordMs'> {
  /** Over all turns that produced text. */
  readonly words: number
}
type ChannelSum = Sum & { readonly channel: string }

const sumOf = (day: string, row: Record<string, unknown>): ChannelSum => ({
  day,
  channel: channelOf(String(row.lane)),
  source: String(row.source),
  backend: String(row.backend),
  turns: Number(row.turns),
  failed: Number(row.failed),
  inputTokens: Number(row.input),
  outputTokens: Number(row.output),
  costUsd: row.cost === null ? null : Number(row.cost),
  spoke: Number(row.spoke),
  words: Number(row.words),
})

const channelOf = (lane: string): string => (lane.startsWith(`${ofSubAgents}:`) ? ofSubAgents : lane)

function busiest(sums: readonly ChannelSum[], most: number): ReadonlySet<string> {
  const turns = new Map<string, number>()
  for (const { channel, turns: n } of sums) turns.set(channel, (turns.get(channel) ?? 0) + n)
  const names = [...turns].sort(([, a], [, b]) => b - a).map(([channel]) => channel)
  return new Set(names.slice(0, most))
}

/** Channels that are not listed are combined into one, which still separates sources and backends. */
function foldChannels(sums: readonly ChannelSum[], channels: ReadonlySet<string>): readonly UsageDay[] {
  const folded = new Map<string, Sum>()
  for (const sum of sums) {
    const channel = channels.has(sum.channel) ? sum.channel : null
    const key = JSON.stringify([sum.day, channel, sum.source, sum.backend])
    const before = folded.get(key)
    folded.set(key, before ? added(before, sum) : { ...sum, channel })
  }
  return [...folded.values()]
    .sort((a, b) => compare(b.day, a.day) || b.turns - a.turns || compare(a.source, b.source))
    .map(({ words, ...day }) => ({ ...day, firstWordMs: day.spoke === 0 ? null : Math.round(words / day.spoke) }))
}

const added = (a: Sum, b: Sum): Sum => ({
  ...a,
  turns: a.turns + b.turns,
  failed: a.failed + b.failed,
  inputTokens: a.inputTokens + b.inputTokens,
  outputTokens: a.outputTokens + b.outputTokens,
  costUsd: a.costUsd === null ? b.costUsd : a.costUsd + (b.costUsd ?? 0),
  spoke: a.spoke + b.spoke,
  words: a.words + b.words,
})

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** The name of the place; null: unknown. */
function nameIn(events: readonly NewEvent[]): string | null {
  for (const { sender, what } of events) {
    if (!sender) continue
    if (sender.guild === null && 'author' in what) return `direct messages with ${what.author.name}`
    return sender.where
  }
  return null
}

const quarterMs = 900_000

/** Days start at a different moment in each time zone, but always at a quarter of an hour. */
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
