// The sample's story: which events arrive when in three weeks, and how each ends. The same every time, except for the last day.
import type { FailureReason } from '../src/base/agent.ts'
import type { Author, EventPayload, NewEvent } from '../src/base/event.ts'
import {
  deskConversations,
  jobConversations,
  kitchenConversations,
  type Talk,
  workshopConversations,
} from './conversations.ts'

export interface Chapter {
  readonly at: number
  readonly event: NewEvent
  readonly backend: string
  readonly model: string | null
  /** Null: no answer. */
  readonly answer: string | null
  readonly tools: readonly string[]
  readonly firstWordMs: number
  readonly ms: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly costUsd: number | null
  readonly failed: FailureReason | null
  /** It could not be answered and is deferred until this time. */
  readonly laterAt?: number
  /** The backend that could not answer. */
  readonly movedFrom?: string
}

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour
export const days = 21

/** In [0, 1), the same sequence every time (mulberry32). */
export const openChance = (seed: number) => () => {
  seed = (seed + 0x6d2b79f5) | 0
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
}

export const people = {
  owner: { id: 'owner', name: 'owner', owner: true },
  robin: { id: '184219340117278720', name: 'Robin', owner: true },
  kim: { id: '391840028875915264', name: 'Kim', owner: false },
} as const satisfies Record<string, Author>

export const workshop = '1182046318542299176'

export const tellStory = (now: number, midnightOf: (at: number) => number): readonly Chapter[] => {
  const chance = openChance(46)
  const writer = openWriter(chance)
  const chapters: Chapter[] = []
  for (let ago = days; ago >= 0; ago -= 1) {
    const midnight = midnightOf(now - ago * day)
    const weekday = new Date(midnight + 12 * hour).getDay()
    chapters.push(...jobsOf(writer, midnight, weekday), ...messagesOf(writer, chance, midnight, weekday))
  }
  return [...chapters.filter(({ at }) => at < now - hour), ...writer.lastHour(now)].sort((a, b) => a.at - b.at)
}

type Writer = ReturnType<typeof openWriter>

function jobsOf(writer: Writer, midnight: number, weekday: number): Chapter[] {
  const at = (hours: number) => midnight + hours * hour
  return [
    ...[0, 4, 8, 12, 16, 20].map(hours => writer.job(at(hours), 'cron', 'site-check')),
    ...[8.5, 11.5, 14.5, 17.5].map(hours => writer.job(at(hours), 'heartbeat', 'inbox')),
    ...(weekday % 6 === 0 ? [] : [writer.job(at(7.5), 'cron', 'morning-briefing')]),
    ...(weekday === 0 ? [writer.job(at(18), 'cron', 'weekly-review')] : []),
  ]
}

/** At least five minutes apart, and never at the time of a job, so that turns do not overlap. */
function messagesOf(writer: Writer, chance: () => number, midnight: number, weekday: number): Chapter[] {
  const many = Math.round(weekday % 6 === 0 ? 2 + chance() * 4 : 8 + chance() * 10)
  const places = new Set(Array.from({ length: many }, () => Math.floor((8 + chance() * 13) * 12)))
  return [...places].map(place => writer.message(midnight + place * 5 * minute + 2 * minute))
}

