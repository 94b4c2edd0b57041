// What the owner is told unasked, once: the budget is used up, somebody's change waits.
import type { BudgetView } from '../base/budget.ts'
import type { Letter } from '../base/chat.ts'
import type { Place } from '../base/event.ts'
import type { Lanes } from '../base/lanes.ts'

export interface NoticeParts {
  readonly outbox: Lanes<Letter>
  /** Where the owner looks; null: only the log. */
  place(): Place | null
  warn(text: string): void
}

/** The key makes it once, also over restarts. Never rejects. */
export function openNotices({ outbox, place, warn }: NoticeParts) {
  const told = new Set<string>()
  return async (key: string, text: string): Promise<void> => {
    if (told.has(key)) return
    told.add(key)
    const where = place()
    warn(text)
    if (!where) return
    const letter: Letter = { place: where, kind: 'final', about: null, text, ok: true }
    await outbox
      .put(`${where.chat}:${where.conversation}`, `notice:${key}#final`, letter)
      .catch((error: unknown) => warn(`could not be sent: ${String(error)}`))
  }
}

/** Once a day for each step. */
export function tellOfBudget(
  view: BudgetView,
  day: number,
  notify: (key: string, text: string) => Promise<void>,
): void {
  const { usd, tokens, level } = view
  if (level === 'within') return
  const spent = usd ? `$${usd.spent.toFixed(2)} of $${usd.of.toFixed(2)}` : `${tokens?.spent} of ${tokens?.of} tokens`
  const words = {
    paused: `Four fifths of today's budget are spent (${spent}): heartbeats and cron jobs pause until tomorrow.`,
    over: `Today's budget is spent (${spent}): until tomorrow only you are answered.`,
  }
  void notify(`budget:${day}:${level}`, words[level])
}
