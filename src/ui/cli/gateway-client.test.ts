// Tables on wide and narrow terminals and in a pipe.
import { expect, test } from 'vitest'
import { fakeTerminal } from '../../../test/fakes/terminal.ts'
import { table } from './gateway-client.ts'

const head = ['NAME', 'NEXT', 'ANSWERS TO']
const rows = [
  ['tea', 'tomorrow', 'webchat:home'],
  ['a job with quite a long name, and\nmore', 'never, because it is paused and will stay so', 'discord:123'],
]
const on = (columns: number, isTTY: boolean) => Object.assign(fakeTerminal({ stdout: isTTY }).stdout, { columns })

test('each row is one line if there is room, also in a pipe, which has no width', () => {
  const wide = table(head, rows, on(200, true))
  expect(wide).toEqual(table(head, rows, on(20, false)))
  expect(wide[1]).toMatch(/^tea +tomorrow +webchat:home$/)
  expect(wide).toHaveLength(3)
})

test('on a narrow terminal each row becomes a few lines, and nothing is lost', () => {
  expect(table(head, rows, on(60, true)).join('\n').split('\n')).toEqual([
    'tea',
    '  next        tomorrow',
    '  answers to  webchat:home',
    'a job with quite a long name, and more',
    '  next        never, because it is paused and will stay so',
    '  answers to  discord:123',
  ])
})
