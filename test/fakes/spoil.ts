// Ways to corrupt the output of a program, for fast-check: each maps lines to other lines.
import fc from 'fast-check'

export type Change = (lines: readonly string[]) => readonly string[]

const at = fc.nat({ max: 100_000 })
const garbage = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.json(),
  fc.constantFrom('', '{', '{}', '[]', 'null', '{"type":null}', '{"type":"result"}', '\u0000'),
)
/** Replacement values; the last ones have a special meaning for objects. */
const value = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom<unknown>(null, '', 0, -1, true, [], {}, [[]], [null], { __proto__: null }, 1e308, 'text', 'error'),
)

/** Replaces one line. */
const inPlace = (where: number, change: (line: string) => readonly string[]): Change => {
  return lines => {
    const i = lines.length === 0 ? 0 : where % lines.length
    return [...lines.slice(0, i), ...(lines[i] === undefined ? [] : change(lines[i])), ...lines.slice(i + 1)]
  }
}

export const changes: fc.Arbitrary<Change> = fc.oneof(
  at.map(where => inPlace(where, () => [])),
  at.map(where => inPlace(where, line => [line, line])),
  fc.tuple(at, at).map(
    ([one, other]): Change =>
      lines =>
        swapped(lines, one, other),
  ),
  fc.tuple(at, at).map(([where, length]) => inPlace(where, line => [line.slice(0, length % (line.length + 1))])),
  fc
    .tuple(at, at, fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }))
    .map(([where, which, by]) => inPlace(where, line => [flipped(line, which % (line.length + 1), by)])),
  fc.tuple(at, garbage).map(([where, what]) => inPlace(where, line => [what, line])),
  {
    weight: 6,
    arbitrary: fc.tuple(at, at, value).map(([where, which, by]) => inPlace(where, line => [retyped(line, which, by)])),
  },
)

function swapped(lines: readonly string[], one: number, other: number): readonly string[] {
  const [i, k] = [one % (lines.length || 1), other % (lines.length || 1)]
  return lines.map((line, n) => (n === i ? lines[k] : n === k ? lines[i] : line) ?? line)
}

const flipped = (line: string, i: number, by: string) => line.slice(0, i) + by + line.slice(i + 1)

/** Replaces one value in a JSON line, at any depth. */
function retyped(line: string, which: number, by: unknown): string {
  let all: unknown
  try {
    all = JSON.parse(line)
  } catch {
    // Already corrupted.
    return line
  }
  const holders: [object, string][] = []
  const collect = (one: unknown): void => {
    if (typeof one !== 'object' || one === null) return
    for (const [key, below] of Object.entries(one)) {
      holders.push([one, key])
      collect(below)
    }
  }
  collect(all)
  const found = holders[which % (holders.length || 1)]
  if (!found) return JSON.stringify(by)
  Object.assign(found[0], { [found[1]]: by })
  return JSON.stringify(all)
}
