// What an agent does with a tool, or wants to do, in one form for all backends: for showing it, asking about it and applying rules to it.

export interface ToolUse {
  /** By its name in ALLOWED_TOOLS: `Bash`, `Edit`, `mcp__server__tool`. A tool that has no such name keeps the backend's. */
  readonly tool: string
  readonly work: Work
}

/** Texts are as the backend gives them, cut at `longestWork`. */
export type Work =
  | { readonly kind: 'command'; readonly command: string }
  /** `diff`: lines that start with a space, `+`, `-` or `@@`. A new file has only `+` lines. */
  | { readonly kind: 'edit'; readonly path: string; readonly diff: string }
  | { readonly kind: 'read'; readonly path: string }
  | { readonly kind: 'search'; readonly query: string; readonly path: string | null }
  | { readonly kind: 'fetch'; readonly url: string }
  | { readonly kind: 'todo'; readonly items: readonly TodoItem[] }
  /** Anything else: its input as indented JSON. */
  | { readonly kind: 'other'; readonly input: string }

export interface TodoItem {
  readonly text: string
  readonly state: 'open' | 'active' | 'done'
}

/** What came of it. */
export interface ToolResult {
  /** Cut at `longestOutput`: its beginning and its end. */
  readonly output: string
  /** The exit code of a command, if the backend reports it. */
  readonly exit: number | null
}

export const longestWork = 64_000
/** @public */
export const longestOutput = 16_000

/** What a backend needs somebody's answer for. It does nothing of it before the answer. */
export type Ask = { readonly id: string } & (
  | {
      readonly kind: 'tool'
      readonly use: ToolUse
      /** The exact and whole input as canonical JSON (sorted keys): an answer is valid for this input only. */
      readonly input: string
    }
  | { readonly kind: 'question'; readonly questions: readonly Question[] }
  /** A plan to carry out or to go on planning. */
  | { readonly kind: 'plan'; readonly plan: string }
)

export interface Question {
  readonly question: string
  /** A word or two. */
  readonly header: string
  /** Whether several options may be chosen. */
  readonly multiple: boolean
  /** Empty: the answer is free text. Free text is always possible. */
  readonly options: readonly { readonly label: string; readonly description: string }[]
}

export type Verdict =
  /** `answers`: of a question, by its text. */
  | { readonly allow: true; readonly answers?: Readonly<Record<string, string>> }
  /** `message`: for the model. */
  | { readonly allow: false; readonly message: string }

/** With sorted keys, so that equal inputs are equal texts. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, one: unknown) =>
    typeof one === 'object' && one !== null && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
      : one,
  )
}
