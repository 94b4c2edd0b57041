// Usage of a single turn, for backends that report totals of the whole session.
import type { AgentEvent, Usage } from '../base/agent.ts'

export type UsageReport = Extract<AgentEvent, { type: 'usage' }>

/** `before`: what the session had used before this turn; null: unknown; `nothing`: the session is new. */
export function usageOfTurn(
  report: UsageReport,
  before: Usage | null,
): { readonly turn: Usage; readonly totals: Usage | null } {
  // The totals that a session reports at its end include interrupted turns, so these are added up too.
  if (report.of === 'turn') return { turn: report.usage, totals: before && sum(before, report.usage) }
  return { turn: difference(report.usage, before), totals: report.usage }
}

export const nothing: Usage = { inputTokens: 0, outputTokens: 0, costUsd: 0 }

function difference(total: Usage, before: Usage | null): Usage {
  const spent = (now: number, then: number | undefined) => (then === undefined ? 0 : Math.max(0, now - then))
  return {
    inputTokens: spent(total.inputTokens, before?.inputTokens),
    outputTokens: spent(total.outputTokens, before?.outputTokens),
    costUsd: total.costUsd === null || before === null ? null : spent(total.costUsd, before.costUsd ?? 0),
  }
}

const sum = (a: Usage, b: Usage): Usage => ({
  inputTokens: a.inputTokens + b.inputTokens,
  outputTokens: a.outputTokens + b.outputTokens,
  costUsd: a.costUsd === null ? null : a.costUsd + (b.costUsd ?? 0),
})
