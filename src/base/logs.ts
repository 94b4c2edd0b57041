// The log files as people read and follow them.

/** From least to most severe. */
export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const
export type LogLevel = (typeof logLevels)[number]

export interface LogLine {
  readonly at: number
  readonly level: LogLevel
  /** The fixed name of the message. */
  readonly text: string
  readonly fields: Readonly<Record<string, unknown>>
}

export interface LogQuery {
  /** This level and above. */
  readonly level: LogLevel
  /** Anywhere in the line, ignoring case; empty: any line. */
  readonly words: string
  /** The cursor of an earlier result. Null: start with the newest lines. */
  readonly after: string | null
  readonly most: number
}

export interface LogPage {
  /** Newest last. With a cursor: the oldest lines after it; otherwise the newest of all. */
  readonly lines: readonly LogLine[]
  readonly cursor: string
  /** There is more after the cursor. */
  readonly more: boolean
  /** The file of the cursor no longer exists, so lines may be missing before the first one. */
  readonly gap: boolean
}

export interface Logs {
  read(query: LogQuery): Promise<LogPage>
  /** Whether lines are being written; false: existing lines are old. */
  readonly kept: boolean
}
