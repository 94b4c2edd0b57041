// What the HTTP server needs from the rest of the program.

import type { MissionControl } from '../../base/activity.ts'
import type { AttachmentsAdmin } from '../../base/attachments.ts'
import type { ConversationList } from '../../base/conversations.ts'
import type { OwnFiles, SkillsAdmin } from '../../base/files.ts'
import type { Jobs } from '../../base/jobs.ts'
import type { Logins } from '../../base/logins.ts'
import type { Logs } from '../../base/logs.ts'
import type { MemoryLog, MemorySearch } from '../../base/memory.ts'
import type { PairingAdmin } from '../../base/pairing.ts'
import type { PermissionsAdmin } from '../../base/permissions.ts'
import type { BoardTask, ContentItem, Fact, Records } from '../../base/records.ts'
import type { RequestsAdmin } from '../../base/requests.ts'
import type { SessionsAdmin } from '../../base/sessions.ts'
import type { SettingsAdmin } from '../../base/settings.ts'
import type { Connected, MessageReply, NewMessage, Socket } from '../../base/socket.ts'
import type { SubAgents } from '../../base/subagents.ts'
import type { ToolCalls } from '../../base/tools.ts'
import type { ReceiveWebhook } from '../../base/webhook.ts'

export interface HttpOptions {
  readonly address: HttpAddress
  /** The folder web/, and node_modules with the libraries of the pages; both absolute. */
  readonly pages: { readonly webDir: string; readonly modulesDir: string }
  readonly health: Health
  readonly webchat: WebchatApi
  readonly admin: AdminApi
  readonly logins: Logins
  readonly webhook: ReceiveWebhook
  /** The gateway's own tools, for its agents. */
  readonly tools: ToolCalls
  warn(fields: object, text: string): void
}

export interface HttpAddress {
  readonly host: string
  /** Other host names that are accepted. */
  readonly names: readonly string[]
  /** 0 for any free port. */
  readonly port: number
  readonly token: string
  /** Whether this process has descriptors left for another connection. */
  hasRoom(): boolean
}

export interface Health {
  readonly version: string
  ready(): boolean
  /** Why nothing is accepted at the moment. Null if all is well. */
  trouble(): string | null
  status(): Promise<object>
  metrics(): Promise<string>
}

/** WebChat: sockets, messages, and history. */
export interface WebchatApi {
  connect(socket: Socket, conversation: string, how: Connected): void
  newConversation(): string
  /** Resolves after the commit, or with `wait` when the final answer is there. The signal means that the client has left. */
  message(message: NewMessage, wait: boolean, signal: AbortSignal): Promise<MessageReply>
  readonly conversations: ConversationList
  readonly attachments: AttachmentsAdmin
}

/** What the owner sees and changes. */
export interface AdminApi {
  readonly mission: MissionControl
  readonly pairing: PairingAdmin
  readonly jobs: Jobs
  readonly sessions: SessionsAdmin
  readonly memory: MemorySearch & MemoryLog
  readonly subagents: Pick<SubAgents, 'list' | 'stop'>
  readonly requests: RequestsAdmin
  readonly permissions: PermissionsAdmin
  readonly records: OwnersRecords
  readonly files: OwnFiles
  readonly skills: SkillsAdmin
  /** Created with the first request. */
  settings(): Promise<SettingsAdmin>
  logs(): Promise<Logs>
}

/** The stores of facts, tasks and content items. */
export interface OwnersRecords {
  readonly brain: Records<Fact>
  readonly tasks: Records<BoardTask>
  readonly content: Records<ContentItem>
}

export interface HttpLimits {
  readonly bodyBytes: number
  /** The limit for all webhook bodies in memory together. */
  readonly unprovenBytes: number
  /** The longest message a socket may send. */
  readonly frameBytes: number
  /** The limit for bytes queued to a slow client before its socket is closed. */
  readonly bufferedBytes: number
  /** The same for clients of the event stream. */
  readonly streamBytes: number
  /** Signals within this time are sent together. */
  readonly gatherMs: number
  /** The status is sent at most this often. */
  readonly statusMs: number
  /** How many requests of one connection may be answered at once; browsers send one after the other. */
  readonly atOnce: number
  readonly headersMs: number
  readonly requestMs: number
  readonly keepAliveMs: number
  readonly pingEveryMs: number
  /** How often clients of the event stream get an empty comment, so that no proxy closes the connection as idle. */
  readonly breathEveryMs: number
  readonly reachMs: number
  /** The delay before answering a wrong token, after several of them. */
  readonly wrongTokenMs: number
  /** How long open requests and sockets get to finish when we stop. */
  readonly stopMs: number
}

export const defaultLimits: HttpLimits = {
  bodyBytes: 1024 * 1024,
  unprovenBytes: 32 * 1024 * 1024,
  frameBytes: 1024 * 1024,
  bufferedBytes: 8 * 1024 * 1024,
  streamBytes: 1024 * 1024,
  gatherMs: 30,
  statusMs: 500,
  atOnce: 16,
  headersMs: 10_000,
  /** A 25 MB file takes a while on a slow line. */
  requestMs: 120_000,
  keepAliveMs: 5_000,
  pingEveryMs: 30_000,
  breathEveryMs: 20_000,
  reachMs: 30_000,
  wrongTokenMs: 200,
  stopMs: 2_000,
}

export interface OpenHttp {
  readonly url: string
  readonly port: number
  /** Resolves when the last connection is closed, after the signal. */
  readonly closed: Promise<void>
}
