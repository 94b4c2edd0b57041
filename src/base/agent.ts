// One turn of one agent: what a backend is given, and the events it reports.
import type { Profile } from './profile.ts'
import type { Ask, ToolResult, ToolUse, Verdict } from './tool-use.ts'

export interface Turn {
  readonly prompt: string
  readonly systemPrompt: string
  /** `resume: false` asks for a new session with this id, if the backend accepts ids. Null: no session is wanted. */
  readonly session: { readonly id: string; readonly resume: boolean } | null
  readonly model: string | null
  readonly maxTurns: number
  /** Tools it may use without asking. */
  readonly allowedTools: readonly string[]
  /**
   * Tools it may use if the answer to its `asks` event allows it: every use, however harmless, is asked for. Empty: nobody can be
   * asked, and what would have to be asked for is refused.
   */
  readonly askTools: readonly string[]
  readonly permissionMode: PermissionMode
  /** The user's MCP servers; every backend gets them. */
  readonly mcpServers: readonly McpServer[]
  /** Where the agent works: the workspace, or the folder of a guest. */
  readonly workingDir: string
  /** Missing: the turn may do what the gateway's user may. */
  readonly profile?: Profile
}

/** As in `mcp.servers` of config.json: a program to start, or a URL to call. */
export type McpServer =
  | {
      readonly name: string
      readonly command: string
      readonly args: readonly string[]
      readonly env: Readonly<Record<string, string>>
    }
  | { readonly name: string; readonly url: string; readonly headers: Readonly<Record<string, string>> }

/** Used when no other limit is set. */
export const defaultMaxTurns = 25

export const permissionModes = ['bypassPermissions', 'acceptEdits', 'plan', 'default'] as const
export type PermissionMode = (typeof permissionModes)[number]

/** How much of its work is shown beside an answer. */
export const verbosities = ['quiet', 'normal', 'full'] as const
export type Verbosity = (typeof verbosities)[number]

export const backendNames = ['claude', 'codex', 'gemini', 'opencode', 'pi', 'claude-sdk', 'echo'] as const
export type BackendName = (typeof backendNames)[number]

/** Undefined means claude; an unknown name throws an error that lists the known ones. */
export function resolveBackendName(raw: string | undefined): BackendName {
  if (raw === undefined) return 'claude'
  const known = backendNames.find(name => name === raw)
  if (known === undefined)
    throw new RangeError(`unknown backend ${JSON.stringify(raw)}; use one of ${backendNames.join(', ')}`)
  return known
}

export type FailureReason =
  | 'not-installed'
  | 'not-logged-in'
  | 'session-lost'
  | 'rate-limited'
  | 'overloaded'
  | 'refused'
  | 'unknown-model'
  | 'timed-out'
  | 'max-turns'
  | 'crashed'
  | 'unreadable'
  /** This machine had no file descriptors, processes or memory left to start it: nothing was run. */
  | 'no-room'
  | 'stopped'

export interface Usage {
  readonly inputTokens: number
  readonly outputTokens: number
  /** Null if the backend does not report it. */
  readonly costUsd: number | null
}

export type Ended =
  | {
      readonly type: 'ended'
      readonly ok: true
      /** All text of the turn. */
      readonly text: string
      /** The text after the last tool call, if there was text before it. */
      readonly last?: string
    }
  | {
      readonly type: 'ended'
      readonly ok: false
      readonly why: FailureReason
      /** For the log and the owner; scrubbed, at most 500 characters. */
      readonly detail: string
      /** When a limit ends (ms since the epoch), if the backend reports it. */
      readonly until?: number
    }

/**
 * A run is: started? (stored | text | action | usage | thinking | asks | withdrawn | steerable)* ended, with `alive` and `trouble` anywhere
 * before the end. There is exactly one `ended`, it comes last, and nothing is thrown.
 */
