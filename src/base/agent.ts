// One turn of one agent: what a backend is asked and what it tells back.

export interface Turn {
  readonly prompt: string
  readonly systemPrompt: string
  /** `resume: false` asks for a new session under this id, where the backend can choose its ids. Null: none wanted. */
  readonly session: { readonly id: string; readonly resume: boolean } | null
  readonly model: string | null
  readonly maxTurns: number
  readonly allowedTools: readonly string[]
  readonly permissionMode: PermissionMode
  /** MCP servers of the user, for this backend as well. */
  readonly mcpServers: readonly McpServer[]
  /** Where the agent works: the workspace. */
  readonly workingDir: string
}

/** As `mcp.servers` in config.json names it: a program that is started, or an address that is called. */
export type McpServer =
  | {
      readonly name: string
      readonly command: string
      readonly args: readonly string[]
      readonly env: Readonly<Record<string, string>>
    }
  | { readonly name: string; readonly url: string; readonly headers: Readonly<Record<string, string>> }

/** What nobody has to wish for. */
export const defaultMaxTurns = 25

export const permissionModes = ['bypassPermissions', 'acceptEdits', 'plan', 'default'] as const
export type PermissionMode = (typeof permissionModes)[number]

export const backendNames = ['claude', 'codex', 'gemini', 'opencode', 'pi', 'claude-sdk', 'echo'] as const
export type BackendName = (typeof backendNames)[number]

/** Not set means claude; a name that we do not know throws and lists the ones we do. */
export function resolveBackendName(raw: string | undefined): BackendName {
  if (raw === undefined) return 'claude'
  const known = backendNames.find(name => name === raw)
  if (known === undefined)
    throw new RangeError(`unknown backend ${JSON.stringify(raw)}; known are ${backendNames.join(', ')}`)
  return known
}

export type FailureReason =
  | 'not-installed'
  | 'not-logged-in'
  | 'session-lost'
  | 'rate-limited'
  | 'overloaded'
  | 'refused'
  | 'timed-out'
  | 'max-turns'
  | 'crashed'
  | 'unreadable'
  | 'stopped'

export interface Usage {
  readonly inputTokens: number
  readonly outputTokens: number
  /** Null where the backend does not tell. */
  readonly costUsd: number | null
}

export type Ended =
  | { readonly type: 'ended'; readonly ok: true; readonly text: string }
  | {
      readonly type: 'ended'
      readonly ok: false
      readonly why: FailureReason
      /** For the log and the owner; scrubbed, at most 500 characters. */
      readonly detail: string
      /** When a limit ends (ms since the epoch), where the backend tells. */
      readonly until?: number
    }

/** A run is: started? (text | action | usage)* ended. Exactly one `ended`, it is the last, and nothing is thrown. */
export type AgentEvent =
  | { readonly type: 'started'; readonly session: string | null }
  | { readonly type: 'text'; readonly delta: string }
  | { readonly type: 'action'; readonly id: string; readonly label: string; readonly phase: ActionPhase }
  /** The last one counts. `of`: some CLIs tell what the whole session has used up, not this turn alone. */
  | {
      readonly type: 'usage'
      readonly usage: Usage
      readonly of: 'turn' | 'session'
      /** Which model it was, where the backend tells. */
      readonly model: string | null
    }
  | Ended

export type ActionPhase = 'started' | 'ended' | 'failed'

export interface BackendCheck {
  readonly ok: boolean
  /** Path and version, or what is missing and how to get it. */
  readonly detail: string
}

export interface Backend {
  readonly name: string
  /** Whether a new session may be given an id of our choice, so that it can be found again after a crash. */
  readonly takesSessionIds: boolean
  check(signal: AbortSignal): Promise<BackendCheck>
  run(turn: Turn, signal: AbortSignal): AsyncIterable<AgentEvent>
  /** What of these wishes it cannot honour, a sentence each. */
  ignores(turn: Turn): readonly string[]
  /** Gets a session ready ahead of its next turn, where that is possible. Best effort, never rejects. */
  prepare(turn: Turn): Promise<void>
}

/** How a turn came out, for whoever puts it into words. */
export type TurnEnd =
  | {
      readonly type: 'answered'
      readonly text: string
      readonly backend: string
      readonly sessionWasLost: boolean
      /** Those that were to answer and could not. */
      readonly instead: readonly { readonly backend: string; readonly why: FailureReason }[]
    }
  | { readonly type: 'stopped'; readonly text: string }
  | { readonly type: 'put-off'; readonly why: FailureReason; readonly backend: string; readonly until: number }
  | { readonly type: 'set-aside'; readonly attempts: number }
  /** A bug of ours. */
  | { readonly type: 'broke'; readonly error: unknown }
  | {
      readonly type: 'failed'
      readonly why: FailureReason
      readonly detail: string
      readonly backend: string
      readonly until?: number
    }

/** What the person sees while the turn runs. Best effort: it may lose anything and never throws. */
export interface Live {
  text(delta: string): void
  action(label: string, phase: ActionPhase): void
  /** Resolves when nothing of it is on its way any more. */
  close(): Promise<void>
}
