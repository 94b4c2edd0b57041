// Line-based diff and merge of texts.
import { context, difference, groupsOf, type Hunk, hunksBetween } from '../base/line-diff.ts'

export type Merged = { readonly ok: true; readonly text: string } | { readonly ok: false }

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
