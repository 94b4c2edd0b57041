// The Settings desk: every option with its value and where it comes from; changes go into bot-config.json through the keeper.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import * as v from 'valibot'
import type { Setting, SettingProblem, SettingsChange, SettingsDesk, SettingValue } from '../base/settings.ts'
import { byHand, type Keeper } from '../store/index.ts'
import { showProblems } from './config.ts'
import { isJsonObject, type JsonObject, type JsonValue, readJson } from './config-json.ts'
import { eachOption, isOptionKey, type Option, type OptionKey, options } from './config-options.ts'
import { mask, plain } from './config-report.ts'
import type { From } from './config-sources.ts'
import type { Good, LiveConfig } from './live.ts'

const file = 'bot-config.json'

export interface SettingsParts {
  readonly live: LiveConfig
  readonly keeper: Pick<Keeper, 'approved' | 'edit'>
}

export function openSettings({ live, keeper }: SettingsParts): SettingsDesk {
  let last: Promise<unknown> = Promise.resolve()
  const rows = (good: Good) => eachOption().map(([key, option]) => rowOf(key, option, good, live.started))

  async function change(set: Readonly<Record<string, unknown>>): Promise<SettingsChange> {
    const before = live.good()
    const wrong = Object.entries(set).flatMap(([key, value]) => troubleWith(key, value, before) ?? [])
    if (wrong.length > 0) return refused(wrong)
    const edit = editFor(set)
    // A guest may be at it just now: what the owner changes is what counts.
    const approved = keeper.approved(file)
    const stands = approved === undefined ? await textIn(join(live.current().configDir, file)) : approved
    const text = edit(stands)
    if (text === undefined) return unusable
    if (text === stands) return { ok: true, applied: [], later: [], values: rows(before) }
    const loaded = await live.load({ [file]: text ?? '{}' })
    if (!loaded.ok) return refused(loaded.problems.map(({ key, why }) => ({ key, why })))
    const made = await keeper.edit(file, byHand, edit)
    if (!made.ok) return { ok: false, why: made.why, problems: [] }
    const after = live.good()
    const changed = eachOption().filter(
      ([key]) => Object.hasOwn(set, key) && !isDeepStrictEqual(before.settled.values[key], after.settled.values[key]),
    )
    return {
      ok: true,
      applied: changed.flatMap(([key, { live: counts }]) => (counts ? key : [])),
      later: changed.flatMap(([key, { live: counts }]) => (counts ? [] : key)),
      values: rows(after),
    }
  }

  return {
    async read() {
      const loaded = await live.load()
      if (!loaded.ok) return { values: rows(live.good()), trouble: showProblems(loaded.problems) }
      // Whoever is shown an edit of a moment ago is not to be told of what does not count yet.
      if (!isDeepStrictEqual(rows(loaded), rows(live.good()))) await live.reload()
      return { values: rows(live.good()), trouble: null }
    },
    /** One after the other: what one of them was checked with still stands when it is written. */
    change(set) {
      const changing = last.then(() => change(set))
      last = changing.catch(() => undefined)
      return changing
    },
  }
}

function rowOf(key: OptionKey, option: Option<unknown>, good: Good, started: Good) {
  const { env, description, kind, secret = false, live = false } = option
  const from = good.settled.from.get(key) ?? 'default'
  const value = good.settled.values[key]
  const usual = typeof option.default === 'function' ? null : option.default
  return {
    ...{ key, env, from, description, live, secret, kind: kind.form, allowed: kind.allowed },
    value: secret ? hidden(value) : shown(key === 'config_dir' ? good.config.configDir : value, kind.write, good.hide),
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

/** Secrets have no place in a file that a page writes; the rest is told by whoever wins over it. */
function lockOf({ env, flag, secret, outsideFile }: Option<unknown>, from: From): string | null {
  if (secret) return `It is a secret: set ${env} in .env, or its key in config.json.`
  if (outsideFile) return `It says where all files are: set ${env} or --${flag}.`
  if (from === 'flag') return `It was set by --${flag} at the start, which wins over this page.`
  if (from === 'environment') return `It is set by ${env} in the environment, which wins over this page.`
  return from === '.env' ? `It is set by ${env} in .env, which wins over this page.` : null
}

function troubleWith(key: string, value: unknown, good: Good): SettingProblem | null {
  if (!isOptionKey(key)) return { key, why: 'is no option' }
  const option: Option<unknown> = options[key]
  if (value === null) return null
  const lock = lockOf(option, good.settled.from.get(key) ?? 'default')
  if (lock !== null) return { key, why: lock }
  const given = typeof value === 'string' ? value.trim() : value
  // Also where a bad value in a file would only be warned about: here somebody can be told.
  return given !== '' && v.is(option.kind.schema, given) ? null : { key, why: `must be ${option.kind.allowed}` }
}

/** Key by key, so that two who change different ones keep each other's. Undefined: what stands there is not understood. */
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
  why: `${file} is not one JSON object. Mend it by hand, or remove it; nothing was changed.`,
  problems: [],
}
