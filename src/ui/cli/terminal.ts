// The terminal as commands see it: three streams, Ctrl-C and a clock, passed in so that tests can replace them.
import { styleText } from 'node:util'

export interface OutputStream extends NodeJS.WritableStream {
  readonly isTTY?: boolean
  readonly columns?: number
  hasColors?(): boolean
}

export interface Terminal {
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean }
  readonly stdout: OutputStream
  readonly stderr: OutputStream
  /** Calls the listener on each Ctrl-C until the returned function is called. */
  onInterrupt(listener: () => void): () => void
  /** Milliseconds from any origin; only differences are used. */
  now(): number
  /** The user's time zone, such as `Europe/Berlin`. */
  zone(): string
}

type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'
export type Paint = (style: Style, text: string) => string

/** Colours only on a terminal that wants them: `hasColors` respects NO_COLOR. */
export function paintFor(stream: OutputStream): Paint {
  const coloured = stream.isTTY === true && stream.hasColors?.() === true
  return (style, text) => (coloured ? styleText(style, text, { validateStream: false }) : text)
}

/** Text from an agent must not control the terminal: removes control characters, except line ends and tabs. */
export const withoutControls = (text: string): string => text.replace(/[^\P{Cc}\n\t]/gu, '')

/** The cells a text takes on one row. Overestimates if unsure: an overlong row would wrap and break a redraw. */
export function widthOf(text: string): number {
  let cells = 0
  for (const char of text) cells += cellsOf(char)
  return cells
}

const wide =
  /\p{Extended_Pictographic}|\p{Regional_Indicator}|[\u1100-\u115f\u2e80-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f000}-\u{1faff}\u{20000}-\u{3fffd}]/u

export function cellsOf(char: string): number {
  const code = char.codePointAt(0) ?? 0
  if (code < 0x300) return code < 0x20 ? 0 : 1
  if (/\p{Mn}|\p{Me}|\p{Cf}/u.test(char)) return 0
  return wide.test(char) ? 2 : 1
}

/** The cursor's column after a line that wraps; `columns` itself is the right margin, before the wrap. */
export function columnAfter(line: string, columns: number): number {
  let column = 0
  for (const char of line) {
    const cells = char === '\t' ? 8 - (column % 8) : cellsOf(char)
    column = column + cells > columns ? cells : column + cells
  }
  return column
}

/** The text on one row of at most `columns` cells, with an ellipsis if it was cut. */
export function cutTo(text: string, columns: number): string {
  const row = withoutControls(text).replace(/\s+/g, ' ').trim()
  if (widthOf(row) <= columns) return row
  let kept = ''
  let cells = 1
  for (const char of row) {
    cells += cellsOf(char)
    if (cells > columns) break
    kept += char
  }
  return `${kept.trimEnd()}…`
}

/** Pads all columns but the last. */
export function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = []
  for (const row of rows) for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, widthOf(cell))
  return rows.map(row =>
    row
      .map((cell, i) => (i === row.length - 1 ? cell : cell + ' '.repeat((widths[i] ?? 0) - widthOf(cell))))
      .join('  ')
      .trimEnd(),
  )
}
