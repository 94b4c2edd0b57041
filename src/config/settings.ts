// The settings API: every option with its value and source. Changes are written to bot-config.json.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import * as v from 'valibot'
import { mask } from '../base/scrub.ts'
import { createSerial } from '../base/serial.ts'
import type {
  Setting,
  SettingProblem,
  SettingsAdmin,
  SettingsChange,
  SettingsFile,
  SettingValue,
} from '../base/settings.ts'
import { type JsonObject, type JsonValue, readJson } from './json.ts'
import type { Good, LiveConfig } from './live.ts'
import { eachOption, isOptionKey, type Option, type OptionKey, options } from './options/index.ts'
import { plain, showProblems } from './report.ts'
import { type From, isJsonObject } from './sources.ts'

const name = 'bot-config.json'

export interface SettingsParts {
  readonly live: LiveConfig
  readonly file: SettingsFile
}

export function createSettings({ live, file }: SettingsParts): SettingsAdmin {
  const inOrder = createSerial()
  const rows = (good: Good) => eachOption().map(([key, option]) => rowOf(key, option, good, live.started))

  async function change(set: Readonly<Record<string, unknown>>): Promise<SettingsChange> {
    const before = live.good()
    const wrong = Object.entries(set).flatMap(([key, value]) => problemWith(key, value, before) ?? [])
    if (wrong.length > 0) return refused(wrong)
    const edit = editFor(set)
    // A guest may have just changed the file: the owner's change is based on the approved text.
    const approved = file.approved()
    const current = approved === undefined ? await textIn(join(live.current().configDir, name)) : approved
    const text = edit(current)
    if (text === undefined) return unusable
    if (text === current) return { ok: true, applied: [], later: [], values: rows(before) }
    const loaded = await live.load({ [name]: text ?? '{}' })
    if (!loaded.ok) return refused(loaded.problems.map(({ key, why }) => ({ key, why })))
    const made = await file.edit(edit)
    if (!made.ok) return { ok: false, why: made.why, problems: [] }
    const after = live.good()
    const changed = eachOption().filter(
      ([key]) => Object.hasOwn(set, key) && !isDeepStrictEqual(before.settled.values[key], after.settled.values[key]),
    )
    return {
      ok: true,
      applied: changed.flatMap(([key, { live: isLive }]) => (isLive ? key : [])),
      later: changed.flatMap(([key, { live: isLive }]) => (isLive ? [] : key)),
      values: rows(after),
    }
  }

  return {
    async read() {
      const loaded = await live.load()
      if (!loaded.ok) return { values: rows(live.good()), trouble: showProblems(loaded.problems) }
      // If the files were edited a moment ago, reload first, so that the page shows only values that are in effect.
      if (!isDeepStrictEqual(rows(loaded), rows(live.good()))) await live.reload()
      return { values: rows(live.good()), trouble: null }
    },
    /** One at a time, so that the file is still as it was checked when it is written. */
    change: set => inOrder(() => change(set)),
  }
}

function rowOf(key: OptionKey, option: Option<unknown>, good: Good, started: Good) {
  const { env, description, kind, secret = false, live = false } = option
  const from = good.settled.from.get(key) ?? 'default'
  const value = good.settled.values[key]
  const usual = typeof option.default === 'function' ? null : option.default
  return {
    ...{ key, env, from, description, live, secret, kind: kind.form, allowed: kind.allowed },
    value: secret ? hidden(value) : shown(value, kind.write, good.hide),
    default: shown(usual, kind.write, good.hide),
    waits: !live && !isDeepStrictEqual(value, started.settled.values[key]),
    here: good.inBotConfig.has(key),
    locked: lockOf(option, from),
    ...(kind.choices && { choices: kind.choices }),
  } satisfies Setting
}

const hidden = (value: unknown): string | null => (value === null || plain(value) === '' ? null : mask)

function shown(value: unknown, write: ((value: never) => string) | undefined, hide: Good['hide']): SettingValue {
  if (value === null) return null
  if (!write && (typeof value === 'number' || typeof value === 'boolean')) return value
  if (Array.isArray(value)) return value.map(item => hide(String(item)))
  return hide(write ? write(value as never) : String(value))
}

/** Secrets do not belong in a file that a page writes; otherwise a source with higher precedence locks the option. */
function lockOf({ env, flag, secret, outsideFile }: Option<unknown>, from: From): string | null {
  if (secret) return `This is a secret. Set ${env} in .env, or its key in config.json.`
  if (outsideFile) return `This is where all files are. Set ${env} or --${flag}.`
  if (from === 'flag') return `Set by --${flag} at the start, which overrides this page.`
  if (from === 'environment') return `Set by ${env} in the environment, which overrides this page.`
  return from === '.env' ? `Set by ${env} in .env, which overrides this page.` : null
}

function problemWith(key: string, value: unknown, good: Good): SettingProblem | null {
  if (!isOptionKey(key)) return { key, why: 'is not an option' }
  const option: Option<unknown> = options[key]
  if (value === null) return null
  const lock = lockOf(option, good.settled.from.get(key) ?? 'default')
  if (lock !== null) return { key, why: lock }
  const given = typeof value === 'string' ? value.trim() : value
  // Also for options where an invalid value in a file only causes a warning: here there is somebody to tell.
  return given !== '' && v.is(option.kind.schema, given) ? null : { key, why: `must be ${option.kind.allowed}` }
}

/**
 * Changes key by key, so that two people who change different keys do not overwrite each other. Undefined: the current text cannot be
 * parsed.
 */
const editFor = (set: Readonly<Record<string, unknown>>) => (text: string | null) => {
  const object = readSettings(text)
  if (!object) return undefined
  const next: Record<string, JsonValue> = { ...object }
  for (const [key, value] of Object.entries(set)) {
    if (value === null) delete next[key]
    else next[key] = (typeof value === 'string' ? value.trim() : value) as JsonValue
  }
  if (text === null && Object.keys(next).length === 0) return null
  return `${JSON.stringify(next, null, 2)}\n`
}

const textIn = (path: string): Promise<string | null> =>
  readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })

function readSettings(text: string | null): JsonObject | null {
  const read = readJson(text === null || text.trim() === '' ? '{}' : text)
  return read.ok && isJsonObject(read.value) ? read.value : null
}

const refused = (problems: readonly SettingProblem[]): SettingsChange => ({
  ok: false,
  why: `Nothing was changed: ${problems.map(({ key, why }) => `${key}: ${why}`).join('; ')}`,
  problems,
})

const unusable: SettingsChange = {
  ok: false,
  why: `${name} is not a JSON object. Fix it by hand or remove it. Nothing was changed.`,
  problems: [],
}
