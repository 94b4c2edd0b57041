// What the command line needs from the rest of the program; passed in by main.ts.
import type { ChatProbe, ChatSetup } from '../../base/chat-module.ts'
import type { Check } from '../../base/check.ts'
import type { Jobs } from '../../base/jobs.ts'
import type { LoginsAdmin } from '../../base/logins.ts'
import type { Logs } from '../../base/logs.ts'
import type { MemoryLog, MemorySearch } from '../../base/memory.ts'
import type { PairingAdmin } from '../../base/pairing.ts'
import type { Decision } from '../../base/requests.ts'
import type { SessionsAdmin } from '../../base/sessions.ts'
import type { ShownRequest } from './requests.ts'

/** Options as typed, by their camelCase name (`configDir`, `backend`, …). Undefined if not given. */
export type Flags = Readonly<Record<string, string | boolean | undefined>>

/** The address of a gateway. */
export interface Address {
  /** `http://host:port`, without a trailing slash. */
  readonly url: string
  readonly token: string
}

export interface Running extends Address {
  readonly pid: number
}

interface Embedded extends Address {
  /** Resolves when the gateway has ended: after the signal, or because something failed. */
  readonly closed: Promise<void>
}

export interface ShownValue {
  readonly key: string
  readonly env: string
  /** Secrets are masked already. Null if not set. */
  readonly value: string | null
  readonly from: string
  readonly description: string
}

export type ConfigReport =
  | { readonly ok: true; readonly values: readonly ShownValue[]; readonly warnings: readonly string[] }
  /** One text per problem: key, value, what is allowed. */
  | { readonly ok: false; readonly problems: readonly string[]; readonly warnings: readonly string[] }

export type Finding =
  | { readonly type: 'check'; readonly check: Check }
  /** A step that takes a moment, to show as progress. */
  | { readonly type: 'doing'; readonly what: string }

/** An admin API on the data on disk, opened while no gateway is running. */
export type Kept<Admin> = Admin & { close(): Promise<void> }

export interface FoundBackend {
  readonly name: string
  readonly runs: boolean
  /** Null if there is no login. False is no proof: some programs keep their login where we cannot look. */
  readonly loggedIn: boolean | null
  readonly detail: string
  /** How to install it or log in. */
  readonly fix: string
}

/** What `init` finds, and what it can write. */
export interface Setup {
  readonly dir: string
  /** From the configuration. Null if not set. */
  readonly backend: string | null
  readonly owners: readonly string[]
  readonly chats: readonly ChatToSetUp[]
  /** There is an identity.md. */
  readonly named: boolean
  backends(signal: AbortSignal): Promise<readonly FoundBackend[]>
  /** A variable from the environment or from .env. */
  variable(name: string): string | null
  /** Rejects with a readable message if the result would not load. */
  plan(choices: Choices): Promise<Plan>
}

export interface ChatToSetUp extends ChatSetup {
  readonly name: string
  /** `Discord`. */
  readonly label: string
  readonly enabled: boolean
  /** All of its tokens are set. */
  readonly hasTokens: boolean
  /** Tries these tokens, by variable; the ones that are set are used for the rest. */
  probe(tokens: ReadonlyMap<string, string>, signal: AbortSignal): Promise<ChatProbe>
}

/** Null leaves a setting unchanged. */
export interface Choices {
  readonly backend: string | null
  /** The chats to turn on. */
  readonly chats: readonly string[]
  /** New tokens, by variable. */
  readonly tokens: ReadonlyMap<string, string>
  readonly owner: string | null
  readonly name: string | null
  /** Remember the folder in .env, so that other commands find it. */
  readonly rememberDir: boolean
}

export interface PlannedFile {
  readonly path: string
  readonly isNew: boolean
  /** A unified diff. Secrets are masked already. */
  readonly diff: string
  /** Where a copy of the old file is kept. */
  readonly copy: string | null
}

export interface Plan {
  readonly files: readonly PlannedFile[]
  /** What overrides a choice, such as a variable that takes precedence over config.json. */
  readonly warnings: readonly string[]
  /** All files or none. `undo` restores everything. */
  write(): Promise<{ undo(): Promise<void> }>
}

