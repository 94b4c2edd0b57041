// Events: what triggers the agent, where events come from and how they are accepted.

/** One conversation: events of a lane run one at a time, in order of arrival. */
export type LaneKey = string

/** Where an answer goes: a chat and a conversation in it. */
export interface Place {
  readonly chat: string
  readonly conversation: string
}

export interface Author {
  readonly id: string
  readonly name: string
  readonly owner: boolean
}

/** A file that came with a message, stored in the workspace. */
export interface Attachment {
  readonly name: string
  /** Relative to the workspace. */
  readonly path: string
  readonly bytes: number
  readonly type: string
  /** The id for downloading it again in WebChat. */
  readonly id?: string
  /** Why it could not be downloaded; then there is nothing at the path. */
  readonly missing?: string
}

/** Who writes, and where, on a platform that is open to anybody. The gate decides by this. */
export interface Sender {
  readonly chat: string
  readonly user: string
  readonly roles: readonly string[]
  /** The channel; for a thread, the channel it is in. */
  readonly channel: string
  /** Null: a direct message. */
  readonly guild: string | null
  /** The name of the place, such as `#general of Our Server`. */
  readonly where: string
  /** When it was written (ms since the epoch), if it may reach us much later; missing: just now. */
  readonly at?: number
}

export interface Message {
  readonly kind: 'message'
  /** The platform's (or the client's) own id of this message. */
  readonly id: string
  readonly text: string
  readonly author: Author
  readonly attachments?: readonly Attachment[]
}

/** A request to the gateway itself, which is answered immediately. */
export interface Command extends Omit<Message, 'kind'> {
  readonly kind: 'command'
}

export interface Heartbeat {
  readonly kind: 'heartbeat'
  readonly name: string
  readonly instruction: string
}

export interface Cron {
  readonly kind: 'cron'
  readonly name: string
  readonly instruction: string
}

export interface Hook {
  readonly kind: 'hook'
  /** `boot`: the instructions of boot.md at the first start. */
  readonly name: 'boot' | 'startup' | 'shutdown' | 'agent_begin' | 'agent_stop'
  readonly instruction: string
}

export interface Webhook {
  readonly kind: 'webhook'
  readonly name: string
  /** `{{payload}}` is replaced by the payload. */
  readonly instruction: string
  /** As received: anybody may have written it. */
  readonly payload: string
}

/** The task of a sub-agent. */
export interface Assignment {
  readonly kind: 'assignment'
  /** The sub-agent's id. */
  readonly agent: string
  readonly name: string
  readonly instruction: string
  /** 1: started by a conversation; 2: started by a sub-agent of a conversation. */
  readonly depth: number
  /** Who gets the report: whoever started the sub-agent, or asked it a further question. */
  readonly reportTo: ReportTo
}

export interface ReportTo {
  readonly lane: LaneKey
  /** Where people see the result; null: it goes to a sub-agent. */
  readonly place: Place | null
}

/** The result that a sub-agent returns to its parent's lane. */
export interface Report {
  readonly kind: 'report'
  readonly agent: string
  readonly name: string
  readonly text: string
  /** False: it failed or was stopped; the text says how. */
  readonly ok: boolean
}

export type EventPayload = Message | Command | Heartbeat | Cron | Hook | Webhook | Assignment | Report

/** The person on whose behalf a turn runs: the owner or somebody else. */
export interface Principal {
  readonly owner: boolean
  /** With their chat, such as `discord:1234`. Null: no particular person. */
  readonly person: string | null
  /** The key of the event that it all descends from. What a message causes is counted by it. */
  readonly origin: string
}

/** A backend and a model for one event or one conversation. Null: no override. */
export interface ModelOverride {
  readonly backend: string | null
  readonly model: string | null
}

/** Kinds of work that can have their own backend and model. */
export const tasks = ['default', 'heartbeat', 'cron', 'subagent', 'hook', 'webhook'] as const
export type Task = (typeof tasks)[number]

export interface NewEvent {
  /** Identifies a redelivery as the same event: platform message id, job and due time, delivery id. */
  readonly key: string
  readonly lane: LaneKey
  readonly what: EventPayload
  readonly replyTo: Place | null
  /** Where it comes from: `webchat`, `discord`, `cron`, … */
  readonly source: string
  /** Missing where only the owner can write. If present, the gate decides who the author is. */
  readonly sender?: Sender
  /** Set for events that do not name it themselves: for an assignment and a report, the principal that started it all. */
  readonly principal?: Principal
  readonly modelOverride?: ModelOverride
  /** It was sent while the gateway was offline: it is queued however busy the gateway is after the start. */
  readonly missed?: true
}

/** The principal of an event. Files of the workspace belong to the owner; the payload of a webhook comes from a stranger. */
export function principalOf({ what, key: origin, principal, sender }: NewEvent): Principal {
  switch (what.kind) {
    case 'message':
    case 'command':
      // Two platforms may give the same id to different people.
      return { owner: what.author.owner, person: sender ? `${sender.chat}:${sender.user}` : what.author.id, origin }
    case 'heartbeat':
    case 'cron':
    case 'hook':
      return { owner: true, person: null, origin }
    case 'webhook':
      return { owner: false, person: null, origin }
    case 'assignment':
    case 'report':
      // Events stored by an older version have a principal without an origin.
      return { owner: false, person: null, origin, ...principal }
    default:
      return what satisfies never
  }
}

