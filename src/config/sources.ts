// Where settings come from: flags, environment, the `.env` file, bot-config.json and config.json.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import type { ConfigFileName } from '../base/config-files.ts'
import { nearest } from '../base/spelling.ts'
import type { JsonObject, JsonValue } from './json.ts'
import { eachOption, isOptionKey, type OptionKey, options } from './options/index.ts'

export type From = 'flag' | 'environment' | '.env' | ConfigFileName | 'default'

/** One mistake. The value is safe to show: quoted, truncated, and masked if it is a secret. */
export interface Problem {
  readonly key: string
  readonly env: string | null
  readonly flag: string | null
  readonly from: From | null
  readonly value: string | null
  /** What is allowed, or what is missing. */
  readonly why: string
}

export interface Remarks {
  readonly problems: Problem[]
  readonly warnings: string[]
}

export type Variables = Readonly<Record<string, string>>

/** A variable that is empty or blank counts as not set. */
export function setVariables(env: Readonly<Record<string, string | undefined>>): Variables {
  const isSet = (entry: [string, string | undefined]): entry is [string, string] => (entry[1] ?? '').trim() !== ''
  return Object.fromEntries(Object.entries(env).filter(isSet))
}

export async function readDotEnv(folder: string, { problems, warnings }: Remarks): Promise<Variables> {
  const read = await readText(join(folder, '.env'))
  if (read.type === 'text') {
    const text = read.text.replace(/^\ufeff/, '')
    warnings.push(...notUnderstood(text))
    return setVariables(parseEnv(text))
  }
  // Python projects may have a virtual environment in a folder of this name.
  if (read.type === 'folder') warnings.push('.env is a folder, ignored')
  if (read.type === 'unreadable') problems.push(fileProblem('.env', `cannot be read (${read.why})`))
  return {}
}

