// What the command line needs from the rest of the program; main.ts hands it in.
import type { Jobs } from '../../base/jobs.ts'
import type { Logs } from '../../base/logs.ts'
import type { MemoryLog, MemorySearch } from '../../base/memory.ts'
import type { PairingDesk } from '../../base/pairing.ts'
import type { SessionsDesk } from '../../base/sessions.ts'

/** Options as they were typed, by their camelCase name (`configDir`, `backend`, …); undefined: not given. */
export type Flags = Readonly<Record<string, string | boolean | undefined>>

/** Where a gateway answers. */
export interface Address {
  /** `http://host:port`, without a slash at the end. */
  readonly url: string
  readonly token: string
}

export interface Running extends Address {
  readonly pid: number
}

interface Embedded extends Address {
  /** Resolves when the gateway has ended: after the signal, or by itself when something broke. */
  readonly closed: Promise<void>
}

export interface ShownValue {
  readonly key: string
  readonly env: string
  /** Secrets are masked already. Null: not set. */
  readonly value: string | null
  readonly from: string
  readonly description: string
}

export type ConfigReport =
  | { readonly ok: true; readonly values: readonly ShownValue[]; readonly warnings: readonly string[] }
  /** Problems in plain words, one each: key, value, what is allowed. */
  | { readonly ok: false; readonly problems: readonly string[]; readonly warnings: readonly string[] }

/** One thing that `aetheel doctor` looked at. `off`: not there, and not needed. */
export interface Check {
  readonly name: string
  readonly status: 'ok' | 'warn' | 'fail' | 'off'
  /** What was found. Secrets are hidden already. */
  readonly detail: string
  /** What to do about it. */
  readonly fix?: string
}

export type Finding =
  | { readonly type: 'check'; readonly check: Check }
  /** What takes a moment, for whoever waits. */
  | { readonly type: 'doing'; readonly what: string }

/** What is kept on disk, opened while no gateway runs. */
export type Kept<Desk> = Desk & { close(): Promise<void> }

export interface FoundBackend {
  readonly name: string
  readonly runs: boolean
  /** Null: there is nothing to log in to. False is no proof: some keep a login where nobody sees it. */
  readonly loggedIn: boolean | null
  readonly detail: string
  /** How to install it, or to log in. */
  readonly fix: string
}

/** What `init` finds, and what it can do about it. */
export interface Setup {
  readonly dir: string
  /** What the configuration says already. Null: nothing. */
  readonly backend: string | null
  readonly owners: readonly string[]
  readonly discord: { readonly hasToken: boolean; readonly enabled: boolean }
  /** The agent has an identity.md. */
  readonly named: boolean
  backends(signal: AbortSignal): Promise<readonly FoundBackend[]>
  /** Asks Discord about this token, or the one that is set. */
  bot(
    token: string | null,
    signal: AbortSignal,
  ): Promise<{ readonly type: 'good' | 'bad-token' | 'unreachable'; readonly checks: readonly Check[] }>
  /** A variable of the environment or of .env. */
  variable(name: string): string | null
  /** Rejects, in plain words, where the result would not load. */
  plan(choices: Choices): Promise<Plan>
}

/** Null: as it is. */
export interface Choices {
  readonly backend: string | null
  readonly discordToken: string | null
  readonly discord: boolean
  readonly owner: string | null
  readonly name: string | null
  /** Other commands are to find the folder without being told. */
  readonly rememberDir: boolean
}

export interface PlannedFile {
  readonly path: string
  readonly isNew: boolean
  /** Line by line as a diff. Secrets are hidden already. */
  readonly diff: string
  /** Where the file as it was is kept. */
  readonly copy: string | null
}

export interface Plan {
  readonly files: readonly PlannedFile[]
  /** What stands in the way of a choice, such as a variable that wins over config.json. */
  readonly warnings: readonly string[]
  /** All of it or nothing. `undo` leaves everything as it was. */
  write(): Promise<{ undo(): Promise<void> }>
}

/** The systemd user unit that runs this workspace. */
export interface UnitDesk {
  readonly name: string
  readonly file: string
  readonly text: string
  /** `foreign`: somebody else wrote it. */
  readonly there: 'no' | 'same' | 'other' | 'foreign'
  /** From what is there to `text`. */
  readonly diff: string
  /** Mistakes of the configuration, with which it could not start. */
  readonly problems: readonly string[]
  /** Variables that are set in this shell alone, and which systemd would not hand on. */
  readonly onlyHere: readonly string[]
  /** The user's services go on after a logout, and start at boot. */
  readonly lingers: boolean
  write(): Promise<void>
  delete(): Promise<void>
  /** `systemctl --user …`, bounded. Null: there is no systemctl. */
  systemctl(...args: readonly string[]): Promise<{ readonly ok: boolean; readonly said: string } | null>
}
export interface KeptLog extends Pick<Logs, 'read'> {
  readonly dir: string
  /** False: nothing was ever kept there. */
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

export interface CliPorts {
  /** Runs the gateway until it is stopped; the exit code. */
  start(flags: Flags): Promise<number>
  /** The running gateway of this CONFIG_DIR. */
  find(flags: Flags): Promise<Running | null>
  /** A gateway inside this process, on a free port, with a quiet log; it leaves SIGINT to the command line. */
  embed(flags: Flags, signal: AbortSignal): Promise<Embedded>
  /** Looks at all that a gateway needs; `live` also asks the backend. Ends early on the signal, and leaves nothing behind. */
  doctor(flags: Flags, live: boolean, signal: AbortSignal): AsyncIterable<Finding>
  /** These four are of this CONFIG_DIR while no gateway runs. They reject, in plain words, where none has ever run. */
  pairing(flags: Flags): Promise<Kept<PairingDesk>>
  jobs(flags: Flags): Promise<Kept<Jobs>>
  sessions(flags: Flags): Promise<Kept<SessionsDesk>>
  memory(flags: Flags): Promise<Kept<MemorySearch & MemoryLog>>
  /** Rejects, in plain words, while the configuration has mistakes. */
  setup(flags: Flags): Promise<Setup>
  /** Rejects, in plain words, where there are no such units. */
  unit(flags: Flags): Promise<UnitDesk>
  config(flags: Flags): Promise<ConfigReport>
  /** Writes config.json unless there is one, or with `force` also then; `copy` is what was there. */
  initConfig(flags: Flags, force: boolean): Promise<InitialConfig>
  /** Has config.json edited by whoever sits there, in their editor; makes it first where there is none. */
  editConfig(flags: Flags): Promise<InitialConfig & { readonly edited: Edited }>
  /** The log of this CONFIG_DIR, whether a gateway runs or not. */
  logs(flags: Flags): Promise<KeptLog>
  /** Writes the example workspace, except what is there already. Names are relative to `dir`. */
  initExample(flags: Flags): Promise<{
    readonly dir: string
    readonly written: readonly string[]
    readonly kept: readonly string[]
  }>
}