/**
 * When messages are batched, the turn gets the lowest permissions among them. Words of several guests are nobody's alone: they must not
 * reach what belongs to one of them.
 */
export function principalOfAll(events: readonly NewEvent[]): Principal {
  const all = events.map(principalOf)
  const guests = all.filter(one => !one.owner)
  const last = guests.at(-1) ?? all.at(-1) ?? { owner: false, person: null, origin: '' }
  return guests.length < 2 ? last : { ...last, person: personOfAll(guests.map(({ person }) => person)) }
}

/** One name for several people, the same whenever it is the same people. */
export function personOfAll(persons: Iterable<string | null>): string | null {
  const [first = null, ...others] = [...new Set(persons)].sort()
  return others.length === 0 ? first : [first, ...others].map(one => one ?? 'somebody').join(' and ')
}

/** The text of the request, as received. */
export function textOf(what: EventPayload): string {
  switch (what.kind) {
    case 'message':
    case 'command':
    case 'report':
      return what.text
    case 'heartbeat':
    case 'cron':
    case 'hook':
    case 'webhook':
    case 'assignment':
      return what.instruction
    default:
      return what satisfies never
  }
}

const backgroundSources = new Set(['heartbeat', 'cron', 'hook', 'webhook', 'agent'])

/** Each hook of an event has its own lane: two that run at the same time must not share a session. */
export const hookLane = (name: string, event: number): LaneKey => `hook:${name}:${event}`

/** The hook that runs in this lane; null: it is not a hook lane. */
export const hookOf = (lane: LaneKey): string | null => /^hook:(agent_begin|agent_stop):\d+$/.exec(lane)?.[1] ?? null

const agentPrefix = 'agent:'

/** The lane of a sub-agent. */
export const agentLane = (id: string): LaneKey => `${agentPrefix}${id}`

/** The sub-agent this lane belongs to; null: it is a conversation. */
export const agentOf = (lane: LaneKey): string | null =>
  lane.startsWith(agentPrefix) ? lane.slice(agentPrefix.length) : null

/** Nobody waits for an answer in these lanes (`cron:briefing`, `agent:7`, …), so people go first. */
export const isBackground = (lane: LaneKey): boolean => backgroundSources.has(lane.slice(0, lane.indexOf(':')))

export interface Accepted {
  readonly type: 'accepted'
  readonly id: number
  /** 0: starts immediately; otherwise its position in the queue. */
  readonly position: number
}
export interface Duplicate {
  readonly type: 'duplicate'
  readonly id: number
}
export interface Refused {
  readonly type: 'refused'
  readonly why: RefusalReason
  /** A plain sentence for the person. */
  readonly reason: string
}
export type RefusalReason =
  | 'busy'
  | 'full'
  | 'stopping'
  | 'too-long'
  | 'empty'
  | 'not-stored'
  | 'not-attached'
  | 'cancelled'
  /** The sender is not approved. An empty reason means that they were notified before and get no further answer. */
  | 'stranger'
  | 'too-fast'
  | 'over-budget'
  /** A guest has caused as many turns as they may in an hour. */
  | 'used-up'

/** The result of an edit or a cancellation. If it failed, the waiting message is unchanged. */
export type Changed = { readonly changed: true } | { readonly changed: false; readonly reason: string }

/** Resolves only after the commit: accepted means on disk. */
export type EventSink = (event: NewEvent) => Promise<Accepted | Duplicate | Refused>

/** Anything that triggers the agent. It runs until the signal aborts; the promise resolves when it has stopped. */
export interface EventSource {
  readonly name: string
  run(sink: EventSink, signal: AbortSignal): Promise<void>
}

// A place as people write it in a file: `discord:1234`, `webchat:kitchen`, or only the conversation.

/** Null: nothing is written. Without a chat name it is in the first of the active chats. */
export function readPlace(written: string | null, chats: readonly [string, ...string[]]): Place | null {
  const text = written?.trim() ?? ''
  if (text === '') return null
  const [, chat, conversation] = /^([a-z]+):(.+)$/.exec(text) ?? []
  if (chat !== undefined && conversation !== undefined) return { chat, conversation }
  return { chat: chats[0], conversation: text.replace(/^#/, '') }
}

/** The full form: `discord:1234`. Also the lane of that conversation. */
export const placeName = ({ chat, conversation }: Place): string => `${chat}:${conversation}`

// Keys of deliveries, which are made from that of their event.

/**
 * The key of the event that a delivery or draft belongs to. For a message sent during a turn (`#said-…#final`) it is that message's own
 * key.
 */
export const eventOfDelivery = (key: string): string => key.replace(/#(?:draft|final(?:-\d+)?|notice-[^#]*)$/, '')

/** A message that an agent sends during a turn is treated like an event of its own; each idempotency key is sent once. */
export const interimKey = (eventKey: string, idempotencyKey: string): string => `${eventKey}#said-${idempotencyKey}`
export const eventOfInterim = (key: string): string => key.replace(/#said-[^#]*$/, '')
