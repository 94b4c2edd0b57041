// Merges records that two sides have edited since they last agreed, without losing either side's change.

import { createHash } from 'node:crypto'
import { isDeepStrictEqual as same } from 'node:util'
import { isObject } from '../base/unknown.ts'

/** By id, in file order; the values as they are in the file. */
export type Entries = ReadonlyMap<string, unknown>

/** A field that both sides changed at the same time, and the value that was dropped. */
export interface Clash {
  readonly id: string
  readonly field: string
  readonly lost: unknown
}

/** A record without an id, or with a duplicate one, gets an id that is the same each time the file is read. */
export function byId(list: readonly unknown[]): Map<string, unknown> {
  const found = new Map<string, unknown>()
  for (const raw of list) {
    const own = isObject(raw) && (typeof raw.id === 'number' || typeof raw.id === 'string') ? String(raw.id) : ''
    const wanted = own || createHash('sha256').update(JSON.stringify(raw)).digest('hex').slice(0, 12)
    let id = wanted
    for (let n = 2; found.has(id); n++) id = `${wanted}-${n}`
    found.set(id, isObject(raw) && own !== id ? { ...raw, id } : raw)
  }
  return found
}

/**
 * A record that one side changed is taken from that side. One that both changed is merged field by field; of a field that both changed,
 * the side with the newer `updatedAt` wins, else theirs, and `clashed` gets the other value. Removed here and unchanged there: removed.
 * Removed here and changed there: kept.
 */
export function merge(
  base: Entries,
  mine: Entries,
  theirs: Entries,
  clashed: (clash: Clash) => void = () => undefined,
): Map<string, unknown> {
  const merged = new Map<string, unknown>()
  for (const [id, their] of theirs) {
    if (mine.has(id)) {
      const lost = (field: string, value: unknown) => clashed({ id, field, lost: value })
      merged.set(id, mergeOne(base.get(id), mine.get(id), their, lost))
    } else if (!base.has(id) || !same(base.get(id), their)) merged.set(id, their)
  }
  for (const [id, my] of mine) {
    if (!theirs.has(id) && (!base.has(id) || !same(base.get(id), my))) merged.set(id, my)
  }
  return merged
}

function mergeOne(
  base: unknown,
  mine: unknown,
  theirs: unknown,
  clashed: (field: string, lost: unknown) => void,
): unknown {
  if (same(mine, base) || !isObject(mine) || !isObject(theirs)) return theirs
  if (same(theirs, base)) return mine
  const before = isObject(base) ? base : {}
  const mineCounts = timeOf(mine) > timeOf(theirs)
  const pick = (field: string): unknown => {
    const [was, my, their] = [before[field], mine[field], theirs[field]]
    if (same(my, was)) return their
    if (same(their, was)) return my
    if (field !== 'updatedAt' && !same(my, their)) clashed(field, mineCounts ? their : my)
    return mineCounts ? my : their
  }
  const fields = [...new Set([...Object.keys(theirs), ...Object.keys(mine)])]
  return Object.fromEntries(fields.map(field => [field, pick(field)]).filter(([, value]) => value !== undefined))
}

const timeOf = ({ updatedAt }: Readonly<Record<string, unknown>>): number =>
  (typeof updatedAt === 'string' && Date.parse(updatedAt)) || 0
