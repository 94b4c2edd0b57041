// The progress row.
import { expect, test } from 'vitest'
import { fakeTerminal } from '../../../../test/fakes/terminal.ts'
import { openProgress, progressRow } from './progress.ts'

const drawn = (openLine: string): string => {
  const terminal = fakeTerminal({ stderr: true })
  const progress = openProgress(
    terminal.stderr,
    () => 0,
    () => openLine,
  )
  progress.show('Read notes.md')
  progress.close()
  return terminal.err()
}

test('at the start of a line it is drawn in place and erased again', () => {
  expect(drawn('')).toBe('\r⠋ 0 s · Read notes.md\r\x1b[K')
})

test('while a line is being written it is drawn below it, and the cursor moves back', () => {
  expect(drawn('half a line')).toBe('\x1bD\x1b[A\x1b7\r\n⠋ 0 s · Read notes.md\r\x1b[K\x1b8')
})

test('with the cursor at the right margin it is not drawn: the next character would be misplaced', () => {
  expect(drawn('x'.repeat(160))).toBe('')
})

test('without a terminal there is none', () => {
  const terminal = fakeTerminal()
  openProgress(
    terminal.stderr,
    () => 0,
    () => '',
  ).show('anything')
  expect(terminal.err()).toBe('')
})

test('it fits on one row', () => {
  expect(progressRow(11, 61_500, `Bash ${'x'.repeat(100)}\nsecond`, 20)).toBe('⠙ 61 s · Bash xxxx…')
})
