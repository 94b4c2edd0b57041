// The budget: what still may be spent today, and on whom. What time sets off stops first, then everybody but the owner.
import type { BudgetLevel, BudgetRules, BudgetView, SpentToday } from '../base/budget.ts'
import { behalfOf, type NewEvent } from '../base/event.ts'

export interface BudgetParts {
  rules(): BudgetRules
  spent(): SpentToday
}

export interface Budget {
  /** Null: it may run. Otherwise which limit stands against it. */
  objection(event: NewEvent): 'day' | 'source' | 'person' | null
  /** Null: there is no limit for the day. */
  view(): BudgetView | null
}

/** From here on nothing more is spent on what can wait. */
const pauseAt = 0.8

export function openBudget({ rules, spent }: BudgetParts): Budget {
  return {
    objection(event) {
      const limits = rules()
      if (!isLimited(limits)) return null
      const today = spent()
      const level = levelOf(today, limits)
      const { kind } = event.what
      const { owner, person } = behalfOf(event)
      if (share(today.ofSource(event.source).usd, limits.sourceUsd[event.source] ?? null) >= 1) return 'source'
      if (kind === 'heartbeat' || kind === 'cron') return level === 'within' ? null : 'day'
      if (owner) return null
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
