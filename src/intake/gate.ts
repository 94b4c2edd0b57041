// The gate: who may speak. Everybody is a stranger until the owner has said otherwise, by configuration or by pairing.
import type { Standing } from '../base/event.ts'
import type { Decision, GateRules, Person } from '../base/pairing.ts'

export interface GateParts {
  rules(): GateRules
  now(): number
  /** What was decided by pairing; null: nothing. */
  decided(chat: string, user: string): Decision | null
  /** A code for a stranger; null: they are not to be answered. */
  request(person: Person, where: string): Promise<string | null>
}

export type Verdict =
  | { readonly type: 'in'; readonly owner: boolean }
  /** With a code, they are told it; without, nothing. */
  | { readonly type: 'stranger'; readonly code: string | null }
  | { readonly type: 'too-fast'; readonly told: boolean }

export interface Gate {
  /** Null: a stranger. */
  who(standing: Standing): 'owner' | 'guest' | null
  /** Decides about one message. Counts it, and gives a stranger a code where one is due. */
  admit(standing: Standing, name: string): Promise<Verdict>
}

export function openGate({ rules, now, decided, request }: GateParts): Gate {
  const listsOf = onceFor((given: GateRules) => ({
    owners: new Set(given.owners),
    users: new Set(given.users),
    roles: new Set(given.roles),
    channels: new Set(given.channels),
    guilds: new Set(given.guilds),
  }))
  const pace = openPace(() => rules().perMinute, now)

  /** A person that is named may speak anywhere; a place or a role that is named admits all but those who were denied. */
  const who = ({ chat, user, roles: has, channel, guild }: Standing): 'owner' | 'guest' | null => {
    const { owners, users, roles, channels, guilds } = listsOf(rules())
    const on = (list: ReadonlySet<string>, id: string) => list.has(id) || list.has(`${chat}:${id}`)
    if (on(owners, user)) return 'owner'
    const decision = decided(chat, user)
    if (decision === 'owner') return 'owner'
    if (decision === 'guest' || on(users, user)) return 'guest'
    if (decision === 'denied') return null
    if (has.some(role => on(roles, role)) || on(channels, channel)) return 'guest'
    return guild !== null && on(guilds, guild) ? 'guest' : null
  }

  return {
    who,
    async admit(standing, name) {
      const { chat, user, where } = standing
      const known = who(standing)
      if (known === 'owner') return { type: 'in', owner: true }
      if (known === 'guest') return pace(`${chat}:${user}`, standing.at)
      // Whoever was denied has had an answer.
      const code = decided(chat, user) === 'denied' ? null : await request({ chat, user, name }, where)
      return { type: 'stranger', code }
    },
  }
}

/** What a stranger is told besides the refusal. */
export const invitation = (code: string): string =>
  `If you should be let in, pass this code on to the owner within an hour: **${code}** (on the owner's machine: \`npx aetheel pair approve ${code}\`; if you are the owner yourself, add \`--owner\`).`

/** The rules change seldom, and are asked for with every message. */
function onceFor<Given, Made>(make: (given: Given) => Made): (given: Given) => Made {
  let last: { readonly given: Given; readonly made: Made } | null = null
  return given => {
    if (last?.given !== given) last = { given, made: make(given) }
    return last.made
  }
}

const minute = 60_000

/** So many in any minute; what was turned away does not count. Forgets whoever has been quiet for as long. */
function openPace(allowed: () => number, now: () => number): (person: string, writtenAt?: number) => Verdict {
  interface Heard {
    readonly at: number
    readonly written: number
  }
  const seen = new Map<string, { heard: Heard[]; toldAt: number }>()
  let sweptAt = now()

  const sweep = (since: number) => {
    for (const [person, { heard, toldAt }] of seen)
      if ((heard.at(-1)?.at ?? 0) <= since && toldAt <= since) seen.delete(person)
  }

  return (person, writtenAt) => {
    const perMinute = allowed()
    if (perMinute === 0) return { type: 'in', owner: false }
    const at = now()
    const written = writtenAt ?? at
    const since = at - minute
    if (sweptAt <= since) {
      sweep(since)
      sweptAt = at
    }
    const one = seen.get(person) ?? { heard: [], toldAt: Number.NEGATIVE_INFINITY }
    seen.set(person, one)
    // A clock that was put back must not silence anybody for longer.
    const recent = (time: number) => time > since && time <= at
    one.heard = one.heard.filter(other => recent(other.at))
    // On both sides: what was missed in several channels does not come in the order in which it was written.
    const near = one.heard.filter(other => Math.abs(other.written - written) < minute)
    if (near.length < perMinute) {
      one.heard.push({ at, written })
      return { type: 'in', owner: false }
    }
    const told = !recent(one.toldAt)
    if (told) one.toldAt = at
    return { type: 'too-fast', told }
  }
}
