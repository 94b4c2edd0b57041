// Who may have changed a file that is not as it was before the gateway was killed.
import { type Actor, byNobodyKnown } from './actor.ts'
import type { LastAlive } from './last-alive.ts'

/** `isPower`: the change gives the agent more power. Nobody: it was edited by hand. */
export type Suspects = (file: string, isPower: boolean) => readonly Actor[]

/** `killed`: whose turns were killed. */
export function createSuspects(killed: readonly Actor[], momentOf: ReturnType<LastAlive['afterKill']>): Suspects {
  const areOwners = killed.every(({ owner }) => owner)
  return (file, isPower) => {
    if (areOwners && !isPower) return killed
    const moment = momentOf(file)
    if (moment === 'after') return []
    if (moment === 'during') return killed
    // An owner who mends the configuration after a crash must not have to wait for their own approval.
    return areOwners ? [] : [byNobodyKnown]
  }
}
