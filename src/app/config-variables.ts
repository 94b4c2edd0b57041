// Variables in config.json: `env.vars` becomes environment, `${NAME}` becomes the variable's value.
import type { JsonValue } from './config-json.ts'
import type { Variables } from './config-sources.ts'

export type Substituted<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly why: string }

export interface ResolvedVariables {
  /** The environment with `env.vars` underneath. */
  readonly environment: Variables
  /** What `env.vars` names, with the values that count: those of the real environment win. */
  readonly vars: Variables
  readonly mistakes: readonly { readonly name: string; readonly why: string }[]
}

/** Values of `env.vars` may themselves name variables, also each other, in any order; but not in a circle. */
export function resolveVariables(written: ReadonlyMap<string, string>, outer: Variables): ResolvedVariables {
  const resolved = new Map<string, Substituted<string>>()

  function resolve(name: string, trail: readonly string[]): Substituted<string> {
    const known = resolved.get(name)
    if (known !== undefined) return known
    const outside = ownValue(outer, name)
    if (outside !== undefined) return { ok: true, value: outside }
    const template = written.get(name)
    if (template === undefined) return { ok: false, why: `names the variable ${name}, which is not set` }
    if (trail.includes(name)) return { ok: false, why: `goes round in a circle: ${[...trail, name].join(', ')}` }
    const result = fillIn(template, inner => resolve(inner, [...trail, name]))
    resolved.set(name, result)
    return result
  }

  const results = [...written.keys()].map(name => ({ name, result: resolve(name, []) }))
  const vars = Object.fromEntries(results.flatMap(({ name, result }) => (result.ok ? [[name, result.value]] : [])))
  const mistakes = results.flatMap(({ name, result }) => (result.ok ? [] : [{ name, why: result.why }]))
  return { environment: { ...vars, ...outer }, vars, mistakes }
}

/** Fills in the variables of every text inside a value. */
export function substitute(value: JsonValue, environment: Variables): Substituted<JsonValue> {
  if (typeof value === 'string') {
    return fillIn(value, name => {
      const found = ownValue(environment, name)
      return found === undefined
        ? { ok: false, why: `names the variable ${name}, which is not set` }
        : { ok: true, value: found }
    })
  }
  if (!Array.isArray(value)) return { ok: true, value }
  const items: JsonValue[] = []
  for (const item of value) {
    const result = substitute(item, environment)
    if (!result.ok) return result
    items.push(result.value)
  }
  return { ok: true, value: items }
}

/** `$${` stands for a `${` that means itself. */
function fillIn(template: string, lookup: (name: string) => Substituted<string>): Substituted<string> {
  let why: string | null = null
  const value = template.replace(/\$\$\{|\$\{([^}]*)\}/g, (_, name: string | undefined) => {
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
