// The interface of the fake Discord for tests: its state, what people do, what the bot did, and failures to simulate.

export interface User {
  readonly id: string
  readonly username: string
  readonly global_name: string | null
  readonly bot: boolean
}

export interface Role {
  readonly id: string
  readonly name: string
}

export interface Guild {
  readonly id: string
  readonly name: string
}

export interface Channel {
  readonly id: string
  readonly name: string
  readonly kind: 'text' | 'thread' | 'dm'
  /** Null: a direct message. */
  readonly guild: string | null
  /** The parent channel of a thread. */
  readonly parent: string | null
  readonly archived: boolean
  readonly locked: boolean
}

export interface FileGiven {
  readonly name: string
  readonly bytes: Uint8Array | string
  readonly type?: string
}

export interface StoredAttachment {
  readonly id: string
  readonly name: string
  readonly type: string | null
  readonly size: number
  readonly description: string | null
  readonly bytes: Buffer
  /** Signed: a new one for each request, expires after `attachmentUrlMs`. */
  readonly url: string
}

/** Who was notified: the mentions in the content, as far as `allowed_mentions` permits. */
export interface Pinged {
  readonly everyone: boolean
  readonly roles: readonly string[]
  readonly users: readonly string[]
}

export interface StoredMessage {
  readonly id: string
  readonly channel: string
  readonly author: string
  readonly content: string
  readonly at: number
  readonly editedAt: number | null
  /** Earlier versions, oldest first; `at` is when that text was set. */
  readonly history: readonly { readonly at: number; readonly content: string; readonly pinged: Pinged }[]
  readonly nonce: string | null
  /** The request's own `allowed_mentions`; null: none was given. */
  readonly allowedMentions: unknown
  readonly pinged: Pinged
  readonly attachments: readonly StoredAttachment[]
  /** The message this one replies to. */
  readonly reference: string | null
  readonly components: readonly unknown[]
  readonly embeds: readonly unknown[]
  readonly flags: number
  readonly ephemeral: boolean
  readonly deleted: boolean
  /** Discord's message type: 0 ordinary, 19 reply, 20 answer to a slash command, 18 and 21 about threads. */
  readonly type: number
}

export interface SayOptions {
  /** Puts `<@bot>` in front. */
  readonly mention?: boolean
  readonly replyTo?: { readonly id: string }
  /** A reply pings its addressee unless this is false. */
  readonly ping?: boolean
  readonly attachments?: readonly FileGiven[]
  /** The message comes from a webhook and not from a person. */
  readonly webhook?: boolean
}

export type SlashOptions = Readonly<Record<string, string | number | boolean | FileGiven>>

export type FirstAnswer = 'message' | 'deferred' | 'deferred-update' | 'update' | 'choices' | 'modal'

/** One interaction and the bot's responses. It is live: it changes after the first response. */
export interface Interaction {
  readonly id: string
  readonly token: string
  /** Null: no answer within 3 s ("The application did not respond"). */
  readonly first: FirstAnswer | null
  readonly answeredAfterMs: number | null
  readonly ephemeral: boolean
  readonly choices: readonly { readonly name: string; readonly value: string | number }[]
  readonly modal: unknown
  /** The current answer; null while there is none, also while the bot is "thinking". */
  readonly original: StoredMessage | null
  readonly followUps: readonly StoredMessage[]
  /** The answer once it has content; rejects after `ms` (5000). */
  whole(ms?: number): Promise<StoredMessage>
}

export interface RequestSeen {
  readonly method: string
  /** Without `/api/v10`, with the query. */
  readonly path: string
  /** JSON, or `payload_json` of a multipart body; null: none. */
  readonly body: unknown
  readonly files: readonly { readonly field: string; readonly name: string; readonly bytes: number }[]
  readonly headers: Readonly<Record<string, string>>
  readonly at: number
  /** 0: there was no response. */
  readonly status: number
  /** Discord's error code in the response, if any. */
  readonly code: number | null
}

/** `POST /channels/:id/messages` (a `:name` stands for one segment, the query does not count), or a RegExp over `METHOD /path?query`. */
export type Match = string | RegExp

