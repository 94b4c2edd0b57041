// The gateway's status, for `aetheel status`, /api/status and /metrics.

import type { FailureReason } from '../base/agent.ts'
import type { BudgetView } from '../base/budget.ts'
import type { QueueCounts } from '../base/lanes.ts'
import type { Signal } from '../base/signal.ts'

export interface StatusParts {
  readonly version: string
  readonly backend: string
  readonly startedAt: number
  /** Chats with a remote server, which may be unreachable. */
  readonly chats: readonly string[]
  ready(): boolean
  now(): number
  counts(queue: 'in' | 'out'): QueueCounts
  delayed(): number
  budget(): BudgetView | null
  readonly database: { trouble(): { readonly why: string } | null }
  /** What the owner should know about this start. */
  readonly notes: readonly string[]
  resting(): readonly { readonly backend: string; readonly why: FailureReason; readonly until: number }[]
}

const noCounts: QueueCounts = { received: 0, waiting: 0, running: 0, answered: 0, refused: 0, failed: 0 }

export type GatewayStatus = ReturnType<ReturnType<typeof createStatus>['status']>

export function createStatus(parts: StatusParts) {
  const unreached = new Set(parts.chats)
  const counts = { in: noCounts, out: noCounts }
  const countsOf = (queue: 'in' | 'out'): QueueCounts => {
    try {
      counts[queue] = parts.counts(queue)
    } catch {
      // The database is damaged, which `trouble` reports; the last counts are used.
    }
    return counts[queue]
  }
  const budget = () => {
    try {
      return parts.budget()
    } catch {
      return null // as above
    }
  }
  const turns = { count: 0, ms: 0, firstWords: 0, firstWordMs: 0 }

  const trouble = () => parts.database.trouble()?.why ?? null

  const status = () => {
    const deliveries = countsOf('out')
    return {
      ready: parts.ready(),
      pid: process.pid,
      version: parts.version,
      backend: parts.backend,
      uptimeMs: parts.now() - parts.startedAt,
      rssBytes: process.memoryUsage.rss(),
      /** received = answered + waiting + running + refused + failed; events cancelled before they began count as refused. */
      events: countsOf('in'),
      budget: budget(),
      /** Why nothing is accepted at the moment. Null if all is well. */
      trouble: trouble(),
      notes: parts.notes,
      /** Chats that are disconnected at the moment. */
      unreached: [...unreached],
      /** Backends in cooldown: until then the others are asked first. */
      resting: parts.resting(),
      /** `delayed` counts those waiting ones that have failed before and are retried. */
      deliveries: {
        ...{ sent: deliveries.answered, failed: deliveries.failed, waiting: deliveries.waiting + deliveries.running },
        delayed: parts.delayed(),
      },
    }
  }

  return {
    status,
    trouble,
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
      const { delayed, ...deliveries } = now.deliveries
      return [
        ...metric(
          'aetheel_events_total',
          'counter',
          'Events by how they ended.',
          { received, answered, refused, failed },
          'outcome',
        ),
        ...metric('aetheel_events', 'gauge', 'Events that have not ended.', { waiting, running }, 'state'),
        ...metric('aetheel_deliveries', 'gauge', 'Deliveries in the outbox.', deliveries, 'state'),
        ...metric('aetheel_deliveries_delayed', 'gauge', 'Deliveries that failed before and are retried.', delayed),
        ...metric('aetheel_turns_total', 'counter', 'Turns that ended since the start.', turns.count),
        ...metric('aetheel_turn_seconds_total', 'counter', 'Time spent in turns since the start.', turns.ms / 1000),
        ...metric(
          'aetheel_first_word_seconds_total',
          'counter',
          'Time to the first word, summed.',
          turns.firstWordMs / 1000,
        ),
        ...metric('aetheel_first_words_total', 'counter', 'Turns that spoke.', turns.firstWords),
        ...(parts.chats.length === 0
          ? []
          : metric(
              'aetheel_chat_connected',
              'gauge',
              'Whether each chat is connected.',
              Object.fromEntries(parts.chats.map(name => [name, unreached.has(name) ? 0 : 1])),
              'chat',
            )),
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
