// How far we have got in a row of numbered events that are dealt with side by side.

export interface Progress {
  began(number: number): void
  ended(number: number): void
  /** Everything up to here has been dealt with. */
  reached(): number
}

export function openProgress(from: number): Progress {
  const open = new Set<number>()
  let highest = from
  return {
    began(number) {
      open.add(number)
      highest = Math.max(highest, number)
    },
    ended: number => void open.delete(number),
    reached: () => (open.size === 0 ? highest : Math.min(highest, ...open) - 1),
  }
}
