// The settings as the Settings page shows and changes them. Changes are written to bot-config.json.

export type SettingForm = 'text' | 'number' | 'yes-or-no' | 'choice' | 'list'
export type SettingValue = string | number | boolean | readonly string[] | null

export interface Setting {
  readonly key: string
  readonly env: string
  /** The value in the files now. Null: not set. A secret is masked. */
  readonly value: SettingValue
  /** `flag`, `environment`, `.env`, `bot-config.json`, `config.json` or `default`. */
  readonly from: string
  /** Null: there is none, or it depends on the machine. */
  readonly default: SettingValue
  readonly description: string
  /** Completes the sentence "must be …". */
  readonly allowed: string
  /** A change takes effect immediately; otherwise after a restart. */
  readonly live: boolean
  /** It was changed since the start and takes effect after a restart. */
  readonly waits: boolean
  readonly secret: boolean
  readonly kind: SettingForm
  readonly choices?: readonly string[]
  /** It is set in bot-config.json, even if another source overrides it. */
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
  /** Why the files cannot be loaded, so that the last valid values are shown; null: they can. */
  readonly trouble: string | null
}

export type SettingsChange =
  | {
      readonly ok: true
      /** Keys whose change takes effect now, and keys whose change takes effect after a restart. */
      readonly applied: readonly string[]
      readonly later: readonly string[]
      readonly values: readonly Setting[]
    }
  | { readonly ok: false; readonly why: string; readonly problems: readonly SettingProblem[] }

/** The file that the page writes. Others may write it too: guests through their turns, the owner by hand. */
export interface SettingsFile {
  /** The text in effect if a guest may have just changed the file; null: no file. Undefined: the text on disk is in effect. */
  approved(): string | null | undefined
  /** An edit by the owner. Null: no file; undefined: the current text cannot be parsed, so nothing is written. */
  edit(
    change: (text: string | null) => string | null | undefined,
  ): Promise<{ readonly ok: true } | { readonly ok: false; readonly why: string }>
}

export interface SettingsAdmin {
  read(): Promise<Settings>
  /** All or nothing. Null removes the setting from this file. Other keys stay as they are, also those somebody else changed meanwhile. */
  change(set: Readonly<Record<string, unknown>>): Promise<SettingsChange>
}
