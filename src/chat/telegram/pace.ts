// Telegram's limits: about one message per second in a chat, twenty per minute in a group, thirty per second in all.
import type { Clock } from '../../base/time.ts'
import { isGroup } from './conversation.ts'

interface Rate {
  readonly most: number
  readonly perMs: number
}

const rates = {
  /** A few at once are tolerated, as long as the average holds. */
  chat: { most: 3, perMs: 3000 },
  group: { most: 20, perMs: 60_000 },
  all: { most: 30, perMs: 1000 },
} satisfies Record<string, Rate>

export interface Pace {
  /** Milliseconds until a message may be sent to this chat. */
  wait(chat: number): number
  sent(chat: number): void
}

export function createPace(clock: Pick<Clock, 'now'>): Pace {
  const times = new Map<string, number[]>()
  let sweptAt = 0

  const recent = (name: string, { perMs }: Rate): readonly number[] => {
    const since = clock.now() - perMs
    // A clock that is set back must not silence the bot.
    const kept = (times.get(name) ?? []).filter(at => at > since && at <= clock.now())
    times.set(name, kept)
    return kept
  }
  const waitFor = (name: string, rate: Rate): number => {
    const sent = recent(name, rate)
    const oldest = sent[sent.length - rate.most]
    return oldest === undefined ? 0 : oldest + rate.perMs - clock.now()
  }
  const namesOf = (chat: number): readonly (readonly [string, Rate])[] => [
    ['all', rates.all],
    [`chat ${chat}`, rates.chat],
    ...(isGroup(chat) ? [[`group ${chat}`, rates.group] as const] : []),
  ]
  const sweep = () => {
    const now = clock.now()
    if (now - sweptAt < rates.group.perMs) return
    sweptAt = now
    for (const [name, sent] of times) if ((sent.at(-1) ?? 0) < now - rates.group.perMs) times.delete(name)
  }

  return {
    wait: chat => Math.max(0, ...namesOf(chat).map(([name, rate]) => waitFor(name, rate))),
    sent(chat) {
      sweep()
      for (const [name] of namesOf(chat)) times.set(name, [...(times.get(name) ?? []), clock.now()])
    },
  }
}
