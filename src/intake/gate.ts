// The gate, the budget and the limits: who may speak, what may still be spent, and what one event may cause. Everybody is a stranger until the owner allows them.
import type { BudgetLevel, BudgetRules, BudgetView, SpentToday } from '../base/budget.ts'
import type { DescentLimits, DescentRules, DescentStore } from '../base/descent.ts'
import { type EventSink, type NewEvent, type Principal, principalOf, type Sender } from '../base/event.ts'
import type { Decision, GateRules, Person } from '../base/pairing.ts'
import { createSerial } from '../base/serial.ts'

export interface GateParts {
  rules(): GateRules
  now(): number
  /** The decision made by pairing; null: none. */
  decided(chat: string, user: string): Decision | null
  /** The people approved by pairing, owners first. */
  letIn(chat: string): readonly string[]
  /** A pairing code for a stranger; null: do not answer them. */
  request(person: Person, where: string): Promise<string | null>
}

export type Verdict =
  | { readonly type: 'in'; readonly owner: boolean }
  /** With a code, the stranger gets it. Without one, they get no answer. */
  | { readonly type: 'stranger'; readonly code: string | null }
  | { readonly type: 'too-fast'; readonly warn: boolean }

export interface Gate {
  /** Null: a stranger. */
  who(sender: Sender): 'owner' | 'guest' | null
  /** The people who may speak everywhere, by their ids in this chat, owners first. */
  people(chat: string): readonly string[]
  /** Decides about one message. Counts it towards the rate limit, and gives a stranger a code if one is due. */
  admit(sender: Sender, name: string): Promise<Verdict>
}

export function createGate({ rules, now, decided, letIn, request }: GateParts): Gate {
  const listsOf = onceFor((given: GateRules) => ({
    owners: setOf(given.owners),
    users: setOf(given.users),
    roles: setOf(given.roles),
    channels: setOf(given.channels),
    guilds: setOf(given.guilds),
  }))
  const limitRate = createRateLimit(() => rules().perMinute, now)

  /** A listed person may speak anywhere. A listed place or role admits everybody except people who were denied. */
  const who = ({ chat, user, roles: has, channel, guild }: Sender): 'owner' | 'guest' | null => {
    const { owners, users, roles, channels, guilds } = listsOf(rules())
    const on = (list: ReadonlySet<string>, id: string) => list.has(`${chat}:${id}`)
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
    people(chat) {
      const { owners, users } = rules()
      const here = (ids: readonly string[]) =>
        ids.map(withChat).flatMap(id => (id.startsWith(`${chat}:`) ? [id.slice(chat.length + 1)] : []))
      return [...new Set([...here(owners), ...letIn(chat), ...here(users)])]
    },
    async admit(sender, name) {
      const { chat, user, where } = sender
      const known = who(sender)
      if (known === 'owner') return { type: 'in', owner: true }
      if (known === 'guest') return limitRate(`${chat}:${user}`, sender.at)
      // Denied people were already answered once.
      const code = decided(chat, user) === 'denied' ? null : await request({ chat, user, name }, where)
      return { type: 'stranger', code }
    },
  }
}

/** An id without a chat is one of Discord, as it was when there was no other chat: elsewhere it may be somebody else. */
export const withChat = (id: string): string => (id.includes(':') ? id : `discord:${id}`)
const setOf = (ids: readonly string[]): ReadonlySet<string> => new Set(ids.map(withChat))

/** What a stranger reads in addition to the refusal. */
export const invitation = (code: string): string =>
  `If you should have access, give this code to the owner within an hour: **${code}** (on the owner's machine: \`npx aetheel pair approve ${code}\`; if you are the owner, add \`--owner\`).`

/** Caches the last result: the rules rarely change, but every message needs them. */
function onceFor<Given, Made>(make: (given: Given) => Made): (given: Given) => Made {
  let last: { readonly given: Given; readonly made: Made } | null = null
  return given => {
    if (last?.given !== given) last = { given, made: make(given) }
    return last.made
  }
}

const minute = 60_000

