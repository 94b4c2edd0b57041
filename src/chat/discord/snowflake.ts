// Discord's ids: they contain their creation time, and later ones are greater.

const epoch = 1_420_070_400_000

/** The smallest possible id of this time. */
export const idAt = (ms: number): string => (BigInt(Math.max(0, Math.floor(ms) - epoch)) << 22n).toString()

export const madeAt = (id: string): number => Number(BigInt(id) >> 22n) + epoch

export const isId = (text: string): boolean => /^\d{1,20}$/.test(text)

/** Compares as numbers: an id with more digits is later. */
export const compareIds = (a: string, b: string): number =>
  a.length === b.length ? (a < b ? -1 : a > b ? 1 : 0) : a.length - b.length

export const laterOf = (a: string, b: string): string => (compareIds(a, b) < 0 ? b : a)

/** Which of several connections receives the events of a guild. */
export const shardOf = (guild: string, shards: number): number => Number((BigInt(guild) >> 22n) % BigInt(shards))

/** The id just below. */
export const before = (id: string): string => String(BigInt(id) - 1n)
