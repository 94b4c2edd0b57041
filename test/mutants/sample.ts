// The same order for the same seed, on every machine.

/** Shuffles by the seed. */
export function sample<Item>(items: readonly Item[], seed: string): Item[] {
  let state = 0
  for (const char of seed) state = (Math.imul(state, 31) + (char.codePointAt(0) ?? 0)) | 0
  // mulberry32
  const random = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
  const shuffled = [...items]
  for (let at = shuffled.length - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1))
    ;[shuffled[at], shuffled[other]] = [shuffled[other] as Item, shuffled[at] as Item]
  }
  return shuffled
}