function openWriter(chance: () => number) {
  let number = 0
  const pick = <T>(list: readonly T[]): T => list[Math.floor(chance() * list.length)] as T
  const turns = new Map<string, number>()
  /** Each conversation continues in order. */
  const next = <T>(name: string, list: readonly T[]): T => {
    const turn = turns.get(name) ?? 0
    turns.set(name, turn + 1)
    return list[turn % list.length] as T
  }

  const effort = (backend: string, tools: number, length: number) => {
    const inputTokens = Math.round(6_000 + tools * 4_200 + chance() * 14_000)
    const outputTokens = Math.round(length / 3 + tools * 160 + 120 + chance() * 420)
    const firstWordMs = Math.round(
      900 + chance() * 1_600 + (backend === 'codex' ? 1_100 : 0) + (chance() < 0.05 ? 4_000 : 0),
    )
    return {
      ...{ inputTokens, outputTokens, firstWordMs },
      ms: Math.round(firstWordMs + outputTokens * 14 + tools * 2_300 + chance() * 1_500),
      costUsd: backend === 'gemini' ? null : (inputTokens * 5 + outputTokens * 25) / 1_000_000,
    }
  }

  const told = (at: number, what: EventPayload, lane: string, rest: Partial<NewEvent>, talk: Talk | null): Chapter => {
    const backend = lane.startsWith('cron:') ? 'gemini' : chance() < 0.12 ? 'codex' : 'claude'
    const models: Readonly<Record<string, string>> = {
      gemini: 'gemini-2.5-flash',
      codex: 'gpt-5-codex',
      claude: 'opus',
    }
    const failed = chance() < 0.025 ? pick(['timed-out', 'overloaded', 'crashed'] as const) : null
    return {
      at,
      event: { key: `${lane}:${number}`, lane, what, replyTo: null, source: lane.slice(0, lane.indexOf(':')), ...rest },
      ...{ backend, model: models[backend] ?? null, failed },
      ...{ answer: talk?.answer ?? null, tools: talk?.tools ?? [] },
      ...effort(backend, talk?.tools.length ?? 0, talk?.answer.length ?? 0),
    }
  }

  const inWebchat = (at: number, conversation: string, talk: Talk) => {
    number += 1
    const id = String(number)
    const what = { kind: 'message', id, text: talk.asked, author: people.owner } as const
    return told(at, what, `webchat:${conversation}`, { replyTo: { chat: 'webchat', conversation } }, talk)
  }
  const onDiscord = (at: number, author: Author, talk: Talk) => {
    number += 1
    const id = String(1_182_100_000_000 + number)
    const what = { kind: 'message', id, text: talk.asked, author } as const
    const sender = {
      ...{ chat: 'discord', user: author.id, roles: [], channel: workshop, guild: '1182046317300785232' },
      where: '#workshop of Robin’s bicycles',
    }
    return told(at, what, `discord:${workshop}`, { replyTo: { chat: 'discord', conversation: workshop }, sender }, talk)
  }
  const job = (at: number, kind: 'cron' | 'heartbeat', name: string): Chapter => {
    number += 1
    const answer = next(name, jobConversations[name] ?? []) ?? null
    const what = { kind, name, instruction: instructions[name] ?? name } as const
    const conversation = name === 'weekly-review' ? 'review' : 'home'
    const talk = { asked: '', answer: answer ?? 'HEARTBEAT_OK', tools: ['Read: notes/inbox.md'] }
    return told(at, what, `${kind}:${name}`, { replyTo: { chat: 'webchat', conversation } }, talk)
  }

  return {
    job,
    message(at: number): Chapter {
      const where = chance()
      if (where < 0.45) return inWebchat(at, 'desk', next('desk', deskConversations))
      if (where < 0.6) return inWebchat(at, 'kitchen', next('kitchen', kitchenConversations))
      return onDiscord(at, chance() < 0.6 ? people.kim : people.robin, next('workshop', workshopConversations))
    },
    lastHour(now: number): readonly Chapter[] {
      const [spokes, offers, scans, backup, aydin] = deskConversations as [Talk, Talk, Talk, Talk, Talk]
      const [stand] = workshopConversations as [Talk]
      const at = (minutes: number) => now - minutes * minute
      return [
        { ...inWebchat(at(52), 'desk', spokes), failed: null },
        { ...inWebchat(at(44), 'desk', scans), failed: 'timed-out' },
        { ...onDiscord(at(33), people.kim, stand), failed: null },
        {
          ...inWebchat(at(26), 'desk', backup),
          failed: null,
          backend: 'codex',
          model: 'gpt-5-codex',
          movedFrom: 'claude',
        },
        { ...inWebchat(at(19), 'desk', scans), failed: null },
        { ...job(at(14), 'cron', 'site-check'), failed: 'rate-limited', laterAt: now + 95 * minute },
        { ...onDiscord(at(9), people.robin, workshopConversations[3] as Talk), failed: null },
        { ...inWebchat(at(6), 'desk', aydin), failed: null },
        { ...inWebchat(at(3), 'desk', offers), failed: null },
      ]
    },
  }
}

const instructions: Readonly<Record<string, string>> = {
  inbox:
    'Look at notes/inbox.md. If something in it needs Robin today, say what in two lines. Otherwise answer HEARTBEAT_OK.',
  'morning-briefing': 'Read tasks.json, the calendar and notes/inbox.md and say in five lines what matters today.',
  'site-check':
    'Look whether the site answers and the opening hours on it are those of memory.md. Answer HEARTBEAT_OK if so.',
  'weekly-review': 'Sum up the week: what was repaired, what is open, what it cost. One table, then three sentences.',
}
