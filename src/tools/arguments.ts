// Checks the arguments that a model wrote against the fields of a tool, and words errors so that the model can correct them.
import type { ToolArguments, ToolField } from '../base/tools.ts'

type Takes = Readonly<Record<string, ToolField>>
type Value = NonNullable<ToolArguments[string]>
type Read = { readonly ok: true; readonly value: Value } | { readonly ok: false; readonly wanted: string }

export type Checked = { readonly ok: true; readonly args: ToolArguments } | { readonly ok: false; readonly why: string }

/** Null counts as missing: many models fill in all fields. */
export function checkArguments(takes: Takes, given: unknown): Checked {
  if (typeof (given ?? {}) !== 'object' || Array.isArray(given))
    return { ok: false, why: 'the arguments must be a JSON object.' }
  const all = Object.entries(given ?? {}).filter(([, value]) => value !== null && value !== undefined)
  const args: Record<string, Value> = {}
  const wrong: string[] = []
  for (const [name, value] of all) {
    const field = Object.hasOwn(takes, name) ? takes[name] : undefined
    if (!field) {
      wrong.push(`it takes no ${JSON.stringify(name.slice(0, 40))}`)
      continue
    }
    const read = readField(field, value)
    if (read.ok) args[name] = read.value
    else wrong.push(`"${name}" must be ${read.wanted}`)
  }
  for (const [name, { required, about }] of Object.entries(takes))
    if (required && !all.some(([given]) => given === name))
      wrong.push(`"${name}" is missing${about ? ` (${about})` : ''}`)
  if (wrong.length === 0) return { ok: true, args }
  return { ok: false, why: `${wrong.slice(0, 8).join('; ')}. It takes ${inWords(takes)}.` }
}

/** Also accepts numbers and booleans as strings, which models mix up. */
function readField(field: ToolField, value: unknown): Read {
  switch (field.type) {
    case 'string':
      if (typeof value !== 'string' || (field.required && value.trim() === '')) return no('a non-empty text')
      if (field.oneOf && !field.oneOf.includes(value)) return no(`one of ${field.oneOf.join(', ')}`)
      return yes(value)
    case 'integer': {
      const number = typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value
      return Number.isSafeInteger(number) ? yes(number as number) : no('a whole number')
    }
    case 'boolean':
      if (value === 'true' || value === 'false') return yes(value === 'true')
      return typeof value === 'boolean' ? yes(value) : no('true or false')
    case 'strings': {
      const list = typeof value === 'string' ? [value] : value
      const texts = Array.isArray(list) && list.every(one => typeof one === 'string')
      return texts ? yes(list as string[]) : no('a list of texts')
    }
    default:
      return field.type satisfies never
  }
}

const yes = (value: Value): Read => ({ ok: true, value })
const no = (wanted: string): Read => ({ ok: false, wanted })

function inWords(takes: Takes): string {
  const fields = Object.entries(takes)
  if (fields.length === 0) return 'nothing'
  return fields.map(([name, { required }]) => (required ? name : `${name}?`)).join(', ')
}
