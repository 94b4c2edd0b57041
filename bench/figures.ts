// A figure, how it is computed, and the table it is printed in.

export interface Figure {
  readonly name: string
  readonly value: string
  /** What it is compared with, measured in the same run. */
  readonly baseline: string
  readonly budget: string
  /** Null: there is no budget; the figure is only informative. */
  readonly ok: boolean | null
}

export function percentile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

export const median = (samples: readonly number[]) => percentile(samples, 0.5)

export const ms = (value: number) => `${value < 100 ? value.toFixed(1) : Math.round(value)} ms`
export const times = (value: number) => `${value.toFixed(2)}×`
export const whole = (value: number) => Math.round(value).toLocaleString('en-US')

/** The median, and the range of the middle 80 %. A wide range means that the machine was busy. */
export const spread = (samples: readonly number[]) =>
  `${ms(median(samples))} (${ms(percentile(samples, 0.1))} to ${ms(percentile(samples, 0.9))})`

const headings = ['figure', 'measured', 'baseline', 'budget', 'kept'] as const

export const markdownTable = (figures: readonly Figure[]) =>
  table(
    headings,
    figures.map(({ name, value, baseline, budget, ok }) => [name, value, baseline, budget, verdict(ok)]),
  )

export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = headings.map((heading, i) => Math.max(heading.length, ...rows.map(row => row[i]?.length ?? 0)))
  const line = (cells: readonly string[]) => `| ${cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`
  return [line(headings), line(widths.map(width => '-'.repeat(width))), ...rows.map(line)].join('\n')
}

export const verdict = (ok: boolean | null) => (ok === null ? '' : ok ? 'yes' : 'NO')
