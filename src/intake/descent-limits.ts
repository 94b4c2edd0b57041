// Limits on what one event may cause. They count everything that descends from it, so a chain of sub-agents and reports ends.
import type { DescentLimits, DescentRules, DescentStore } from '../base/descent.ts'
import type { Principal } from '../base/event.ts'
import { createSerial } from '../base/serial.ts'

export interface DescentParts {
  readonly store: Pick<DescentStore, 'used' | 'turnsOf' | 'add'>
  rules(principal: Principal): DescentRules
  now(): number
}

const hour = 3_600_000

export function createDescentLimits({ store, rules, now }: DescentParts): DescentLimits {
  /** Serialized, so that a count is on disk before the next one is checked. */
  const serial = createSerial()

  const isOverHour = (principal: Principal, count: number): boolean => {
    const { hourly } = rules(principal)
    const person = counted(principal)
    return hourly !== null && person !== null && store.turnsOf(person, now() - hour) + count > hourly
  }

  async function takeTurns(principal: Principal, count: number): Promise<string | null> {
    const { origin } = principal
    const before = store.used(origin).turns
    const { turns } = rules(principal)
    // The turn of the event itself counts too, and was not counted yet if the event is the owner's or a program's.
    const more = before === 0 ? count + 1 : count
    if (before + more > turns)
      return `This request has caused ${Math.max(before, 1)} turns, and the limit is ${turns}. Do the rest yourself, or say what is left to do.`
    if (isOverHour(principal, more))
      return 'The turns that this person may cause in an hour are used up. Do the rest yourself, or say what is left to do.'
    await store.add(origin, counted(principal), { turns: more, messages: 0 })
    return null
  }

  async function takeMessage(principal: Principal): Promise<string | null> {
    const { messages } = rules(principal)
    const { origin } = principal
    if (store.used(origin).messages >= messages)
      return `The limit of ${messages} messages for this request is reached. Put the rest into your final answer.`
    await store.add(origin, counted(principal), { turns: 0, messages: 1 })
    return null
  }

  async function admits(principal: Principal): Promise<boolean> {
    const person = counted(principal)
    if (person === null || store.used(principal.origin).turns > 0) return true
    if (isOverHour(principal, 1)) return false
    await store.add(principal.origin, person, { turns: 1, messages: 0 })
    return true
  }

  return {
    admits: principal => serial(() => admits(principal)),
    takeTurns: (principal, count) => serial(() => takeTurns(principal, count)),
    takeMessage: principal => serial(() => takeMessage(principal)),
  }
}

/** Owners have no limit per hour, and a webhook is nobody in particular. */
const counted = ({ owner, person }: Principal): string | null => (owner ? null : person)
