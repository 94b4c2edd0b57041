// Who and what is let in: the gate, the commands that are answered at once, and the way to the lanes.
import type { Tell } from '../base/signal.ts'
import { openGate, openIntake } from '../intake/index.ts'
import { explainRefusal, type openLetters } from '../send/index.ts'
import { type CommandsParts, gatewayCommands } from './commands.ts'
import type { Ledgers } from './ledgers.ts'

/** Longer than any prompt a person writes, shorter than what hurts. */
const maxCharacters = 200_000

export interface LettingInParts extends CommandsParts {
  readonly tell: Tell
  readonly pairing: Ledgers['pairing']
  readonly letters: ReturnType<typeof openLetters>
}

export function openLettingIn(parts: LettingInParts) {
  const { live, clock, tell, inbox, budget, pairing, letters } = parts
  const { maxDepth } = live.current().queue
  const commands = gatewayCommands(parts)
  const gate = openGate({
    rules: () => live.current().gate,
    now: clock.now,
    decided: pairing.decided,
    request: pairing.request,
  })
  const intake = openIntake({
    inbox,
    tell,
    maxCharacters,
    gate,
    budget,
    hear: commands.hear,
    letters: (event, text) => letters({ key: event.key, item: event, earlier: [] }, { kind: 'final', ok: true, text }),
    reason: (why, depth) => explainRefusal(why, { depth, max: why === 'too-long' ? maxCharacters : maxDepth }),
  })
  return { commands, gate, intake }
}
