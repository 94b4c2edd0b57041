// The log as it is kept in files, for whoever looks at it later or follows it.

/** From the least to the worst. */
export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const
export type LogLevel = (typeof logLevels)[number]

export interface LogLine {
  readonly at: number
  readonly level: LogLevel
  /** Its fixed name. */
  readonly text: string
  readonly fields: Readonly<Record<string, unknown>>
}

export interface LogQuery {
  /** This and worse. */
  readonly level: LogLevel
  /** Somewhere in the line, in upper or lower case; empty: any. */
  readonly words: string
  /** Where an earlier answer ended. Null: the newest. */
  readonly after: string | null
  readonly most: number
}

export interface LogPage {
  /** The newest last. After a cursor the oldest of what came since, else the newest of all. */
  readonly lines: readonly LogLine[]
  readonly cursor: string
  /** There is more after the cursor. */
  readonly more: boolean
  /** What the cursor was in is gone, so there may be a gap before the first line. */
  readonly gap: boolean
}

export interface Logs {
  read(query: LogQuery): Promise<LogPage>
  /** Whether lines are kept; false: what is there is from before. */
  readonly kept: boolean
}