/** Without this warning, a damaged file would only be noticed by its missing settings. Never shows the line: it may be a secret. */
function notUnderstood(text: string): readonly string[] {
  // A quoted value may span several lines.
  const flat = text.replace(/^([ \t]*(?:export[ \t]+)?[\w.-]+[ \t]*=[ \t]*)(["'`])[\s\S]*?\2/gm, (all, name: string) =>
    name.concat('\n'.repeat(all.split('\n').length - 1)),
  )
  const wrong = flat
    .split(/\r\n|\n|\r/)
    .flatMap((line, i) => (/^\s*(#|$|(export\s+)?[\w.-]+\s*=)/.test(line) ? [] : [i + 1]))
  const [first] = wrong
  if (first === undefined) return []
  const more = wrong.length === 1 ? '' : `, and ${wrong.length - 1} more`
  return [`.env: line ${first} is neither NAME=value nor a # comment, ignored${more}`]
}

/** The contents of config.json, not yet checked. Blank texts and nulls count as not set and are left out. */
export interface ConfigFile {
  readonly settings: ReadonlyMap<OptionKey, JsonValue>
  /** `env.vars`, as written. */
  readonly vars: ReadonlyMap<string, string>
}

/** `given`: the text to use instead of the file. */
export async function readConfigFile(folder: string, remarks: Remarks, given?: string): Promise<ConfigFile> {
  const settings = new Map<OptionKey, JsonValue>()
  const vars = new Map<string, string>()
  const object = await readObject(folder, 'config.json', remarks, given)
  if (object) collect(object, '', { settings, vars }, remarks)
  return { settings, vars }
}

/**
 * The contents of bot-config.json, not yet checked. Values that must not be there are reported, and are kept so that secrets among them
 * can be hidden.
 */
export interface BotConfig {
  readonly settings: ReadonlyMap<OptionKey, JsonValue>
  readonly misplaced: readonly JsonValue[]
}

/** One object with full keys, written by the gateway: no nested objects, no variables. */
export async function readBotConfig(folder: string, remarks: Remarks, given?: string): Promise<BotConfig> {
  const file = 'bot-config.json'
  const settings = new Map<OptionKey, JsonValue>()
  const misplaced: JsonValue[] = []
  const object = await readObject(folder, file, remarks, given)
  for (const [key, value] of Object.entries(object ?? {})) {
    const problem = (why: string) => remarks.problems.push({ ...keyProblem(key, why), from: file })
    if (isNothing(value)) continue
    if (!isOptionKey(key)) {
      if (sections.has(key)) problem(`cannot be set in ${file}: use full keys such as "http.port"`)
      else remarks.warnings.push(`${file}: unknown key "${key}", ignored${guessFor(key)}`)
    } else if (optionOf(key).secret) {
      misplaced.push(value)
      problem(`cannot be set in ${file}: put secrets into .env or config.json`)
    } else if (optionOf(key).outsideFile) {
      problem(
        `cannot be set in ${file}, since it says where that file is: use ${optionOf(key).env} or --${optionOf(key).flag}`,
      )
    } else settings.set(key, value)
  }
  return { settings, misplaced }
}

/** Null: there is no file, or it is not an object; the latter is reported as a problem. */
async function readObject(
  folder: string,
  file: ConfigFileName,
  { problems }: Remarks,
  given?: string,
): Promise<JsonObject | null> {
  const read = given === undefined ? await readText(join(folder, file)) : { type: 'text' as const, text: given }
  if (read.type === 'missing') return null
  if (read.type !== 'text') {
    const why = read.type === 'folder' ? 'is a folder' : read.why
    // If the folder is a file, reporting it once is enough.
    if (why !== noFolder || file === 'config.json') problems.push(fileProblem(file, `cannot be read (${why})`))
    return null
  }
  if (read.text.trim() === '') return {}
  // Most commands run in a folder without this file, and the parser takes some milliseconds to load.
  const { readJson } = await import('./json.ts')
  const json = readJson(read.text)
  if (json.ok && isJsonObject(json.value)) return json.value
  const why = json.ok ? 'must be an object: { … }' : `line ${json.line}, column ${json.column}: ${json.why}`
  problems.push(fileProblem(file, why))
  return null
}

/** A misspelled variable would go unnoticed, so names that are close to one of ours cause a warning. */
export function warnOfMisspelledVariables(environment: Variables, meant: readonly string[], warnings: string[]): void {
  const known = eachOption().map(([, { env }]) => env)
  for (const name of Object.keys(environment)) {
    if (known.includes(name) || meant.includes(name)) continue
    const guess = nearest(name, known, name.length < 6 ? 1 : 2)
    if (guess !== null) warnings.push(`environment: ${name} is not an option, ignored; did you mean ${guess}?`)
  }
}

type ReadText =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'missing' }
  | { readonly type: 'folder' }
  | { readonly type: 'unreadable'; readonly why: string }

const noFolder = 'the folder it should be in is a file'

async function readText(path: string): Promise<ReadText> {
  try {
    return { type: 'text', text: await readFile(path, 'utf8') }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
    if (code === 'ENOENT') return { type: 'missing' }
    if (code === 'EISDIR') return { type: 'folder' }
    if (code === 'ENOTDIR') return { type: 'unreadable', why: noFolder }
    return { type: 'unreadable', why: code === 'EACCES' ? 'permission denied' : code }
  }
}

const sections = new Set([
  'env',
  'env.vars',
  ...Object.keys(options).flatMap(key => (key.includes('.') ? [key.slice(0, key.lastIndexOf('.'))] : [])),
])

interface Collected {
  readonly settings: Map<OptionKey, JsonValue>
  readonly vars: Map<string, string>
}

function collect(object: JsonObject, prefix: string, into: Collected, remarks: Remarks): void {
  for (const [name, value] of Object.entries(object)) {
    const key = prefix + name
    if (isOptionKey(key)) collectSetting(key, value, into, remarks)
    else if (!sections.has(key)) remarks.warnings.push(`config.json: unknown key "${key}", ignored${guessFor(key)}`)
    else if (value === null) continue
    else if (!isJsonObject(value)) remarks.problems.push(keyProblem(key, 'must be an object: { … }'))
    else if (key === 'env.vars') collectVariables(value, into, remarks)
    else collect(value, `${key}.`, into, remarks)
  }
}

function collectSetting(key: OptionKey, value: JsonValue, { settings }: Collected, { problems }: Remarks): void {
  const { env, flag, outsideFile } = optionOf(key)
  if (isNothing(value)) return
  if (outsideFile) {
    problems.push(
      keyProblem(key, `cannot be set in config.json, since it says where config.json is: use ${env} or --${flag}`),
    )
  } else if (settings.has(key)) problems.push(keyProblem(key, 'is set twice'))
  else settings.set(key, value)
}

function collectVariables(object: JsonObject, { vars }: Collected, { problems }: Remarks): void {
  for (const [name, value] of Object.entries(object)) {
    const key = `env.vars.${name}`
    const outside = eachOption().find(([, { env, outsideFile }]) => outsideFile && env === name)?.[1]
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
      problems.push(keyProblem(key, 'must have a name that consists of letters, digits and underscores'))
    } else if (outside !== undefined) {
      problems.push(
        keyProblem(
          key,
          `cannot be set in config.json, since it says where config.json is: use ${name} or --${outside.flag}`,
        ),
      )
    } else if (typeof value === 'object' && value !== null) {
      problems.push(keyProblem(key, 'must be text, a number, true or false'))
    } else if (value !== null && String(value).trim() !== '') vars.set(name, String(value))
  }
}

function guessFor(key: string): string {
  const known = [...Object.keys(options), ...sections]
  const last = key.slice(key.lastIndexOf('.') + 1).toLowerCase()
  const [elsewhere] =
    eachOption().find(([path, { env }]) => last === env.toLowerCase() || path.endsWith(`.${last}`)) ?? []
  const guess = nearest(key, known, Math.max(1, Math.floor(key.length / 4))) ?? elsewhere
  return guess === undefined ? '' : `; did you mean "${guess}"?`
}

export function isJsonObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const isNothing = (value: JsonValue): boolean => value === null || (typeof value === 'string' && value.trim() === '')

const optionOf = (key: OptionKey): { env: string; flag?: string; outsideFile?: true; secret?: true } => options[key]

const keyProblem = (key: string, why: string): Problem => ({
  key,
  env: null,
  flag: null,
  from: 'config.json',
  value: null,
  why,
})

const fileProblem = (file: string, why: string): Problem => ({ ...keyProblem(file, why), from: null })
