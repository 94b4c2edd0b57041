// The budget: what may still be spent today, and for whom. Scheduled events stop first, then everybody but the owner.
import type { BudgetLevel, BudgetRules, BudgetView, SpentToday } from '../base/budget.ts'
import { type EventSink, type NewEvent, principalOf } from '../base/event.ts'

export interface BudgetParts {
  rules(): BudgetRules
  spent(): SpentToday
}

export interface Budget {
  /** Null: it may run. Otherwise the limit that forbids it. */
  objection(event: NewEvent): 'day' | 'source' | 'person' | null
  /** Null: there is no daily limit. */
  view(): BudgetView | null
}

/** From this share of the budget on, nothing is spent on scheduled events. */
const pauseAt = 0.8

export function createBudget({ rules, spent }: BudgetParts): Budget {
  return {
    objection(event) {
      const limits = rules()
      if (!isLimited(limits)) return null
      const today = spent()
      const level = levelOf(today, limits)
      const { kind } = event.what
      const { owner, person } = principalOf(event)
      if (share(today.ofSource(event.source).usd, limits.sourceUsd[event.source] ?? null) >= 1) return 'source'
      if (kind === 'heartbeat' || kind === 'cron') return level === 'within' ? null : 'day'
      // The owner is answered in any case, but a chain of sub-agents ends here.
      if (owner) return kind === 'assignment' && level === 'over' ? 'day' : null
      if (level === 'over') return 'day'
      return person !== null && share(today.ofPerson(person).usd, limits.personUsd) >= 1 ? 'person' : null
    },
    view() {
      const limits = rules()
      const { dailyUsd, dailyTokens } = limits
      if (dailyUsd === null && dailyTokens === null) return null
      const today = spent()
      return {
        usd: dailyUsd === null ? null : { spent: today.usd, of: dailyUsd },
        tokens: dailyTokens === null ? null : { spent: today.tokens, of: dailyTokens },
        level: levelOf(today, limits),
      }
    },
  }
}

const isLimited = ({ dailyUsd, dailyTokens, personUsd, sourceUsd }: BudgetRules) =>
  dailyUsd !== null || dailyTokens !== null || personUsd !== null || Object.keys(sourceUsd).length > 0

function levelOf({ usd, tokens }: SpentToday, { dailyUsd, dailyTokens }: BudgetRules): BudgetLevel {
  const used = Math.max(share(usd, dailyUsd), share(tokens, dailyTokens))
  return used >= 1 ? 'over' : used >= pauseAt ? 'paused' : 'within'
}

const share = (spent: number, limit: number | null): number => {
  if (limit === null) return 0
  return limit === 0 ? 1 : spent / limit
}

/** For event sources that retry: an event over budget is refused before it counts as received. */
export const withinBudget =
  (budget: Pick<Budget, 'objection'>, accept: EventSink): EventSink =>
  async event =>
    budget.objection(event) === null ? accept(event) : overBudget

const overBudget = {
  type: 'refused',
  why: 'over-budget',
  reason: 'The budget for today is used up, so jobs are paused until tomorrow.',
} as const
