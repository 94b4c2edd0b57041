// Events of one turn as they come, from whoever tells them to whoever listens.
import type { AgentEvent } from '../base/agent.ts'

export interface Events {
  /** What comes after the end is passed over. */
  push(events: readonly AgentEvent[]): void
  over(): boolean
  /** Until the end. */
  all(): AsyncGenerator<AgentEvent>
}

export function openEvents(): Events {
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
