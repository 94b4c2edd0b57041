// Text for a terminal.
import { expect, test } from 'vitest'
import { fakeTerminal } from '../../../test/fakes/terminal.ts'
import { aligned, columnAfter, cutTo, type OutputStream, paintFor, widthOf, withoutControls } from './terminal.ts'

const stream = (isTTY: boolean, colours: boolean): OutputStream =>
  Object.assign(fakeTerminal().stdout, { isTTY, hasColors: () => colours })

test('colours only on a terminal that wants them', () => {
  expect(paintFor(stream(true, true))('red', 'x')).toBe('\x1b[31mx\x1b[39m')
  expect(paintFor(stream(true, false))('red', 'x')).toBe('x')
  expect(paintFor(stream(false, true))('red', 'x')).toBe('x')
})

test('an answer cannot control the terminal', () => {
  expect(withoutControls('a\x1b[2Jb\x07\r\n\tc\u009b1md')).toBe('a[2Jb\n\tc1md')
})

test('a row is cut by cells, with an ellipsis', () => {
  expect(cutTo('short', 10)).toBe('short')
  expect(cutTo('several\nlines   here', 10)).toBe('several l…')
  expect(widthOf(cutTo('日本語日本語', 7))).toBeLessThanOrEqual(7)
})

test('columns are aligned', () => {
  expect(
    aligned([
      ['a', 'bb', 'c'],
      ['日本', '', 'd'],
    ]),
  ).toEqual(['a     bb  c', '日本      d'])
})

test('the column after a wrapped line counts wide characters that did not fit', () => {
  expect([columnAfter('abcd', 4), columnAfter('abcde', 4), columnAfter('abc日', 4), columnAfter('ab日', 4)]).toEqual([
    4, 1, 2, 4,
  ])
})
