// Whose doing a change of a file is.
import { behalfOf, type NewEvent } from '../base/event.ts'
import type { MemoryChange } from '../base/memory.ts'
import type { Caller } from '../base/tools.ts'

export type Doer = Pick<MemoryChange, 'events' | 'lane' | 'person' | 'owner'>

/** Somebody at the keyboard. */
export const byHand: Doer = { events: [], lane: null, person: null, owner: true }

interface Turn {
  readonly id: number
  readonly item: NewEvent
  readonly earlier?: readonly { readonly id: number; readonly item: NewEvent }[]
}

/** A turn that answers several messages at once is the owner's only if all of them are. */
export function doerOf({ id, item, earlier = [] }: Turn): Doer {
  return together([...earlier, { id, item }].map(one => ({ events: [one.id], lane: item.lane, ...behalfOf(one.item) })))
}

export const doerCalling = ({ event, lane, behalf: { owner, person } }: Caller): Doer => ({
  ...{ events: [event], lane, owner, person },
})

/** Of several who ran side by side nobody can tell who it was: what one of them may not do waits for all. */
export function together(doers: readonly Doer[]): Doer {
  const { lane, person, owner } = doers.find(one => !one.owner) ?? doers[0] ?? byHand
  return { events: [...new Set(doers.flatMap(({ events }) => events))].sort((a, b) => a - b), lane, person, owner }
}
