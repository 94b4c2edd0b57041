// What was said while we were away: fetched page by page, oldest first, each message once.
import { compareIds, idAt, laterOf } from './snowflake.ts'

export const pageSize = 100

/** `page` gives the up to hundred messages that follow an id, in whatever order. */
export async function* missed<Found extends { readonly id: string }>(
  page: (after: string) => Promise<readonly Found[]>,
  after: string,
): AsyncGenerator<Found> {
  for (let last = after; ; ) {
    const found = await page(last)
    const byId = new Map(found.filter(({ id }) => compareIds(id, last) > 0).map(one => [one.id, one]))
    const inOrder = [...byId.values()].sort((a, b) => compareIds(a.id, b.id))
    yield* inOrder
    const newest = inOrder.at(-1)
    if (!newest || found.length < pageSize) return
    last = newest.id
  }
}

export interface Absence {
  /** The last message of the channel that was dealt with; null: none ever was. */
  readonly seen: string | null
  /** The latest of all messages ever dealt with; null: we were never here before. */
  readonly horizon: string | null
  /** The last message of the channel, where that is known. */
  readonly newest: string | null
  readonly now: number
  readonly maxAgeMs: number
}

/** After which message to look for what was missed; null: nothing was. */
export function missedSince({ seen, horizon, newest, now, maxAgeMs }: Absence): string | null {
  const left = seen ?? horizon
  if (left === null) return null
  const after = laterOf(left, idAt(now - maxAgeMs))
  return newest !== null && compareIds(newest, after) <= 0 ? null : after
}
