// A queue for the events of one turn, between the code that pushes them and the code that reads them.
import type { AgentEvent } from '../base/agent.ts'

export interface Events {
  /** Events after the end are ignored. */
  push(events: readonly AgentEvent[]): void
  over(): boolean
  /** All events until the end. */
  all(): AsyncGenerator<AgentEvent>
}

export function createEvents(): Events {
  let ready: AgentEvent[] = []
  let wake: (() => void) | null = null
  let over = false
  return {
    push(events) {
      if (over) return
      ready.push(...events)
      over = events.some(event => event.type === 'ended')
      wake?.()
    },
    over: () => over,
    async *all() {
      for (;;) {
        const batch = ready
        ready = []
        yield* batch
        if (ready.length > 0) continue
        if (over) return
        await new Promise<void>(resolve => {
          wake = resolve
        })
      }
    },
  }
}

/** Any output of a CLI is a sign of life, even if it has no other meaning for the gateway. */
export const orAlive = (events: readonly AgentEvent[]): readonly AgentEvent[] => (events.length === 0 ? alive : events)

const alive: readonly AgentEvent[] = [{ type: 'alive' }]
