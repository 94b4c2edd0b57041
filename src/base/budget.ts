// How much may be spent in a day, and how much has been.

export interface BudgetRules {
  /** Null: no limit. */
  readonly dailyUsd: number | null
  readonly dailyTokens: number | null
  /** For each person other than the owner. */
  readonly personUsd: number | null
  /** By source: `heartbeat`, `cron`, `webhook`, `discord`, … */
  readonly sourceUsd: Readonly<Record<string, number>>
}

export interface Spent {
  readonly usd: number
  readonly tokens: number
}

export interface SpentToday extends Spent {
  ofSource(source: string): Spent
  ofPerson(person: string): Spent
}

/** How much of the daily budget is used. */
export interface BudgetView {
  readonly usd: { readonly spent: number; readonly of: number } | null
  readonly tokens: { readonly spent: number; readonly of: number } | null
  readonly level: BudgetLevel
}

/** `paused`: heartbeats and cron jobs wait, so that some budget is left for people. `over`: only the owner is answered. */
export type BudgetLevel = 'within' | 'paused' | 'over'
