// What the HTTP server is handed: the few things it needs to know about the rest of the program.

import type { MissionDesk } from '../../base/activity.ts'
import type { SubAgents } from '../../base/agents.ts'
import type { AttachmentsDesk } from '../../base/attachments.ts'
import type { OwnFiles, SkillsDesk } from '../../base/files.ts'
import type { Jobs } from '../../base/jobs.ts'
import type { Logs } from '../../base/logs.ts'
import type { MemoryLog, MemorySearch } from '../../base/memory.ts'
import type { PairingDesk } from '../../base/pairing.ts'
import type { BoardTask, ContentItem, Fact, Records } from '../../base/records.ts'
import type { SessionsDesk } from '../../base/sessions.ts'
import type { SettingsDesk } from '../../base/settings.ts'
import type { MessageReply, NewMessage, Socket } from '../../base/socket.ts'
import type { Talks } from '../../base/talks.ts'
import type { ToolDesk } from '../../base/tools.ts'
import type { ReceiveWebhook } from '../../base/webhook.ts'

export interface HttpOptions {
  readonly host: string
  /** Under which it may be asked for as well. */
  readonly names?: readonly string[]
  /** 0: any free port. */
  readonly port: number
  readonly token: string
  /** The folder web/, absolute. */
  readonly webDir: string
  /** The folder node_modules, absolute: two libraries of the page are served from it. */
  readonly modulesDir: string
  readonly version: string
  ready(): boolean
  status(): Promise<object>
  metrics(): Promise<string>
  connect(socket: Socket, conversation: string): void
  newConversation(): string
  /** Resolves after the commit; with `wait` when the final is there. The signal tells that nobody waits any more. */
  message(message: NewMessage, wait: boolean, signal: AbortSignal): Promise<MessageReply>
  readonly pairing: PairingDesk
  /** These: missing, their paths are not there. */
  readonly jobs?: Jobs
  readonly sessions?: SessionsDesk
  readonly memory?: MemorySearch & MemoryLog
  readonly agents?: Pick<SubAgents, 'list' | 'stop'>
  readonly records?: OwnersRecords
  readonly files?: OwnFiles
  readonly skills?: SkillsDesk
  /** What the owner's window shows; missing: there is none. */
  readonly mission?: MissionDesk
  /** The conversations of WebChat; missing: they are not listed or searched. */
  readonly talks?: Talks
  /** Opened with the first question; missing: their paths are not there. */
  settings?(): Promise<SettingsDesk>
  logs?(): Promise<Logs>
  /** Missing: nothing can be attached. */
  readonly attachments?: AttachmentsDesk
  /** Missing: there are no webhooks. */
  readonly webhook?: ReceiveWebhook
  /** The gateway's own tools for its agents; missing: there are none. */
  readonly tools?: ToolDesk
  warn(fields: object, text: string): void
  readonly limits?: Partial<HttpLimits>
}

/** The files of facts, tasks and finds. */
export interface OwnersRecords {
  readonly brain: Records<Fact>
  readonly tasks: Records<BoardTask>
  readonly content: Records<ContentItem>
}

export interface HttpLimits {
  readonly bodyBytes: number
  /** What bodies of webhooks may hold together. */
  readonly unprovenBytes: number
  /** The longest message a socket may send. */
  readonly frameBytes: number
  /** What may wait for a slow reader before its socket is closed. */
  readonly bufferedBytes: number
  /** The same for whoever listens to what happens. */
  readonly streamBytes: number
  /** What happens within this time goes out together. */
  readonly gatherMs: number
  /** How often at most the state of things goes out. */
  readonly statusMs: number
  /** How many requests of one connection may be answered at a time; browsers send one after the other. */
  readonly atOnce: number
  readonly headersMs: number
  readonly requestMs: number
  readonly keepAliveMs: number
  readonly pingEveryMs: number
  /** How often those who listen get a line that says nothing, so that nobody on the way takes them for gone. */
  readonly breathEveryMs: number
  readonly reachMs: number
  /** How long a wrong token waits for its answer, once there were several. */
  readonly wrongTokenMs: number
  /** How long open requests and sockets may take to end when we stop. */
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
  /** A file of 25 MB takes its time on a slow line. */
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
  /** Resolves when the last connection is gone, after the signal. */
  readonly closed: Promise<void>
}
