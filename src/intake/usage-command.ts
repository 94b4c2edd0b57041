// /usage: tokens and cost of today, of the last 30 days, and of the last turn.
import type { BudgetView } from '../base/budget.ts'
import { counted } from '../base/counted.ts'
import type { LaneKey } from '../base/event.ts'
import type { CommandRow } from './command.ts'

export interface UsageParts {
  usage(): { readonly today: readonly Spent[]; readonly month: readonly Spent[]; readonly budget: BudgetView | null }
  /** Of the last event of this conversation that an agent worked on; null: there is none. */
  lastUsage(lane: LaneKey): { readonly ms: number; readonly spent: readonly Spent[] } | null
}

export interface Spent {
  readonly backend: string
  readonly model: string | null
  readonly turns: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly costUsd: number | null
}

export const usageRow = (parts: UsageParts): CommandRow => ({
  names: ['usage'],
  takes: '[last]',
  about: 'Show usage for today and the last 30 days, or of the last turn of this conversation.',
  async answer({ lane, rest }) {
    if (rest !== 'last') return usageOf(parts.usage())
    const last = parts.lastUsage(lane)
    if (last === null) return 'No turn of this conversation is stored.'
    return `**Last turn**, ${(last.ms / 1000).toFixed(1)} s\n${sumsOf(last.spent)}`
  },
})

function usageOf({ today, month, budget }: ReturnType<UsageParts['usage']>): string {
  const limit = budget ? [`**Budget**\n${budgetOf(budget)}`] : []
  return [`**Today**\n${sumsOf(today)}`, ...limit, `**Last 30 days**\n${sumsOf(month)}`].join('\n\n')
}

const levels = {
  within: '',
  paused: ' Heartbeats and cron jobs are paused until tomorrow.',
  over: ' Heartbeats and cron jobs are paused, and only the owner is answered, until tomorrow.',
}

function budgetOf({ usd, tokens, level }: BudgetView): string {
  const parts = [
    ...(usd ? [`$${usd.spent.toFixed(2)} of $${usd.of.toFixed(2)}`] : []),
    ...(tokens ? [`${count(tokens.spent)} of ${count(tokens.of)} tokens`] : []),
  ]
  return `${parts.join(', ')} for today.${levels[level]}`
}

function sumsOf(rows: readonly Spent[]): string {
  if (rows.length === 0) return 'nothing'
  return rows
    .map(({ backend, model, turns, inputTokens, outputTokens, costUsd }) => {
      const cost = costUsd === null ? '' : `, $${costUsd.toFixed(costUsd < 1 ? 4 : 2)}`
      const tokens = `${count(inputTokens)} tokens in, ${count(outputTokens)} out`
      return `- ${backend}${model ? ` (${model})` : ''}: ${counted(turns, 'turn')}, ${tokens}${cost}`
    })
    .join('\n')
}

const count = (n: number) =>
  n < 10_000 ? String(n) : n < 1_000_000 ? `${Math.round(n / 1000)}k` : `${(n / 1e6).toFixed(1)}M`
