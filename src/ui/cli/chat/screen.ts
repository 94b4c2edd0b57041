// A screen with a prompt at the bottom: messages scroll by above, and the running answer grows just above the prompt.
import type { Interface } from 'node:readline/promises'
import { cellsOf, type OutputStream, widthOf, withoutControls } from '../terminal.ts'

export interface Screen {
  /** Prints whole lines permanently. */
  print(text: string): void
  /** Prints text that continues where the last piece ended. */
  flow(text: string): void
  /** The row between the answer and the prompt. Empty for none. */
  status(row: string): void
  /** Removes the temporary rows while the reader is about to end its own line. */
  lift(): void
  /** Draws them again below the line just ended. */
  lower(): void
  /** Removes everything temporary, including the prompt. */
  close(): void
}

export function openScreen(reader: Interface, out: OutputStream): Screen {
  let rest = ''
  let row = ''
  /** Our temporary rows above the prompt. */
  let above = 0

  let closed = false

  const erase = (): string => {
    const up = reader.getCursorPos().rows + above
    return `\r${up > 0 ? `\x1b[${up}A` : ''}\x1b[J`
  }
  const redraw = (staying: readonly string[], living: readonly string[]): void => {
    if (closed) return
    const lines = [...staying, ...living].map(line => `${line}\n`).join('')
    // Before it draws, the reader moves up by the rows it drew last; after pasted text these differ from those of the cursor.
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

/** Wraps text into rows of at most `columns` cells, at spaces if possible. `rest` is the unfinished last row. */
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
