// A screen with a prompt at its foot: what was said scrolls by above, the running answer grows just over the prompt.
import type { Interface } from 'node:readline/promises'
import { cellsOf, type OutputStream, widthOf, withoutControls } from '../terminal.ts'

export interface Screen {
  /** Whole lines, to stay. */
  print(text: string): void
  /** Text that goes on where the last piece ended. */
  flow(text: string): void
  /** The row between the answer and the prompt; empty: none. */
  status(row: string): void
  /** Takes away what is not to stay, while the reader is about to end its own line. */
  lift(): void
  /** Puts it back under the line just ended. */
  lower(): void
  /** The end: takes everything away that is not to stay, the prompt too. */
  close(): void
}

export function openScreen(reader: Interface, out: OutputStream): Screen {
  let rest = ''
  let row = ''
  /** Rows of ours between what stays and the prompt. */
  let above = 0

  let closed = false

  const erase = (): string => {
    const up = reader.getCursorPos().rows + above
    return `\r${up > 0 ? `\x1b[${up}A` : ''}\x1b[J`
  }
  const redraw = (staying: readonly string[], living: readonly string[]): void => {
    if (closed) return
    const lines = [...staying, ...living].map(line => `${line}\n`).join('')
    // Before it draws, the reader goes up by the rows it drew last; after pasted text these are not those of the cursor.
    const { prevRows = 0 }: Interface & { readonly prevRows?: number } = reader
    out.write(`${erase()}${lines}${'\n'.repeat(prevRows)}`)
    above = living.length
    reader.prompt(true)
  }
  const living = (): string[] => [rest, row].filter(line => line !== '')
  const columns = (): number => Math.max(20, out.columns || 80)

  return {
    print(text) {
      const lines = rest === '' ? [] : [rest]
      rest = ''
      redraw([...lines, ...text.split('\n')], living())
    },
    flow(text) {
      const folded = fold(rest + withoutControls(text).replaceAll('\t', '    '), columns() - 1)
      rest = folded.rest
      redraw(folded.rows, living())
    },
    status(next) {
      if (next === row) return
      row = next
      redraw([], living())
    },
    lift: () => redraw([], []),
    lower: () => redraw([], living()),
    close() {
      if (!closed) out.write(`${erase()}${rest === '' ? '' : `${rest}\n`}`)
      closed = true
    },
  }
}

/** Breaks text into rows of at most so many cells, at spaces where there are some; `rest` is the row still open. */
export function fold(text: string, columns: number): { readonly rows: readonly string[]; readonly rest: string } {
  const rows = text.split('\n').flatMap(line => foldLine(line, columns))
  return { rows: rows.slice(0, -1), rest: rows.at(-1) ?? '' }
}

function foldLine(line: string, columns: number): string[] {
  const pieces: string[] = []
  let piece = ''
  for (const char of line) {
    if (widthOf(piece) + cellsOf(char) > columns) {
      const space = char === ' ' ? piece.length : piece.lastIndexOf(' ')
      const breakable = space > 0 && piece.slice(0, space).trim() !== ''
      pieces.push(breakable ? piece.slice(0, space) : piece)
      piece = breakable ? piece.slice(space + 1) : ''
      if (char === ' ') continue
    }
    piece += char
  }
  return [...pieces, piece]
}
