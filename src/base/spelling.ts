// Finds the known name that was probably meant.

/** The closest known name with at most `limit` typos. Case is ignored. */
export function nearest(name: string, known: Iterable<string>, limit: number): string | null {
  let best: string | null = null
  let fewest = limit + 1
  const lower = name.toLowerCase()
  for (const candidate of known) {
    const count = slips(lower, candidate.toLowerCase(), fewest - 1)
    if (count < fewest) {
      best = candidate
      fewest = count
    }
  }
  return best
}

/**
 * The number of characters omitted, added, changed or swapped with their neighbour between two words; Infinity if more than
 * `limit`. Checks only a band of the matrix, because every variable is compared with every option at the start.
 */
export function slips(from: string, to: string, limit: number): number {
  if (Math.abs(from.length - to.length) > limit) return Infinity
  let beforeLast: number[] = []
  let last = Array.from({ length: Math.min(to.length, limit) + 1 }, (_, column) => column)
  for (let row = 1; row <= from.length; row += 1) {
    const now = row <= limit ? [row] : []
    for (let column = Math.max(1, row - limit); column <= Math.min(to.length, row + limit); column += 1) {
      const same = from[row - 1] === to[column - 1]
      const swapped = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
      now[column] = Math.min(
        at(last, column) + 1,
        at(now, column - 1) + 1,
        at(last, column - 1) + (same ? 0 : 1),
        swapped ? at(beforeLast, column - 2) + 1 : Infinity,
      )
    }
    if (least(now) > limit) return Infinity
    beforeLast = last
    last = now
  }
  const count = at(last, to.length)
  return count <= limit ? count : Infinity
}

const at = (row: readonly number[], column: number): number => row[column] ?? Infinity

// A row has holes outside the band.
const least = (row: readonly number[]): number => row.reduce((low, count) => Math.min(low, count), Infinity)
