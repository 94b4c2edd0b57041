// Who changed a file.
import { type NewEvent, principalOf } from '../base/event.ts'
import { guestFolderOf } from '../base/guests.ts'
import type { MemoryChange } from '../base/memory.ts'
import type { Caller } from '../base/tools.ts'

export type Actor = Pick<MemoryChange, 'events' | 'lane' | 'person' | 'owner'> & {
  /** The guest's own folder, in which the turn may write. */
  readonly folder?: string | null
}

/** Somebody with an editor. */
export const byHand: Actor = { events: [], lane: null, person: null, owner: true }

/** Either an edit by hand or a guest's turn: the file times do not tell. The change waits for approval, and nobody is named. */
export const byNobodyKnown: Actor = { events: [], lane: null, person: null, owner: false }

interface Turn {
  readonly id: number
  readonly item: NewEvent
  readonly earlier?: readonly { readonly id: number; readonly item: NewEvent }[]
}

/** A turn that answers several messages belongs to the owner only if all of them do. */
export function actorOf({ id, item, earlier = [] }: Turn): Actor {
  const all = [...earlier, { id, item }]
  const actor = together(all.map(one => ({ events: [one.id], lane: item.lane, ...principalOf(one.item) })))
  return { ...actor, folder: guestFolderOf(all.map(one => one.item)) }
}

export const actorCalling = ({ event, lane, principal: { owner, person } }: Caller): Actor => ({
  ...{ events: [event], lane, owner, person },
})

/** If several turns ran at the same time, nobody can tell whose change it was: it gets the lowest permissions among them. */
export function together(actors: readonly Actor[]): Actor {
  const { lane, person, owner } = actors.find(one => !one.owner) ?? actors[0] ?? byHand
  return { events: [...new Set(actors.flatMap(({ events }) => events))].sort((a, b) => a - b), lane, person, owner }
}
