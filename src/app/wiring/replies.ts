// What people receive at the end of a turn, and how it is delivered.
import type { TurnEnd } from '../../base/agent.ts'
import type { ChatAdapter } from '../../base/chat.ts'
import { type LaneKey, type NewEvent, type Principal, principalOfAll } from '../../base/event.ts'
import { guestFolder } from '../../base/guest-folder.ts'
import type { FollowUp, Taken } from '../../base/lanes.ts'
import type { Emit } from '../../base/signal.ts'
import { agentOf } from '../../base/subagents.ts'
import type { Clock } from '../../base/time.ts'
import { oncePerZone } from '../../base/zone.ts'
import type { LiveConfig } from '../../config/index.ts'
import { loginWith } from '../../run/index.ts'
import { createAttached, createDeliver, createDeliveries, wordingFor, wordingOf } from '../../send/index.ts'

export interface RepliesParts {
  readonly live: LiveConfig
  readonly clock: Clock
  readonly emit: Emit
  /** The chats that are on, once they are created. */
  readonly chats: ReadonlyMap<string, ChatAdapter>
  scrub(text: string): string
  /** The files that were given in a conversation. */
  attachments(lane: LaneKey): readonly string[]
  /** Queues the report of a sub-agent. */
  reports(taken: Taken<NewEvent>, wording: ReturnType<typeof wordingOf>): readonly FollowUp[]
}

export function createReplies({ live, clock, emit, chats, scrub, attachments, reports }: RepliesParts) {
  const attached = createAttached(live.current().configDir)
  const scopeOf = ({ lane, principal }: { readonly lane: LaneKey; readonly principal: Principal }) =>
    principal.owner ? undefined : { folder: guestFolder(principal), files: attachments(lane) }
  const deliveries = createDeliveries(chats, {
    filesIn: attached.linkedIn,
    scopeOf: events => scopeOf({ lane: events.at(-1)?.lane ?? '', principal: principalOfAll(events) }),
  })
  const voice = { scrub, formatTime: timeFormat(() => live.current().timezone), loginWith }
  return {
    attached,
    scopeOf,
    deliveries,
    deliver: createDeliver(chats, clock, emit),
    /** A sub-agent's result goes to the conversation that started it, all other results to people. */
    followUpsOf(taken: Taken<NewEvent>, end: TurnEnd): readonly FollowUp[] {
      if (agentOf(taken.lane) !== null) return reports(taken, wordingOf(end, voice))
      const wording = wordingFor(taken.item.what.kind, end, voice)
      return wording ? deliveries(taken, wording) : []
    },
  }
}

/** The zone is looked up when the first time is formatted: loading Intl takes 8 MB and 13 ms. */
function timeFormat(zone: () => string): (ms: number) => string {
  const format = oncePerZone({ weekday: 'short', hour: '2-digit', minute: '2-digit' }, 'en-GB')
  return ms => format(zone()).format(ms)
}
