// A chat platform as it is listed in the registry of chat/: everything the rest of the program knows about it.
import type { ChatAdapter, ChatMemory, Click, ClickReply, Delivery, FileScope } from './chat.ts'
import type { Check } from './check.ts'
import type { Changed, NewEvent, Sender } from './event.ts'
import type { Emit } from './signal.ts'
import type { Chance, Clock } from './time.ts'

/** `Config`: the part of the configuration this chat reads, such as `{ discord: … }`. */
export interface ChatModule<Config> {
  /** The part before the colon in places and users: `discord:1234`. */
  readonly name: string
  readonly setup: ChatSetup
  isOn(config: Config): boolean
  /** Called only when the chat is on; this is where its libraries are loaded. */
  open(config: Config, context: ChatContext): Promise<ChatAdapter>
  /** Checks the configured account with the platform without connecting, also while the chat is off. */
  probe(config: Config, signal: AbortSignal): Promise<ChatProbe>
  /** Whether the bot can write to this conversation. Asks the platform without connecting, and sends nothing. */
  checkPlace(config: Config, conversation: string, signal: AbortSignal): Promise<PlaceCheck>
}

/** What `aetheel init` asks for this chat. Its option `<name>.enabled` turns it on. */
export interface ChatSetup {
  /** How to get the tokens, line by line. */
  readonly how: readonly string[]
  /** Asked in this order, not echoed, and saved in .env. */
  readonly secrets: readonly { readonly variable: string; readonly label: string }[]
  readonly userId: {
    /** How to find out one's own. */
    readonly how: readonly string[]
    readonly form: RegExp
    /** The form in words: `17 to 20 digits`. */
    readonly words: string
  }
}

export type PlaceCheck =
  | { readonly type: 'writable' }
  /** It does not exist, or the bot may not write there. `why` is a clause without a full stop. */
  | { readonly type: 'refused'; readonly why: string }
  /** The platform does not answer now. */
  | { readonly type: 'unknown'; readonly why: string }

export interface ChatProbe {
  readonly type: 'good' | 'bad-token' | 'unreachable'
  /** For people: what was found, and what to do about it. */
  readonly checks: readonly Check[]
}

/** What the gateway passes to a chat. */
export interface ChatContext {
  readonly workspace: ChatWorkspace
  readonly commands: ChatCommands
  readonly people: ChatPeople
  readonly deliveries: ChatDeliveries
  readonly memory: ChatMemory
  readonly clock: Clock
  readonly chance: Chance
  readonly emit: Emit
  /** Edits a waiting message; null cancels it. */
  change(key: string, event: NewEvent | null): Promise<Changed>
  /** A click on a button. Answers within a second: platforms do not wait long. The stop button of a draft is the command /stop instead. */
  clicked(click: Click): Promise<ClickReply>
  /** Reports an error that no caller waits for. */
  broke(error: unknown): void
}

export interface ChatWorkspace {
  readonly dir: string
  /** Null: the file does not exist, or may not be sent. */
  readFile(path: string, scope?: FileScope): Promise<Uint8Array | null>
}

export interface ChatCommands {
  readonly list: readonly CommandShape[]
  /** Commands whose arguments can be completed. */
  readonly completes: readonly string[]
  suggest(command: string): readonly string[]
}

/** A row of the command table, as much as a chat needs. */
export interface CommandShape {
  readonly names: readonly string[]
  /** The arguments, such as `PROMPT` or `[NAME | default]`; null: none. */
  readonly takes: string | null
  readonly about: string
  /** The arguments are a message for the agent. */
  readonly asks: boolean
}

export interface ChatPeople {
  /** Whether this sender may talk to the agent. */
  knows(sender: Sender): boolean
  /** The ids of people who may talk to the agent anywhere, owners first. */
  known(): readonly string[]
}

export interface ChatDeliveries {
  /** Stores the delivery in the outbox. */
  put(key: string, delivery: Delivery): Promise<unknown>
  /** Whether a delivery to this conversation is in progress. */
  isUnderway(conversation: string): boolean
  /** Records that the delivery with this key was sent. */
  sent(key: string): void
}
