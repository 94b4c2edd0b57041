// Resolves each option: the first source that sets it wins, and its value is checked.
import * as v from 'valibot'
import { mask } from '../base/scrub.ts'
import { frozen } from './config.ts'
import { mistakesInside } from './mistake.ts'
import { eachOption, type Option, type OptionKey, type Values } from './options/index.ts'
import { plain, quote, showProblem } from './report.ts'
import type { BotConfig, ConfigFile, From, Problem, Remarks, Variables } from './sources.ts'
import { type ResolvedVariables, type Substituted, substitute } from './variables.ts'

export interface Sources {
  /** By the flag's name in camelCase. */
  readonly flags: Readonly<Record<string, string | boolean | undefined>>
  readonly process: Variables
  readonly dotEnv: Variables
  readonly bot: BotConfig
  readonly file: ConfigFile
  readonly variables: ResolvedVariables
  /** `config_dir`, absolute. */
  readonly folder: string
}

export interface Settled {
  readonly values: Values
  readonly from: ReadonlyMap<OptionKey, From>
  /** Options whose value was rejected; `values` has their default instead. */
  readonly bad: ReadonlySet<OptionKey>
}

export function settle(sources: Sources, scrub: (line: string) => string, { problems, warnings }: Remarks): Settled {
  const values = {}
  const from = new Map<OptionKey, From>()
  const bad = new Set<OptionKey>()
  for (const [key, option] of eachOption()) {
    const found = pick(key, option, sources)
    const checked = found === null ? null : check(found, option)
    const value = key === 'config_dir' ? sources.folder : checked?.ok ? checked.value : option.default
    from.set(key, found !== null && checked?.ok ? found.from : 'default')
    const compute = () => frozen(typeof value === 'function' ? value() : value)
    Object.defineProperty(values, key, {
      enumerable: true,
      ...(option.lazy && value === option.default ? { get: once(compute) } : { value: compute() }),
    })
    if (found === null || checked === null || checked.ok) continue

    const problem = problemWith(key, option, found, checked.why, scrub)
    if (option.lenient) warnings.push(`${showProblem(problem)}; using ${plain(option.default)} instead`)
    else {
      problems.push(problem)
      bad.add(key)
    }
  }
  // The loop runs over the same table that the type is derived from.
  return { values: values as Values, from, bad }
}

export interface Found {
  readonly from: From
  readonly raw: unknown
  /** With variables substituted; the same as `raw` for sources without variables. */
  readonly filled: Substituted<unknown>
}

/** `env.vars` counts as environment, so it overrides the option's own key in the same file. */
export function pick(key: OptionKey, option: Option<unknown>, sources: Omit<Sources, 'folder'>): Found | null {
  const { flags, process, dotEnv, bot, file, variables } = sources
  const written = file.settings.get(key)
  const chosen = bot.settings.get(key)
  return (
    given('flag', option.flag === undefined ? undefined : flags[camelCase(option.flag)]) ??
    given('environment', process[option.env]) ??
    given('.env', dotEnv[option.env]) ??
    (chosen === undefined ? null : { from: 'bot-config.json', raw: chosen, filled: { ok: true, value: chosen } }) ??
    given('config.json', variables.vars[option.env]) ??
    (written === undefined
      ? null
      : { from: 'config.json', raw: written, filled: substitute(written, variables.environment) })
  )
}

function given(from: From, raw: string | boolean | undefined): Found | null {
  if (raw === undefined || (typeof raw === 'string' && raw.trim() === '')) return null
  return { from, raw, filled: { ok: true, value: raw } }
}

function check({ filled }: Found, option: Option<unknown>): Substituted<unknown> {
  if (!filled.ok) return filled
  const value = typeof filled.value === 'string' ? filled.value.trim() : filled.value
  const parsed = v.safeParse(option.kind.schema, value)
  if (parsed.success) return { ok: true, value: parsed.output }
  const inside = mistakesInside(parsed.issues)
  return { ok: false, why: `${inside === null ? '' : `${inside}; it `}must be ${option.kind.allowed}` }
}

function problemWith(
  key: string,
  { env, flag, secret }: Option<unknown>,
  { from, raw, filled }: Found,
  why: string,
  scrub: (line: string) => string,
): Problem {
  const value = secret ? mask : quote(filled.ok ? filled.value : raw, scrub)
  return { key, env, flag: flag ?? null, from, value, why }
}

const camelCase = (flag: string): string => flag.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())

function once<T>(compute: () => T): () => T {
  let result: { readonly value: T } | null = null
  return () => {
    result ??= { value: compute() }
    return result.value
  }
}
