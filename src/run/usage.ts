// What a turn alone has used, where the backend counts for the whole session.
import type { AgentEvent, Usage } from '../base/agent.ts'

export type UsageTold = Extract<AgentEvent, { type: 'usage' }>

/** `before`: what the session had used up before this turn; null: not known, `nothing`: it is new. */
export function usageOfTurn(
  told: UsageTold,
  before: Usage | null,
): { readonly turn: Usage; readonly totals: Usage | null } {
  if (told.of === 'turn') return { turn: told.usage, totals: null }
  return { turn: difference(told.usage, before), totals: told.usage }
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
