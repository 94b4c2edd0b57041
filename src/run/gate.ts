// What comes back to a running turn from people: answers to what it asks, and words. The first answer counts, and nothing reaches a turn
// that was stopped or is over.
import type { AgentEvent } from '../base/agent.ts'

export interface Gate {
  pass(event: AgentEvent): AgentEvent
  /** The turn is over. */
  close(): void
}

export function openGate(signal: AbortSignal): Gate {
  const over = Promise.withResolvers<false>()
  let open = true
  const isOpen = () => open && !signal.aborted
  const close = () => {
    open = false
    over.resolve(false)
  }
  return {
    pass(event) {
      switch (event.type) {
        case 'asks': {
          let answered = false
          const answer: typeof event.answer = verdict => {
            if (answered || !isOpen()) return
            answered = true
            event.answer(verdict)
          }
          return { ...event, answer }
        }
        case 'steerable':
          return {
            ...event,
            steer: async words => (isOpen() ? Promise.race([event.steer(words), over.promise]) : false),
          }
        case 'ended':
          close()
          return event
        default:
          return event
      }
    },
    close,
  }
}
