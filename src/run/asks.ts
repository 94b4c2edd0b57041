// The questions of one turn that wait for an answer: each is answered once, and none after the turn.
import type { AgentEvent } from '../base/agent.ts'
import type { Ask, Verdict } from '../base/tool-use.ts'

export interface Asks {
  /** Emits the question. `settle` is called at most once, with the first answer. */
  ask(ask: Ask, settle: (verdict: Verdict) => void): void
  /** The backend no longer waits for this answer; whatever comes is too late. */
  withdraw(id: string): void
  /** The turn is over, or is being stopped: no answer counts any more. */
  close(): void
}

export function createAsks(push: (events: readonly AgentEvent[]) => void): Asks {
  const open = new Set<string>()
  return {
    ask(ask, settle) {
      open.add(ask.id)
      const answer = (verdict: Verdict) => {
        if (open.delete(ask.id)) settle(verdict)
      }
      push([{ type: 'asks', ask, answer }])
    },
    withdraw(id) {
      if (open.delete(id)) push([{ type: 'withdrawn', id }])
    },
    close: () => open.clear(),
  }
}