/** A limit per minute. Rejected messages do not count. Forgets people who have been quiet for a minute. */
function createRateLimit(allowed: () => number, now: () => number): (person: string, writtenAt?: number) => Verdict {
  interface RecentMessage {
    readonly at: number
    readonly written: number
  }
  const people = new Map<string, { messages: RecentMessage[]; warnedAt: number }>()
  let sweptAt = now()

  const sweep = (since: number) => {
    for (const [person, { messages, warnedAt }] of people)
      if ((messages.at(-1)?.at ?? 0) <= since && warnedAt <= since) people.delete(person)
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
    const entry = people.get(person) ?? { messages: [], warnedAt: Number.NEGATIVE_INFINITY }
    people.set(person, entry)
    // A clock that is set back must not silence anybody for longer.
    const recent = (time: number) => time > since && time <= at
    entry.messages = entry.messages.filter(other => recent(other.at))
    // In both directions: missed messages of several channels do not arrive in the order in which they were written.
    const near = entry.messages.filter(other => Math.abs(other.written - written) < minute)
    if (near.length < perMinute) {
      entry.messages.push({ at, written })
      return { type: 'in', owner: false }
    }
    const warn = !recent(entry.warnedAt)
    if (warn) entry.warnedAt = at
    return { type: 'too-fast', warn }
  }
}

// The budget: what may still be spent today, and for whom. Scheduled events stop first, then everybody but the owner.

export interface BudgetParts {
  rules(): BudgetRules
  spent(): SpentToday
}

export interface Budget {
  /** Null: it may run. Otherwise the limit that forbids it. */
  objection(event: NewEvent): 'day' | 'source' | 'person' | null
  /** Null: there is no daily limit. */
  view(): BudgetView | null
}

/** From this share of the budget on, nothing is spent on scheduled events. */
const pauseAt = 0.8

export function createBudget({ rules, spent }: BudgetParts): Budget {
  return {
    objection(event) {
      const limits = rules()
      if (!isLimited(limits)) return null
      const today = spent()
      const level = levelOf(today, limits)
      const { kind } = event.what
      const { owner, person } = principalOf(event)
      if (share(today.ofSource(event.source).usd, limits.sourceUsd[event.source] ?? null) >= 1) return 'source'
      if (kind === 'heartbeat' || kind === 'cron') return level === 'within' ? null : 'day'
      // The owner is answered in any case, but a chain of sub-agents ends here.
      if (owner) return kind === 'assignment' && level === 'over' ? 'day' : null
      if (level === 'over') return 'day'
      return person !== null && share(today.ofPerson(person).usd, limits.personUsd) >= 1 ? 'person' : null
    },
    view() {
      const limits = rules()
      const { dailyUsd, dailyTokens } = limits
      if (dailyUsd === null && dailyTokens === null) return null
      const today = spent()
      return {
        usd: dailyUsd === null ? null : { spent: today.usd, of: dailyUsd },
        tokens: dailyTokens === null ? null : { spent: today.tokens, of: dailyTokens },
        level: levelOf(today, limits),
      }
    },
  }
}

const isLimited = ({ dailyUsd, dailyTokens, personUsd, sourceUsd }: BudgetRules) =>
  dailyUsd !== null || dailyTokens !== null || personUsd !== null || Object.keys(sourceUsd).length > 0

function levelOf({ usd, tokens }: SpentToday, { dailyUsd, dailyTokens }: BudgetRules): BudgetLevel {
  const used = Math.max(share(usd, dailyUsd), share(tokens, dailyTokens))
  return used >= 1 ? 'over' : used >= pauseAt ? 'paused' : 'within'
}

const share = (spent: number, limit: number | null): number => {
  if (limit === null) return 0
  return limit === 0 ? 1 : spent / limit
}

/** For event sources that retry: an event over budget is refused before it counts as received. */
export const withinBudget =
  (budget: Pick<Budget, 'objection'>, accept: EventSink): EventSink =>
  async event =>
    budget.objection(event) === null ? accept(event) : overBudget

const overBudget = {
  type: 'refused',
  why: 'over-budget',
  reason: 'The budget for today is used up, so jobs are paused until tomorrow.',
} as const

// Limits on what one event may cause. They count everything that descends from it, so a chain of sub-agents and reports ends.

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
