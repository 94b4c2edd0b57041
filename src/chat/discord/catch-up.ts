// Messages sent while the bot was offline: fetched page by page, oldest first, each message once.
import { compareIds, idAt, laterOf } from './message.ts'

export const pageSize = 100

/** `page` returns up to a hundred messages after an id, in any order. */
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
  /** The last handled message of the channel; null: none yet. */
  readonly seen: string | null
  /** The latest message handled anywhere; null: this is the first start. */
  readonly horizon: string | null
  /** The last message of the channel, if known. */
  readonly newest: string | null
  readonly now: number
  readonly maxAgeMs: number
}

/** The id after which to look for missed messages; null: nothing was missed. */
export function missedSince({ seen, horizon, newest, now, maxAgeMs }: Absence): string | null {
  const left = seen ?? horizon
  if (left === null) return null
  const after = laterOf(left, idAt(now - maxAgeMs))
  return newest !== null && compareIds(newest, after) <= 0 ? null : after
}
