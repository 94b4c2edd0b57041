// Line-based diff and merge of texts.

/** Lines `from` to `to` (exclusive) of the old text become these lines. */
export interface Hunk {
  readonly from: number
  readonly to: number
  readonly lines: readonly string[]
}

export type Merged = { readonly ok: true; readonly text: string } | { readonly ok: false }

/** Texts that differ in more lines than this are treated as fully replaced. Bounds time and memory. */
const mostSteps = 1000
const context = 3

export const lineDiff = (before: string, after: string): readonly Hunk[] =>
  hunksBetween(before.split('\n'), after.split('\n'))

/**
 * Merges the changes to `base` from both sides. Adjacent changes are both kept, and of lines added at the same place those of `mine`
 * come first: otherwise files to which everybody appends would hardly ever merge.
 */
export function merge(base: string, mine: string, theirs: string): Merged {
  const lines = base.split('\n')
  const left = [...lineDiff(base, mine)]
  const right = [...lineDiff(base, theirs)]
  const merged: string[] = []
  let done = 0
  const apply = ({ from, to, lines: added }: Hunk) => {
    merged.push(...lines.slice(done, from), ...added)
    done = to
  }
  for (;;) {
    const [a] = left
    const [b] = right
    if (a && b && meet(a, b)) {
      const both = together(a, b)
      if (!both) return { ok: false }
      apply(both)
      left.shift()
      right.shift()
    } else if (a && (!b || isBefore(a, b))) apply(left.shift() ?? a)
    else if (b) apply(right.shift() ?? b)
    else break
  }
  return { ok: true, text: [...merged, ...lines.slice(done)].join('\n') }
}

/** As `diff -u` shows it, without file names. */
export function unified(before: string, after: string): string {
  // With their line ends, so that a missing final newline shows too.
  const old = linesWithEnds(before)
  const hunks = hunksBetween(old, linesWithEnds(after))
  const shown: string[] = []
  let shift = 0
  for (const group of groupsOf(hunks)) {
    const first = Math.max(0, (group[0]?.from ?? 0) - context)
    const last = Math.min(old.length, (group.at(-1)?.to ?? 0) + context)
    const grown = group.reduce((sum, { from, to, lines }) => sum + lines.length - (to - from), 0)
    const size = last - first
    shown.push(`@@ -${range(first, size)} +${range(first + shift, size + grown)} @@`)
    shift += grown
    let done = first
    for (const { from, to, lines } of group) {
      shown.push(...signed(' ', old.slice(done, from)), ...signed('-', old.slice(from, to)), ...signed('+', lines))
      done = to
    }
    shown.push(...signed(' ', old.slice(done, last)))
  }
  return shown.join('\n')
}

const linesWithEnds = (text: string): readonly string[] => (text === '' ? [] : text.split(/(?<=\n)/))

const signed = (sign: string, lines: readonly string[]): readonly string[] =>
  lines.map(line =>
    line.endsWith('\n') ? `${sign}${line.slice(0, -1)}` : `${sign}${line}\n\\ No newline at end of file`,
  )

/** Counted from 1; an empty range names the line before it. */
const range = (from: number, size: number): string =>
  size === 1 ? `${from + 1}` : `${size === 0 ? from : from + 1},${size}`

/** Hunks whose contexts would overlap are shown as one. */
function groupsOf(hunks: readonly Hunk[]): readonly (readonly Hunk[])[] {
  const groups: Hunk[][] = []
  for (const hunk of hunks) {
    const last = groups.at(-1)
    const end = last?.at(-1)?.to
    if (last && end !== undefined && hunk.from - end <= 2 * context) last.push(hunk)
    else groups.push([hunk])
  }
  return groups
}

const isInsertion = ({ from, to }: Hunk) => from === to

function meet(a: Hunk, b: Hunk): boolean {
  if (isInsertion(a) && isInsertion(b)) return a.from === b.from
  if (isInsertion(a)) return b.from < a.from && a.from < b.to
  if (isInsertion(b)) return a.from < b.from && b.from < a.to
  return Math.max(a.from, b.from) < Math.min(a.to, b.to)
}

const isBefore = (a: Hunk, b: Hunk) => a.from < b.from || (a.from === b.from && isInsertion(a))

/** Null: they conflict. */
function together(a: Hunk, b: Hunk): Hunk | null {
  const { from, to } = a
  if (from !== b.from || to !== b.to) return null
  const { start, end, endAfter } = difference(a.lines, b.lines)
  if (start === end && start === endAfter) return a
  // Lines that both sides added, such as a trailing empty line, are added once.
  return isInsertion(a) ? { from, to, lines: [...a.lines.slice(0, end), ...b.lines.slice(start)] } : null
}

/** Where two texts start to differ, and where each difference ends. */
function difference(before: readonly string[], after: readonly string[]) {
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

function hunksBetween(before: readonly string[], after: readonly string[]): readonly Hunk[] {
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
