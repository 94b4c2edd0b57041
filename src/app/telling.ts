// What people are told at the end of a turn, and how it gets to them.
import type { TurnEnd } from '../base/agent.ts'
import { agentOf } from '../base/agents.ts'
import type { ChatAdapter } from '../base/chat.ts'
import type { NewEvent } from '../base/event.ts'
import type { FollowUp, Taken } from '../base/lanes.ts'
import type { Tell } from '../base/signal.ts'
import type { Clock } from '../base/time.ts'
import { oncePerZone } from '../base/zone.ts'
import { openAttached, openDelivery, openLetters, wordingFor, wordingOf } from '../send/index.ts'
import type { LiveConfig } from './live.ts'

export interface TellingParts {
  readonly live: LiveConfig
  readonly clock: Clock
  readonly tell: Tell
  /** Those that are on, once they are. */
  readonly chats: ReadonlyMap<string, ChatAdapter>
  scrub(text: string): string
  /** The report of a sub-agent. */
  reports(taken: Taken<NewEvent>, wording: ReturnType<typeof wordingOf>): readonly FollowUp[]
}

export function openTelling({ live, clock, tell, chats, scrub, reports }: TellingParts) {
  const attached = openAttached(live.current().configDir)
  const letters = openLetters(chats, attached.linkedIn)
  const voice = { scrub, formatTime: timeFormat(() => live.current().timezone) }
  return {
    attached,
    letters,
    deliver: openDelivery(chats, clock, tell),
    /** Ends of sub-agents are told to whoever waits for them, all others to people. */
    told(taken: Taken<NewEvent>, end: TurnEnd): readonly FollowUp[] {
      if (agentOf(taken.lane) !== null) return reports(taken, wordingOf(end, voice))
      const wording = wordingFor(taken.item.what.kind, end, voice)
      return wording ? letters(taken, wording) : []
    },
  }
}

/** The zone is looked up with the first time to be told: Intl is 8 MB and 13 ms. */
function timeFormat(zone: () => string): (ms: number) => string {
  const format = oncePerZone({ weekday: 'short', hour: '2-digit', minute: '2-digit' }, 'en-GB')
  return ms => format(zone()).format(ms)
}
