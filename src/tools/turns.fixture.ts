// Taken events for the tests of this folder.
import type { NewEvent } from '../base/event.ts'
import type { Taken } from '../base/lanes.ts'

let id = 0

export const eventBy = (owner: boolean, lane = 'discord:1'): NewEvent => ({
  key: `${lane}:m${++id}`,
  lane,
  what: { kind: 'message', id: `m${id}`, text: 'hello', author: { id: owner ? 'ada' : 'eve', name: 'x', owner } },
  replyTo: { chat: 'discord', conversation: lane.slice(lane.indexOf(':') + 1) },
  source: 'discord',
})

export const taken = (item: NewEvent, earlier: readonly NewEvent[] = []): Taken<NewEvent> => ({
  ...{
    id: ++id,
    lane: item.lane,
    key: item.key,
    item,
    at: 0,
    attempt: 1,
    retries: 0,
    interrupted: false,
    putOff: false,
  },
  earlier: earlier.map(one => ({ id: ++id, key: one.key, item: one })),
})
