// Notices that the owner gets unprompted, once each: the budget is used up, a change is waiting for approval.
import type { BudgetView } from '../base/budget.ts'
import type { Delivery } from '../base/chat.ts'
import { type Place, placeName } from '../base/event.ts'
import type { Lanes } from '../base/lanes.ts'
import type { MemoryChange } from '../base/memory.ts'

export interface NoticeParts {
  readonly outbox: Lanes<Delivery>
  /** Where to reach the owner; null: only the log. */
  place(): Place | null
  warn(text: string): void
}

/** The key makes sure that it is sent only once, even across restarts. Never rejects. */
export function createNotices({ outbox, place, warn }: NoticeParts) {
  const sent = new Set<string>()
  return async (key: string, text: string): Promise<void> => {
    if (sent.has(key)) return
    sent.add(key)
    const where = place()
    warn(text)
    if (!where) return
    const delivery: Delivery = { place: where, kind: 'final', about: null, text, ok: true }
    await outbox
      .put(placeName(where), `notice:${key}#final`, delivery)
      .catch((error: unknown) => warn(`could not be sent: ${String(error)}`))
  }
}

/** What the owner is told about a change that is waiting for approval. */
export function changeNotice({ id, file, person, events, owner }: WaitingChange): string {
  const who = person === null ? 'Somebody' : `A guest (${person})`
  const what =
    events.length > 0
      ? owner
        ? `The agent changed ${file}, which can give it more power. If you did not ask for that, a text it read may have.`
        : `${who} made the agent change ${file}.`
      : `${file} was changed around the time when the gateway was killed, by hand or in a guest's turn; which one is unknown. The change was reverted, and both versions are kept.`
  return `${what} It is waiting for your approval: \`/memory approve ${id}\` or \`/memory deny ${id}\`.`
}

type WaitingChange = Pick<MemoryChange, 'id' | 'file' | 'person' | 'events' | 'owner'>

/** At most once a day for each level. */
export function notifyOfBudget(
  view: BudgetView,
  day: number,
  notify: (key: string, text: string) => Promise<void>,
): void {
  const { usd, tokens, level } = view
  if (level === 'within') return
  const spent = usd ? `$${usd.spent.toFixed(2)} of $${usd.of.toFixed(2)}` : `${tokens?.spent} of ${tokens?.of} tokens`
  const words = {
    paused: `80 % of today's budget is used up (${spent}). Heartbeats and cron jobs are paused until tomorrow.`,
    over: `Today's budget is used up (${spent}). Until tomorrow, only you get answers.`,
  }
  void notify(`budget:${day}:${level}`, words[level])
}
