// The result of one check, such as those of `aetheel doctor`.

/** `off`: not present, and not needed. */
export interface Check {
  readonly name: string
  readonly status: 'ok' | 'warn' | 'fail' | 'off'
  /** What was found, with secrets already hidden. */
  readonly detail: string
  /** What to do about it. */
  readonly fix?: string
}