export interface Failure {
  /** How many requests fail; default 1. */
  readonly times?: number
  /** Default 502. Ignored if `hang` is set. */
  readonly status?: number
  readonly body?: unknown
  /** Carry out the request, then fail. */
  readonly storeFirst?: boolean
  /** Seconds, for a 429. */
  readonly retryAfter?: number
  /** No response at all: `true` keeps the connection open, `cut` resets it. */
  readonly hang?: boolean | 'cut'
  /** Delays the response; without `status` and `hang` it is the ordinary response. */
  readonly delayMs?: number
}

export interface Limit {
  readonly limit: number
  readonly perMs: number
  /** `global` also sets `X-RateLimit-Global`; `shared`: used up by others. */
  readonly scope?: 'user' | 'global' | 'shared'
}

export type Privileged = 'MessageContent' | 'GuildMembers' | 'GuildPresences'

export type Permission =
  | 'ViewChannel'
  | 'SendMessages'
  | 'SendMessagesInThreads'
  | 'CreatePublicThreads'
  | 'CreatePrivateThreads'
  | 'ReadMessageHistory'
  | 'AttachFiles'
  | 'EmbedLinks'
  | 'MentionEveryone'
  | 'UseApplicationCommands'

/** Traffic of the gateway, as the fake saw it. */
export interface GatewaySeen {
  readonly what: 'open' | 'identify' | 'resume' | 'heartbeat' | 'presence' | 'close'
  readonly at: number
  readonly connection: number
  /** The payload's `d`, or `{ code, by }` of a close. */
  readonly detail: unknown
}

export interface DiscordOptions {
  readonly token?: string
  readonly botName?: string
  /** Epoch milliseconds: ids, expiry of interactions, nonces and URLs. Rate limits and heartbeats keep real time. */
  readonly now?: () => number
  /** 0: any free port. */
  readonly port?: number
  /** Default 41250, like Discord's. */
  readonly heartbeatMs?: number
  /** An edit of the same message sooner than this gets 429; 0: never. */
  readonly editEveryMs?: number
  /** How long `enforce_nonce` remembers; 5 minutes ("the past few minutes"). */
  readonly nonceMs?: number
  /** How long a download URL is valid; default 24 h. */
  readonly attachmentUrlMs?: number
  /** Privileged intents that are off in the portal. */
  readonly denied?: readonly Privileged[]
  /** An additional guild of this size; `listed`: with all members, as Discord sends them only with the presence intent. */
  readonly scale?: { readonly channels: number; readonly members: number; readonly listed?: boolean }
  readonly compatible?: Compatible
}

/** Deviations of a compatible server. */
export interface Compatible {
  /** Fields left out of guilds and messages, over REST and the gateway, such as `roles`. */
  readonly without?: readonly string[]
  /** Option types that it refuses, together with all commands in the same request. */
  readonly refusedOptions?: readonly number[]
  /** Names of commands that it refuses. */
  readonly refusedCommands?: readonly string[]
  /** Files are served on another port. */
  readonly filesApart?: boolean
}

