// Where the owner looks at the sessions and ends them.
import { type SessionsDesk, type SessionView, staleDays } from '../base/sessions.ts'
import type { Clock } from '../base/time.ts'
import type { Conversations } from './conversations.ts'
import type { SessionStore } from './sessions.ts'

const day = 86_400_000

export function openSessionsDesk(sessions: SessionStore, conversations: Conversations, clock: Clock): SessionsDesk {
  /** The lanes meant; words where they cannot be told. */
  const meant = (which: string): readonly string[] | string => {
    const list = sessions.list()
    if (which === 'all') return lanesOf(list)
    if (which === 'stale') return staleOf(list, clock.now() - staleDays * day)
    const named = lanesOf(list.filter(({ lane }) => lane === which))
    const found = named.length > 0 ? named : lanesOf(list.filter(({ lane }) => restOf(lane) === which))
    if (found.length === 0)
      return 'No such conversation has a session. "npx aetheel sessions list" shows those that have.'
    return found.length === 1 ? found : `There are ${found.length} of that name: ${found.join(', ')}. Say which.`
  }
  return {
    list: async () => sessions.list(),
    async clear(which) {
      const lanes = meant(which)
      if (typeof lanes === 'string') return { ok: false, why: lanes }
      // Asked for together they are one commit.
      await Promise.all(lanes.flatMap(lane => [sessions.forgetLane(lane), conversations.beginAnew(lane)]))
      return { ok: true, lanes }
    },
  }
}

const lanesOf = (list: readonly SessionView[]): readonly string[] => [...new Set(list.map(({ lane }) => lane))]

const restOf = (lane: string): string => lane.slice(lane.indexOf(':') + 1)

/** Whatever backend took part in it last. */
function staleOf(list: readonly SessionView[], before: number): readonly string[] {
  const alive = new Set(lanesOf(list.filter(({ updatedAt, unanswered }) => updatedAt >= before || unanswered > 0)))
  return lanesOf(list).filter(lane => !alive.has(lane))
}
