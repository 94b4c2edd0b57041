// Slack's ids of messages: their time in seconds, with six decimals that make them unique in a channel.

export const isTimestamp = (text: string): boolean => /^\d{9,11}\.\d{6}$/.test(text)

export const timestampAt = (ms: number): string => (Math.max(0, ms) / 1000).toFixed(6)

/** Milliseconds since the epoch. */
export const timeOf = (ts: string): number => Math.round(Number(ts) * 1000)

export const compare = (a: string, b: string): number =>
  a.length === b.length ? (a < b ? -1 : a > b ? 1 : 0) : a.length - b.length

export const laterOf = (a: string, b: string): string => (compare(a, b) < 0 ? b : a)
export const earlierOf = (a: string, b: string): string => (compare(a, b) < 0 ? a : b)

/** That much earlier. */
export const before = (ts: string, ms: number): string => timestampAt(timeOf(ts) - ms)
