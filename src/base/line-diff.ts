// Which lines differ between two texts.

/** Lines `from` to `to` (exclusive) of the old text become these lines. */
export interface Hunk {
  readonly from: number
  readonly to: number
  readonly lines: readonly string[]
}

/** Texts that differ in more lines than this are treated as fully replaced. Bounds time and memory. */
const mostSteps = 1000
/** Lines of unchanged text that are shown around a change. */
export const context = 3

export function hunksBetween(before: readonly string[], after: readonly string[]): readonly Hunk[] {
  const { start, end, endAfter } = difference(before, after)
  if (start === end && start === endAfter) return []
  const kept = start === end || start === endAfter ? [] : common(before.slice(start, end), after.slice(start, endAfter))
  const hunks: Hunk[] = []
  let x = start
  let y = start
  for (const [keptX, keptY] of [...kept.map(([a, b]) => [a + start, b + start] as const), [end, endAfter] as const]) {
    if (keptX > x || keptY > y) hunks.push({ from: x, to: keptX, lines: after.slice(y, keptY) })
    x = keptX + 1
    y = keptY + 1
  }
  return hunks
}

/** Hunks whose contexts would overlap are shown as one. */
export function groupsOf(hunks: readonly Hunk[]): readonly (readonly Hunk[])[] {
  const groups: Hunk[][] = []
  for (const hunk of hunks) {
    const last = groups.at(-1)
    const end = last?.at(-1)?.to
    if (last && end !== undefined && hunk.from - end <= 2 * context) last.push(hunk)
    else groups.push([hunk])
  }
  return groups
}

/** Where two texts start to differ, and where each difference ends. */
export function difference(before: readonly string[], after: readonly string[]) {
  let start = 0
  let end = before.length
  let endAfter = after.length
  while (start < end && start < endAfter && before[start] === after[start]) start++
  while (end > start && endAfter > start && before[end - 1] === after[endAfter - 1]) {
    end--
    endAfter--
  }
  return { start, end, endAfter }
}

/** Myers' algorithm: pairs of equal lines, in order. None if the distance is too long. */
function common(a: readonly string[], b: readonly string[]): readonly (readonly [number, number])[] {
  const furthest = new Int32Array(2 * mostSteps + 3)
  const middle = mostSteps + 1
  const steps: Int32Array[] = []
  const reach = (k: number): number => furthest[middle + k] ?? 0
  for (let step = 0; step <= mostSteps; step++) {
    // Only what the way back needs.
    steps.push(furthest.slice(middle - step - 1, middle + step + 2))
    for (let k = -step; k <= step; k += 2) {
      let x = k === -step || (k !== step && reach(k - 1) < reach(k + 1)) ? reach(k + 1) : reach(k - 1) + 1
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++
      furthest[middle + k] = x
      if (x >= a.length && x - k >= b.length) return wayBack(steps, a.length, b.length)
    }
  }
  return []
}

function wayBack(steps: readonly Int32Array[], endX: number, endY: number): readonly (readonly [number, number])[] {
  const pairs: (readonly [number, number])[] = []
  let x = endX
  let y = endY
  for (let step = steps.length - 1; step >= 0; step--) {
    const before = steps[step] ?? new Int32Array()
    const reach = (k: number): number => before[k + step + 1] ?? 0
    const k = x - y
    const from = k === -step || (k !== step && reach(k - 1) < reach(k + 1)) ? k + 1 : k - 1
    const fromX = step === 0 ? 0 : reach(from)
    const fromY = step === 0 ? 0 : fromX - from
    while (x > fromX && y > fromY) pairs.push([--x, --y])
    x = fromX
    y = fromY
  }
  return pairs.reverse()
}
