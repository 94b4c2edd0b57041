// Describes mistakes inside a structured value: which part is wrong, and why. Never shows the value, which may be a secret.
import type * as v from 'valibot'

type Issue = v.BaseIssue<unknown>

/** Null: the mistake is in the value as a whole, or in an item of a list. */
export function mistakesInside(issues: readonly Issue[]): string | null {
  const parts = issues.flatMap(({ path, ...issue }) =>
    path?.[0].type === 'object' ? [`${path.map(({ key }) => String(key)).join('.')} ${complaint(issue)}`] : [],
  )
  return parts.length === 0 ? null : parts.slice(0, 5).join(', ')
}

const kinds = new Map([
  ['string', 'text'],
  ['Array', 'a list'],
  ['Object', 'an object'],
])

function complaint({ expected, received }: Pick<Issue, 'expected' | 'received'>): string {
  if (expected === 'never') return 'is not known'
  if (received === 'undefined') return 'is missing'
  const kind = kinds.get(expected ?? '')
  return kind === undefined ? 'is not valid' : `must be ${kind}`
}
