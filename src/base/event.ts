// What can wake the agent: the events, where they come from and how they are accepted.

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
  /** By which it can be fetched again, in WebChat. */
  readonly id?: string
  /** Why it could not be fetched; then there is nothing at the path. */
  readonly missing?: string
}

/** As whom and where somebody speaks on a platform that anybody can write to: what the gate decides by. */
export interface Standing {
  readonly chat: string
  readonly user: string
  readonly roles: readonly string[]
  /** The channel, also for a thread in it. */
  readonly channel: string
  /** Null: a direct message. */
  readonly guild: string | null
  /** What people call the place, such as `#general of Our Server`. */
  readonly where: string
  /** When it was written (milliseconds since the epoch), where it may reach us much later; missing: just now. */
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

/** Something asked of the gateway itself, which is answered the moment it comes. */
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
  readonly name: 'startup' | 'shutdown' | 'agent_begin' | 'agent_stop'
  readonly instruction: string
}

export interface Webhook {
  readonly kind: 'webhook'
  readonly name: string
  /** `{{payload}}` stands for what was sent. */
  readonly instruction: string
  /** As it came: anybody may have written it. */
  readonly payload: string
}

/** What a sub-agent is to do. */
export interface Assignment {
  readonly kind: 'assignment'
  /** The sub-agent's id. */
  readonly agent: string
  readonly name: string
  readonly instruction: string
  /** 1: of a conversation; 2: of a sub-agent of one. */
  readonly depth: number
  /** Who gets the report: whoever started it, or asked it further. */
  readonly reportTo: ReportTo
}

export interface ReportTo {
  readonly lane: LaneKey
  /** Where people see what is made of it; null: it goes to a sub-agent. */
  readonly place: Place | null
}

/** What a sub-agent hands back to its parent's lane. */
export interface Report {
  readonly kind: 'report'
  readonly agent: string
  readonly name: string
  readonly text: string
  /** False: it failed or was stopped, and the text says how. */
  readonly ok: boolean
}

export type Happening = Message | Command | Heartbeat | Cron | Hook | Webhook | Assignment | Report

/** On whose words something happens. */
export interface Behalf {
  readonly owner: boolean
  /** Null: nobody's in particular. */
  readonly person: string | null
}

/** A backend and a model for one event or one conversation. Null: as it is otherwise. */
export interface Wish {
  readonly backend: string | null
  readonly model: string | null
}

/** Kinds of work that can have a backend and model of their own. */
export const tasks = ['default', 'heartbeat', 'cron', 'subagent', 'hook', 'webhook'] as const
export type Task = (typeof tasks)[number]

export interface NewEvent {
  /** Makes a redelivery the same event: platform message id, job and due time, delivery id. */
  readonly key: string
  readonly lane: LaneKey
  readonly what: Happening
  readonly replyTo: Place | null
  /** Who reports it: `webchat`, `discord`, `cron`, … */
  readonly source: string
  /** Missing where only the owner can speak. The gate decides who the author is then. */
  readonly standing?: Standing
  /** Where the event itself does not tell: for an assignment and a report, whose words began it all. */
  readonly behalf?: Behalf
  readonly wish?: Wish
}

/** On whose words an event happens. The files of the workspace are the owner's; what a webhook brings is a stranger's. */
export function behalfOf({ what, behalf }: NewEvent): Behalf {
  switch (what.kind) {
    case 'message':
    case 'command':
      return { owner: what.author.owner, person: what.author.id }
    case 'heartbeat':
    case 'cron':
    case 'hook':
      return { owner: true, person: null }
    case 'webhook':
      return { owner: false, person: null }
    case 'assignment':
    case 'report':
      return behalf ?? { owner: false, person: null }
    default:
      return what satisfies never
  }
}

/** What was asked, in the words that came. */
export function askedOf(what: Happening): string {
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

/** Nobody waits in these lanes (`cron:briefing`, `agent:7`, …): people go first. */
export const isBackground = (lane: LaneKey): boolean => backgroundSources.has(lane.slice(0, lane.indexOf(':')))

export interface Accepted {
  readonly type: 'accepted'
  readonly id: number
  /** 0: begins at once; otherwise its place in the queue. */
  readonly position: number
}
export interface Duplicate {
  readonly type: 'duplicate'
  readonly id: number
}
export interface Refused {
  readonly type: 'refused'
  readonly why: RefusalReason
  /** In plain words, for the person. */
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
  /** Not let in; an empty reason means that it was told so before and hears nothing more. */
  | 'stranger'
  | 'too-fast'
  | 'over-budget'

/** What became of an edit or a cancellation: where it came to nothing, what waited waits as it was. */
export type Changed = { readonly changed: true } | { readonly changed: false; readonly reason: string }

/** Resolves only after the commit: accepted means on disk. */
export type EventSink = (event: NewEvent) => Promise<Accepted | Duplicate | Refused>

/** Everything that wakes the agent. Its life is a promise, its stop an abort. */
export interface EventSource {
  readonly name: string
  run(sink: EventSink, signal: AbortSignal): Promise<void>
}
