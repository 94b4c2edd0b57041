// The settings as the owner's window shows and changes them. What it changes stands in bot-config.json.

export type SettingForm = 'text' | 'number' | 'yes-or-no' | 'choice' | 'list'
export type SettingValue = string | number | boolean | readonly string[] | null

export interface Setting {
  readonly key: string
  readonly env: string
  /** What the files say now. Null: not set. A secret is only shown to be there. */
  readonly value: SettingValue
  /** `flag`, `environment`, `.env`, `bot-config.json`, `config.json` or `default`. */
  readonly from: string
  /** Null: none, or the machine decides. */
  readonly default: SettingValue
  readonly description: string
  /** Ends the sentence "must be …". */
  readonly allowed: string
  /** A change counts at once; else after the next start. */
  readonly live: boolean
  /** It was changed since the start, and counts after the next one. */
  readonly waits: boolean
  readonly secret: boolean
  readonly kind: SettingForm
  readonly choices?: readonly string[]
  /** It stands in bot-config.json, whether that counts or not. */
  readonly here: boolean
  /** Why it cannot be changed here; null: it can. */
  readonly locked: string | null
}

export interface SettingProblem {
  readonly key: string
  readonly why: string
}

export interface Settings {
  readonly values: readonly Setting[]
  /** Why the files are not read as they stand, so that the last good values are shown; null: they are. */
  readonly trouble: string | null
}

export type SettingsChange =
  | {
      readonly ok: true
      /** Keys whose value is another one from now on, and those for which that is so after the next start. */
      readonly applied: readonly string[]
      readonly later: readonly string[]
      readonly values: readonly Setting[]
    }
  | { readonly ok: false; readonly why: string; readonly problems: readonly SettingProblem[] }

export interface SettingsDesk {
  read(): Promise<Settings>
  /** All or nothing. Null: not set here any more. Other keys stay as they are, also those that somebody else has changed meanwhile. */
  change(set: Readonly<Record<string, unknown>>): Promise<SettingsChange>
}
