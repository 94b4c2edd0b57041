// The progress row, shared by one-shot questions and the session.
import { columnAfter, cutTo, type OutputStream, paintFor } from '../terminal.ts'

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']

export function progressRow(tick: number, elapsedMs: number, what: string, columns: number): string {
  const seconds = Math.floor(elapsedMs / 1_000)
  return cutTo(`${frames[tick % frames.length]} ${seconds} s · ${what}`, columns - 1)
}

export interface ProgressLine {
  show(what: string): void
  /** Removes the row so that text can be printed; it returns with the next tick. */
  hide(): void
  close(): void
}

const quiet: ProgressLine = { show: () => {}, hide: () => {}, close: () => {} }

/**
 * A row that is redrawn on a terminal, and nothing elsewhere. `openLine` is the printed line the cursor is in: unless it
 * is empty, the row is drawn below it, and the cursor moves back.
 */
export function openProgress(stream: OutputStream, now: () => number, openLine: () => string): ProgressLine {
  if (stream.isTTY !== true) return quiet
  const paint = paintFor(stream)
  const began = now()
  let tick = 0
  let what = 'connecting'
  let drawn: 'in place' | 'below' | null = null

  const hide = (): void => {
    if (drawn !== null) stream.write(drawn === 'below' ? '\r\x1b[K\x1b8' : '\r\x1b[K')
    drawn = null
  }
  const draw = (): void => {
    const columns = stream.columns || 80
    const row = paint('dim', progressRow(tick++, now() - began, what, columns))
    const line = openLine()
    hide()
    // At the right margin, a saved cursor position does not include that the next character belongs on the next row.
    if (line !== '' && columnAfter(line, columns) === columns) return
    // Index and up again: makes sure there is a row below before the cursor position is saved.
    stream.write(line === '' ? `\r${row}` : `\x1bD\x1b[A\x1b7\r\n${row}`)
    drawn = line === '' ? 'in place' : 'below'
  }
  const ticking = setInterval(draw, 120)
  return {
    show(next) {
      what = next
      draw()
    },
    hide,
    close() {
      clearInterval(ticking)
      hide()
    },
  }
}