/** The systemd user unit that runs this workspace. */
export interface ServiceControl {
  readonly name: string
  readonly file: string
  readonly text: string
  /** `foreign`: not written by this program. */
  readonly there: 'no' | 'same' | 'other' | 'foreign'
  /** From the existing unit to `text`. */
  readonly diff: string
  /** Mistakes in the configuration, with which it could not start. */
  readonly problems: readonly string[]
  /** Variables set only in this shell, which systemd would not pass on. */
  readonly onlyHere: readonly string[]
  /** Whether the user's services keep running after logout, and start at boot. */
  readonly lingers: boolean
  write(): Promise<void>
  delete(): Promise<void>
  /** `systemctl --user …`, with a timeout. Null if there is no systemctl. */
  systemctl(...args: readonly string[]): Promise<{ readonly ok: boolean; readonly said: string } | null>
}
export interface KeptLog extends Pick<Logs, 'read'> {
  readonly dir: string
  /** False if nothing was ever logged there. */
  any(): Promise<boolean>
}

export interface InitialConfig {
  readonly path: string
  readonly created: boolean
  readonly copy: string | null
}

export type Edited =
  | { readonly type: 'edited' }
  | { readonly type: 'no-terminal' }
  | { readonly type: 'no-editor' }
  | { readonly type: 'failed'; readonly editor: string; readonly why: string }

export type Decided =
  | { readonly type: 'answered' | 'late'; readonly request: ShownRequest }
  | { readonly type: 'unknown' }
  | { readonly type: 'refused'; readonly why: string }

/** What agents ask, for the owner. */
export interface Approvals {
  list(which: 'open' | 'all'): Promise<readonly ShownRequest[]>
  find(id: number): Promise<ShownRequest | null>
  decide(id: number, decision: Decision): Promise<Decided>
}

export interface CliPorts {
  /** Runs the gateway until it is stopped. Resolves with the exit code. */
  start(flags: Flags): Promise<number>
  /** The running gateway of this CONFIG_DIR. */
  find(flags: Flags): Promise<Running | null>
  /** A gateway inside this process, on a free port, with a quiet log; it leaves SIGINT to the command line. */
  embed(flags: Flags, signal: AbortSignal): Promise<Embedded>
  /** Checks everything a gateway needs; `live` also asks the backend. Ends early on the signal, and leaves nothing behind. */
  doctor(flags: Flags, live: boolean, signal: AbortSignal): AsyncIterable<Finding>
  /** Who may do what, what listens, and which files others can read; `fix` closes such files. */
  audit(flags: Flags, fix: boolean): Promise<readonly Check[]>
  /** These six read the data of this CONFIG_DIR while no gateway is running. They reject with a readable message if none has ever run. */
  pairing(flags: Flags): Promise<Kept<PairingAdmin>>
  logins(flags: Flags): Promise<Kept<LoginsAdmin>>
  jobs(flags: Flags): Promise<Kept<Jobs>>
  sessions(flags: Flags): Promise<Kept<SessionsAdmin>>
  memory(flags: Flags): Promise<Kept<MemorySearch & MemoryLog>>
  approvals(flags: Flags): Promise<Kept<Approvals>>
  /** Rejects with a readable message while the configuration has mistakes. */
  setup(flags: Flags): Promise<Setup>
  /** Rejects with a readable message on platforms without such units. */
  unit(flags: Flags): Promise<ServiceControl>
  config(flags: Flags): Promise<ConfigReport>
  /** Writes config.json if there is none, or in any case with `force`; `copy` is where the old file is kept. */
  initConfig(flags: Flags, force: boolean): Promise<InitialConfig>
  /** Opens config.json in the user's editor; creates it first if there is none. */
  editConfig(flags: Flags): Promise<InitialConfig & { readonly edited: Edited }>
  /** The log of this CONFIG_DIR, whether a gateway is running or not. */
  logs(flags: Flags): Promise<KeptLog>
  /** Writes the example workspace, but no file that exists already. Names are relative to `dir`. */
  initExample(flags: Flags): Promise<{
    readonly dir: string
    readonly written: readonly string[]
    readonly kept: readonly string[]
  }>
}
