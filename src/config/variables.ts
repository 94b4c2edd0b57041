// Variables in config.json: `env.vars` extends the environment, and `${NAME}` is replaced by the variable's value.
import type { JsonValue } from './json.ts'
import type { Variables } from './sources.ts'

export type Substituted<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly why: string }

export interface ResolvedVariables {
  /** The environment, with `env.vars` as fallback. */
  readonly environment: Variables
  /** The variables in `env.vars` with their effective values: the real environment overrides them. */
  readonly vars: Variables
  readonly mistakes: readonly { readonly name: string; readonly why: string }[]
}

/** Values of `env.vars` may refer to other variables, in any order, but not in a cycle. */
export function resolveVariables(written: ReadonlyMap<string, string>, outer: Variables): ResolvedVariables {
  const resolved = new Map<string, Substituted<string>>()

  function resolve(name: string, trail: readonly string[]): Substituted<string> {
    const known = resolved.get(name)
    if (known !== undefined) return known
    const template = written.get(name)
    if (template === undefined || Object.hasOwn(outer, name)) return variableIn(outer, name)
    if (trail.includes(name)) return { ok: false, why: `refers back to itself: ${[...trail, name].join(', ')}` }
    const result = fillIn(template, inner => resolve(inner, [...trail, name]))
    resolved.set(name, result)
    return result
  }

  const results = [...written.keys()].map(name => ({ name, result: resolve(name, []) }))
  const vars = Object.fromEntries(results.flatMap(({ name, result }) => (result.ok ? [[name, result.value]] : [])))
  const mistakes = results.flatMap(({ name, result }) => (result.ok ? [] : [{ name, why: result.why }]))
  return { environment: { ...vars, ...outer }, vars, mistakes }
}

/** Substitutes variables in every text of a value, at any depth; keys of objects are not changed. */
export function substitute(value: JsonValue, environment: Variables): Substituted<JsonValue> {
  const missing: string[] = []
  const filled = fillWithin(value, [], environment, (path, why) => {
    // For a list, only the mistake is reported and not the index, as everywhere.
    missing.push(path.length === 0 || Array.isArray(value) ? why : `${path.join('.')} ${why}`)
  })
  return missing.length === 0
    ? { ok: true, value: filled }
    : { ok: false, why: missing.slice(0, mostReported).join(', ') }
}

/** The names of the variables that a text refers to. */
export function variablesIn(template: string): readonly string[] {
  return [...template.matchAll(notation)].flatMap(([, name]) => name ?? [])
}

const mostReported = 5

function fillWithin(
  value: JsonValue,
  path: readonly string[],
  environment: Variables,
  missing: (path: readonly string[], why: string) => void,
): JsonValue {
  if (typeof value === 'string') {
    const filled = fillIn(value, name => variableIn(environment, name))
    if (filled.ok) return filled.value
    missing(path, filled.why)
    return value
  }
  if (typeof value !== 'object' || value === null) return value
  const within = Object.entries(value).map(
    ([name, inner]) => [name, fillWithin(inner, [...path, name], environment, missing)] as const,
  )
  return Array.isArray(value) ? within.map(([, inner]) => inner) : Object.fromEntries(within)
}

function variableIn(environment: Variables, name: string): Substituted<string> {
  const value = ownValue(environment, name)
  return value === undefined ? { ok: false, why: `names the variable ${name}, which is not set` } : { ok: true, value }
}

const notation = /\$\$\{|\$\{([^}]*)\}/g

/** `$${` stands for a literal `${`. */
function fillIn(template: string, lookup: (name: string) => Substituted<string>): Substituted<string> {
  let why: string | null = null
  const value = template.replace(notation, (_, name: string | undefined) => {
    if (name === undefined) return '${'
    const found = lookup(name)
    if (found.ok) return found.value
    why ??= found.why
    return ''
  })
  return why === null ? { ok: true, value } : { ok: false, why }
}

const ownValue = (variables: Variables, name: string): string | undefined =>
  Object.hasOwn(variables, name) ? variables[name] : undefined