export type AgentEvent =
  | { readonly type: 'started'; readonly session: string | null }
  /** From here on the session contains the prompt, however the turn ends: the prompt must not be sent again. */
  | { readonly type: 'stored' }
  | { readonly type: 'text'; readonly delta: string }
  | {
      readonly type: 'action'
      readonly id: string
      readonly label: string
      readonly phase: ActionPhase
      /** Comes once, with the first event of this id that knows it. */
      readonly use?: ToolUse
      /** Comes with the end, if the backend reports it. */
      readonly result?: ToolResult
    }
  /**
   * The agent waits for an answer, and does nothing of it before. The first call of `answer` counts; after the end of the turn it does
   * nothing.
   */
  | { readonly type: 'asks'; readonly ask: Ask; answer(verdict: Verdict): void }
  /** The backend no longer waits for the answer to the `asks` with this id. */
  | { readonly type: 'withdrawn'; readonly id: string }
  /** From now on, words of the person can be added to the running turn. False: they did not reach it. */
  | { readonly type: 'steerable'; steer(words: string): Promise<boolean> }
  /** The last one is valid. `of`: some CLIs report the usage of the whole session instead of this turn. */
  | {
      readonly type: 'usage'
      readonly usage: Usage
      readonly of: 'turn' | 'session'
      /** The model that was used, if the backend reports it. */
      readonly model: string | null
    }
  /**
   * The agent is thinking. `quietly`: there may be no more events until it is done, so silence is normal. `summary`: the next piece of
   * the summary of its thoughts, if the backend reports one.
   */
  | { readonly type: 'thinking'; readonly quietly: boolean; readonly summary?: string }
  /** Shows that the backend is alive, nothing else. */
  | { readonly type: 'alive' }
  /** A problem that does not end the turn, for the log. Never contains what anybody wrote. */
  | { readonly type: 'trouble'; readonly why: string }
  | Ended

export type ActionPhase = 'started' | 'ended' | 'failed'

export interface BackendCheck {
  readonly ok: boolean
  /** Path and version, or what is missing and how to install it. */
  readonly detail: string
}

/** Whether a backend knows a model, and which models it has. */
export interface ModelCheck {
  readonly known: boolean
  readonly has: readonly string[]
}

export interface Backend {
  readonly name: string
  /** Whether a new session can be given an id of our choice, so that it can be found again after a crash. */
  readonly takesSessionIds: boolean
  check(signal: AbortSignal): Promise<BackendCheck>
  /** Missing, or resolves with null: the backend cannot tell before a turn. */
  checkModel?(model: string, workingDir: string, signal: AbortSignal): Promise<ModelCheck | null>
  run(turn: Turn, signal: AbortSignal): AsyncIterable<AgentEvent>
  /** The options of this turn that the backend cannot honour, one sentence each. */
  ignores(turn: Turn): readonly string[]
  /** Prepares a session ahead of its next turn, if possible. Best effort, never rejects. */
  prepare(turn: Turn): Promise<void>
}

/** How a turn ended, for the code that writes the answer. */
export type TurnEnd =
  | {
      readonly type: 'answered'
      readonly text: string
      /** As in `Ended`. */
      readonly last?: string
      readonly backend: string
      readonly sessionWasLost: boolean
      /** The backends that should have answered and could not. */
      readonly instead: readonly { readonly backend: string; readonly why: FailureReason }[]
    }
  | { readonly type: 'stopped'; readonly text: string }
  | { readonly type: 'put-off'; readonly why: FailureReason; readonly backend: string; readonly until: number }
  | { readonly type: 'set-aside'; readonly attempts: number }
  /** A bug in the gateway. */
  | { readonly type: 'broke'; readonly error: unknown }
  | {
      readonly type: 'failed'
      readonly why: FailureReason
      readonly detail: string
      readonly backend: string
      readonly until?: number
    }

/** What the person sees while the turn runs. Best effort: it may drop anything and never throws. */
export interface Live {
  text(delta: string): void
  /** `waits`: it waits for a person, so it is shown in every conversation. */
  action(label: string, phase: ActionPhase, waits?: true): void
  /** Resolves when nothing is being sent any more. */
  close(): Promise<void>
}
