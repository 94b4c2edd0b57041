// Fills payload fields into an instruction. Strangers may send them, so they are inserted as data that cannot act as text.
import { excerpt } from '../base/scrub.ts'

const field = /\{\{\s*payload((?:\.[\p{L}\p{N}_-]{1,100}){1,20})\s*\}\}/gu
const longest = 200

/**
 * `{{payload.path.to.field}}` becomes the value in double quotes: on one line, at most 200 characters, without quotes,
 * brackets or anything that cannot be seen. `{{payload}}` stays: the whole payload has its own place in the prompt.
 */
export function fillTemplate(instruction: string, payload: string): string {
  let root: { readonly value: unknown } | null = null
  return instruction.replace(field, (_, path: string) => {
    root ??= { value: parsed(payload) }
    return shown(valueAt(root.value, path.slice(1).split('.')))
  })
}

function parsed(payload: string): unknown {
  try {
    return JSON.parse(payload)
  } catch {
    return undefined // Not JSON: it has no fields.
  }
}

/** Own properties only: `constructor` and `__proto__` are names like any other. */
function valueAt(root: unknown, path: readonly string[]): unknown {
  let value = root
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as Readonly<Record<string, unknown>>)[name]
  }
  return value
}

function shown(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return `"${harmless(value)}"`
    case 'number':
    case 'boolean':
      return String(value)
    default:
      if (value === undefined) return '(not in the payload)'
      if (value === null) return '(null)'
      return Array.isArray(value) ? `(a list of ${value.length})` : '(an object)'
  }
}

const quotes = /["\u201c-\u201f\u00ab\u00bb\uff02`]/g

function harmless(text: string): string {
  const visible = text
    .slice(0, 8 * longest)
    .toWellFormed()
    .replace(/[\p{Z}\p{C}]+/gu, ' ')
    .replace(/\p{Ps}/gu, '(')
    .replace(/\p{Pe}/gu, ')')
    .replace(/[<>]/g, '-')
    .replace(quotes, "'")
  return excerpt(visible, longest)
}
