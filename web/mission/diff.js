// Line diffs: computing, showing and merging them.

/** Texts that differ in more lines than this count as completely replaced; bounds time and memory. */
const mostSteps = 1000
const context = 3

/**
 * @typedef {{ from: number, to: number, lines: string[] }} Hunk lines `from` (inclusive) to `to` (exclusive) become these
 * @param {string} before @param {string} after @returns {Hunk[]}
 */
export const lineDiff = (before, after) => hunksBetween(before.split('\n'), after.split('\n'))

/** @param {string} text @param {Hunk[]} hunks */
export const applied = (text, hunks) => {
  const lines = text.split('\n')
  const parts = []
  let done = 0
  for (const { from, to, lines: added } of hunks) {
    parts.push(...lines.slice(done, from), ...added)
    done = to
  }
  return [...parts, ...lines.slice(done)].join('\n')
}

/**
 * Three-way merge; null: both sides changed the same lines. If both added lines at the same place, all are kept, mine first,
 * because several writers append to some of the files.
 * @returns {string | null}
 */
export const merged = (base, mine, theirs) => {
  const left = lineDiff(base, mine)
  const right = lineDiff(base, theirs)
  const hunks = []
  while (left.length > 0 || right.length > 0) {
    const [a] = left
    const [b] = right
    if (a && b && meet(a, b)) {
      const both = together(a, b)
      if (both === null) return null
      hunks.push(both)
      left.shift()
      right.shift()
    } else if (a && (!b || isBefore(a, b))) hunks.push(left.shift())
    else hunks.push(right.shift())
  }
  return applied(base, hunks)
}

/** A unified diff, as `diff -u` prints it, without the file names. */
export const unified = (before, after) => {
  // Lines include their line breaks, so that a missing one at the end of the file shows too.
  const old = linesWithEnds(before)
  const shown = []
  let shift = 0
  for (const group of groupsOf(hunksBetween(old, linesWithEnds(after)))) {
    const first = Math.max(0, group[0].from - context)
    const last = Math.min(old.length, group.at(-1).to + context)
    const grown = group.reduce((sum, { from, to, lines }) => sum + lines.length - (to - from), 0)
    shown.push(`@@ -${range(first, last - first)} +${range(first + shift, last - first + grown)} @@`)
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

const linesWithEnds = text => (text === '' ? [] : text.split(/(?<=\n)/))
const signed = (sign, lines) =>
  lines.map(line =>
    line.endsWith('\n') ? `${sign}${line.slice(0, -1)}` : `${sign}${line}\n\\ No newline at end of file`,
  )
/** Line numbers start at 1; an empty range names the line before it. */
const range = (from, size) => (size === 1 ? `${from + 1}` : `${size === 0 ? from : from + 1},${size}`)

/** Hunks whose context lines would overlap are shown together. */
const groupsOf = hunks => {
  const groups = []
  for (const hunk of hunks) {
    const last = groups.at(-1)
    if (last && hunk.from - last.at(-1).to <= 2 * context) last.push(hunk)
    else groups.push([hunk])
  }
  return groups
}

const isInsertion = ({ from, to }) => from === to
const isBefore = (a, b) => a.from < b.from || (a.from === b.from && isInsertion(a))

const meet = (a, b) => {
  if (isInsertion(a) && isInsertion(b)) return a.from === b.from
  if (isInsertion(a)) return b.from < a.from && a.from < b.to
  if (isInsertion(b)) return a.from < b.from && b.from < a.to
  return Math.max(a.from, b.from) < Math.min(a.to, b.to)
}

const together = (a, b) => {
  const { from, to } = a
  if (from !== b.from || to !== b.to) return null
  const { start, end, endAfter } = difference(a.lines, b.lines)
  if (start === end && start === endAfter) return a
  // Lines that both sides added, such as a trailing empty line, are added once.
  return isInsertion(a) ? { from, to, lines: [...a.lines.slice(0, end), ...b.lines.slice(start)] } : null
}

/** Where two lists start to differ, and where the difference ends in each of them. */
const difference = (before, after) => {
  let start = 0
  let end = before.length
  let endAfter = after.length
  while (start < end && start < endAfter && before[start] === after[start]) start += 1
  while (end > start && endAfter > start && before[end - 1] === after[endAfter - 1]) {
    end -= 1
    endAfter -= 1
  }
  return { start, end, endAfter }
}

const hunksBetween = (before, after) => {
  const { start, end, endAfter } = difference(before, after)
  if (start === end && start === endAfter) return []
  const kept = start === end || start === endAfter ? [] : common(before.slice(start, end), after.slice(start, endAfter))
  const hunks = []
  let x = start
  let y = start
  for (const [keptX, keptY] of [...kept.map(([a, b]) => [a + start, b + start]), [end, endAfter]]) {
    if (keptX > x || keptY > y) hunks.push({ from: x, to: keptX, lines: after.slice(y, keptY) })
    x = keptX + 1
    y = keptY + 1
  }
  return hunks
}

/** Myers' algorithm: the pairs of common lines, in order. Empty if the edit script is too long. */
const common = (a, b) => {
  const furthest = new Int32Array(2 * mostSteps + 3)
  const middle = mostSteps + 1
  const steps = []
  for (let step = 0; step <= mostSteps; step += 1) {
    // Only the part that the backtracking needs.
    steps.push(furthest.slice(middle - step - 1, middle + step + 2))
    for (let k = -step; k <= step; k += 2) {
      const [left, right] = [furthest[middle + k - 1], furthest[middle + k + 1]]
      let x = k === -step || (k !== step && left < right) ? right : left + 1
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x += 1
      furthest[middle + k] = x
      if (x >= a.length && x - k >= b.length) return backtrack(steps, a.length, b.length)
    }
  }
  return []
}

const backtrack = (steps, endX, endY) => {
  const pairs = []
  let x = endX
  let y = endY
  for (let step = steps.length - 1; step >= 0; step -= 1) {
    const reach = k => steps[step][k + step + 1]
    const k = x - y
    const from = k === -step || (k !== step && reach(k - 1) < reach(k + 1)) ? k + 1 : k - 1
    const fromX = step === 0 ? 0 : reach(from)
    const fromY = step === 0 ? 0 : fromX - from
    while (x > fromX && y > fromY) {
      x -= 1
      y -= 1
      pairs.push([x, y])
    }
    x = fromX
    y = fromY
  }
  return pairs.reverse()
}
