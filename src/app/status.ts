// How the gateway is doing: for `aetheel status`, /api/status and /metrics.
import type { BudgetView } from '../base/budget.ts'
import type { Signal } from '../base/signal.ts'
import type { Counts } from '../store/index.ts'

export interface StatusParts {
  readonly version: string
  readonly backend: string
  readonly startedAt: number
  /** The chats that have a far side, which may be out of reach. */
  readonly chats: readonly string[]
  ready(): boolean
  now(): number
  counts(box: 'in' | 'out'): Counts
  budget(): BudgetView | null
}

export function openStatus(parts: StatusParts) {
  const unreached = new Set(parts.chats)
  const turns = { count: 0, ms: 0, firstWords: 0, firstWordMs: 0 }

  const status = () => {
    const letters = parts.counts('out')
    return {
      ready: parts.ready(),
      pid: process.pid,
      version: parts.version,
      backend: parts.backend,
      uptimeMs: parts.now() - parts.startedAt,
      rssBytes: process.memoryUsage.rss(),
      /** received = answered + waiting + running + refused + failed; what was cancelled before it began counts as refused. */
      events: parts.counts('in'),
      budget: parts.budget(),
      /** Chats in which nobody is heard at the moment. */
      unreached: [...unreached],
      letters: { sent: letters.answered, failed: letters.failed, waiting: letters.waiting + letters.running },
    }
  }

  return {
    status,
    listen(signal: Signal): void {
      if (signal.type === 'chat-ready') unreached.delete(signal.chat)
      else if (signal.type === 'chat-lost') unreached.add(signal.chat)
      else if (signal.type === 'turn-ended') {
        turns.count++
        turns.ms += signal.ms
      } else if (signal.type === 'turn-spoke') {
        turns.firstWords++
        turns.firstWordMs += signal.afterMs
      }
    },
    metrics(): string {
      const now = status()
      const { waiting, running, received, answered, refused, failed } = now.events
      return [
        ...metric(
          'aetheel_events_total',
          'counter',
          'Events by how they ended.',
          { received, answered, refused, failed },
          'outcome',
        ),
        ...metric('aetheel_events', 'gauge', 'Events that have not ended.', { waiting, running }, 'state'),
        ...metric('aetheel_letters', 'gauge', 'Letters of the outbox.', now.letters, 'state'),
        ...metric('aetheel_turns_total', 'counter', 'Turns that ended since the start.', turns.count),
        ...metric('aetheel_turn_seconds_total', 'counter', 'Time spent in turns since the start.', turns.ms / 1000),
        ...metric(
          'aetheel_first_word_seconds_total',
          'counter',
          'Time to the first word, summed.',
          turns.firstWordMs / 1000,
        ),
        ...metric('aetheel_first_words_total', 'counter', 'Turns that spoke.', turns.firstWords),
        ...metric('aetheel_resident_memory_bytes', 'gauge', 'Memory of the gateway.', now.rssBytes),
        ...metric('aetheel_uptime_seconds', 'gauge', 'Time since the start.', now.uptimeMs / 1000),
        '',
      ].join('\n')
    },
  }
}

function metric(
  name: string,
  type: string,
  help: string,
  value: number | Readonly<Record<string, number>>,
  label = '',
): string[] {
  const lines =
    typeof value === 'number'
      ? [`${name} ${value}`]
      : Object.entries(value).map(([key, n]) => `${name}{${label}="${key}"} ${n}`)
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines]
}
