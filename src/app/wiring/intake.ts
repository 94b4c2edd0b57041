// The intake: the gate, the commands that are answered immediately, and the queue.
import type { DescentLimits } from '../../base/descent.ts'
import type { Emit } from '../../base/signal.ts'
import { createGate, openIntake } from '../../intake/index.ts'
import { type createDeliveries, explainRefusal } from '../../send/index.ts'
import { type CommandsParts, gatewayCommands } from './commands.ts'
import type { Stores } from './stores.ts'

/** Longer than any prompt a person writes, short enough to do no harm. */
const maxCharacters = 200_000

export interface LettingInParts extends CommandsParts {
  readonly emit: Emit
  readonly pairing: Stores['pairing']
  readonly descent: Pick<DescentLimits, 'admits'>
  readonly deliveries: ReturnType<typeof createDeliveries>
}

export function createIntakeWiring(parts: LettingInParts) {
  const { live, clock, emit, inbox, budget, pairing, deliveries, descent } = parts
  const { maxDepth } = live.current().queue
  const commands = gatewayCommands(parts)
  const gate = createGate({
    rules: () => live.current().views.gate,
    now: clock.now,
    decided: pairing.decided,
    letIn: pairing.letIn,
    request: pairing.request,
  })
  const intake = openIntake({
    inbox,
    emit,
    maxCharacters,
    gate,
    budget,
    admits: descent.admits,
    parse: commands.parse,
    deliveries: (event, text) =>
      deliveries({ key: event.key, item: event, earlier: [] }, { kind: 'final', ok: true, text }),
    reason: (why, depth) => explainRefusal(why, { depth, max: why === 'too-long' ? maxCharacters : maxDepth }),
  })
  return { commands, gate, intake }
}