export interface FakeDiscord extends World, People, Sight, Trouble {
  /** Base of the API, without the version: `http://127.0.0.1:PORT/api`. */
  readonly url: string
  readonly port: number
  readonly token: string
  readonly applicationId: string
  readonly bot: User
  /** There is a guild with a text channel and a member from the start. */
  readonly home: Guild
  readonly general: Channel
  readonly ada: User
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Changes the state; connected bots get the events. */
export interface World {
  user(name: string, options?: { bot?: boolean }): User
  guild(name: string): Guild
  role(guild: Guild, name: string): Role
  member(guild: Guild, user: User, roles?: readonly Role[]): void
  /** The bot's own (managed) role in a guild. */
  botRole(guild: Guild): Role
  channel(guild: Guild, name: string): Channel
  /** A thread created by somebody; `joined`: the bot is in it. */
  thread(
    parent: Channel,
    name: string,
    options?: { owner?: User; joined?: boolean; private?: boolean; from?: { readonly id: string } },
  ): Channel
  dm(user: User): Channel
  guilds(): readonly Guild[]
  channels(guild: Guild): readonly Channel[]
  members(guild: Guild): readonly User[]
  /** Its current state. */
  look(channel: Channel | string): Channel
  threads(parent: Channel): readonly Channel[]
  archive(thread: Channel, options?: { locked?: boolean }): void
  removeChannel(channel: Channel): void
  /** Removes the bot from a thread. */
  expel(thread: Channel): void
  /** Removes the bot from the guild. */
  leave(guild: Guild): void
}

/** What people do. */
export interface People {
  say(user: User, channel: Channel, text: string, options?: SayOptions): StoredMessage
  edit(message: { readonly id: string }, text: string): StoredMessage
  remove(message: { readonly id: string }): void
  /** Discord found a link preview: MESSAGE_UPDATE although nobody edited anything. */
  unfurl(message: { readonly id: string }): void
  /** Resolves with the first answer, or after 3 s without one. The command must be registered. */
  slash(user: User, channel: Channel, command: string, options?: SlashOptions): Promise<Interaction>
  click(user: User, message: { readonly id: string }, customId: string): Promise<Interaction>
  /** Sends the dialog that was the answer to a click, with this text in its field. */
  submit(user: User, message: { readonly id: string }, dialog: Interaction, text: string): Promise<Interaction>
  /** `options` are those already filled in; `focused` is the one being typed. */
  autocomplete(
    user: User,
    channel: Channel,
    command: string,
    focused: { readonly name: string; readonly value: string },
    options?: SlashOptions,
  ): Promise<Interaction>
}

/** What the bot did, and the current state. */
export interface Sight {
  /** Oldest first, without ephemeral ones and "thinking"; deleted ones and Discord's own lines about threads when asked for. */
  messages(channel: Channel | string, options?: { deleted?: boolean; system?: boolean }): readonly StoredMessage[]
  /** Those of the bot only. */
  answers(channel: Channel | string): readonly StoredMessage[]
  message(id: string): StoredMessage | null
  /** When typing was called, epoch milliseconds. */
  typing(channel: Channel | string): readonly number[]
  commands(guild?: Guild): { readonly registered: readonly { readonly name: string }[]; readonly puts: number }
  requests(match?: Match): readonly RequestSeen[]
  gateway(what?: GatewaySeen['what']): readonly GatewaySeen[]
  /** The number of open gateway connections with a session. */
  connected(): number
  /** The next (or current) connection with a session: READY or RESUMED was sent. */
  ready(ms?: number): Promise<void>
  /** Polls until the result is truthy (or not null or undefined) and returns it; rejects after `ms` (5000). */
  until<T>(look: () => T | Promise<T>, ms?: number): Promise<NonNullable<T>>
}

/** Simulated failures. */
export interface Trouble {
  /** The next matching requests fail. Returns a function that cancels this. */
  fail(match: Match, failure?: Failure): () => void
  /** Real X-RateLimit headers, and 429 above the limit, per channel like Discord. Returns a function that lifts it. */
  rateLimit(match: Match, limit: Limit): () => void
  editEvery(ms: number): void
  /** With a close frame. */
  closeGateway(code: number, reason?: string): void
  /** Without one: the socket is gone. */
  dropConnection(): void
  /** Zombies: current connections stay open but get nothing more, not even heartbeat acks. */
  goSilent(): void
  op7(): void
  op9(resumable: boolean): void
  /** Intents that are off in the portal: identifying with them closes with 4014. None given: all are on. */
  denyIntents(...intents: Privileged[]): void
  /** Changes the token: REST responds with 401, the gateway closes with 4004. */
  changeToken(token: string): void
  /** Permissions that the bot lacks there; none given: it has all. */
  permissions(channel: Channel, denied?: readonly Permission[]): void
  /** DMs to this user are refused (50007). */
  blockDms(user: User, blocked?: boolean): void
  /** RESUME gets op 9 false. */
  forgetSession(): void
  /** Forgets nonces, as after some minutes: later posts are new, whatever their nonce. */
  forgetNonces(): void
  /** Discord is down: connections are cut and new ones reset, until `false`. */
  offline(on: boolean): void
}
