// The task board in Mission Control: a card is where it was dropped, whatever the `order` values were before.
import { resolve } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type BoardTask, taskStates } from '../../src/base/records.ts'

interface Board {
  columnOf(tasks: readonly BoardTask[], status: string): BoardTask[]
  placing(
    tasks: readonly BoardTask[],
    task: BoardTask,
    status: string,
    index: number,
    now: number,
  ): { id: string; change: Partial<BoardTask> }[]
}
const board = (await import(resolve(import.meta.dirname, '../../web/mission/board.js'))) as Board

const now = Date.UTC(2026, 10, 16, 12)
const task = fc.record({
  status: fc.constantFrom(...taskStates),
  // The difficult cases: equal values, adjacent numbers with none in between, and no values at all.
  order: fc.oneof(
    fc.constant(null),
    fc.constantFrom(0, 1, 1 + Number.EPSILON, now),
    fc.double({ noNaN: true, min: -1e15, max: 1e15 }),
  ),
  createdAt: fc.constantFrom('', 'nonsense', '2026-11-16T09:00:00.000Z', '2026-11-16T09:00:00.001Z'),
})
const moves = fc.array(fc.record({ which: fc.nat(20), to: fc.constantFrom(...taskStates), index: fc.nat(20) }), {
  minLength: 1,
  maxLength: 40,
})

test('a card is where it was dropped, and the others keep their order', () => {
  fc.assert(
    fc.property(fc.array(task, { minLength: 1, maxLength: 8 }), moves, (made, moved) => {
      let tasks: BoardTask[] = made.map((one, n) => ({
        ...one,
        ...{ id: `t${n}`, title: 'x', notes: '', due: '', updatedAt: '' },
      }))
      const ids = (status: string) => board.columnOf(tasks, status).map(({ id }) => id)
      for (const { which, to, index } of moved) {
        const one = tasks[which % tasks.length]!
        const without = (status: string) => ids(status).filter(id => id !== one.id)
        const before = taskStates.map(without)
        const place = Math.min(index, without(to).length)
        const changes = new Map(board.placing(tasks, one, to, place, now).map(({ id, change }) => [id, change]))
        tasks = tasks.map(old => ({ ...old, ...changes.get(old.id) }))
        expect(ids(to).indexOf(one.id)).toBe(place)
        expect(taskStates.map(without)).toEqual(before)
      }
    }),
    { numRuns: 300 },
  )
})

test('usually one change is enough, and a card dropped last stays above later ones', () => {
  const at = (id: string, createdAt: string): BoardTask => ({
    ...{ id, title: id, notes: '', status: 'todo', order: null, due: '', createdAt, updatedAt: '' },
  })
  const tasks = [
    at('a', '2026-11-16T09:00:00.000Z'),
    at('b', '2026-11-16T10:00:00.000Z'),
    at('c', '2026-11-16T11:00:00.000Z'),
  ]
  expect(board.placing(tasks, tasks[2]!, 'todo', 1, now)).toEqual([
    { id: 'c', change: { order: Date.parse('2026-11-16T09:30:00.000Z') } },
  ])
  expect(board.placing(tasks, tasks[0]!, 'todo', 2, now)).toEqual([{ id: 'a', change: { order: now } }])
  expect(board.placing(tasks, tasks[0]!, 'done', 0, now)).toEqual([{ id: 'a', change: { status: 'done', order: now } }])
})
