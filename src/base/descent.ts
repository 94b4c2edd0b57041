// What descends from one event: its own turn, the sub-agents it starts, their reports, and the messages that all of them send.
import type { Principal } from './event.ts'

export interface Descent {
  readonly turns: number
  readonly messages: number
}

/** How much may descend from one event. */
export interface DescentRules extends Descent {
  /** Turns per hour over all events of one person; null: no limit. */
  readonly hourly: number | null
}

export interface DescentLimits {
  /** Counts a new message of a person. False: they have used up their turns of this hour. A message that was counted before is not counted again. */
  admits(principal: Principal): Promise<boolean>
  /** Counts turns that are about to be caused. Null: counted. Otherwise why not, in a sentence for the agent. */
  takeTurns(principal: Principal, count: number): Promise<string | null>
  /** The same for a message that the agent sends during a turn. */
  takeMessage(principal: Principal): Promise<string | null>
}

/** Each operation is on disk once it resolves. */
export interface DescentStore {
  used(origin: string): Descent
  /** Over everything that descends from events of this person since then. */
  turnsOf(person: string, since: number): number
  /** `person`: null if nothing is counted for one. */
  add(origin: string, person: string | null, more: Descent): Promise<void>
  forgetBefore(at: number): Promise<void>
}
