// Nothing is taken for dealt with that is not.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ChatMemory } from '../../base/chat.ts'
import { openMarks } from './marks.ts'
import { compareIds } from './snowflake.ts'

function memory(): ChatMemory {
  const kept = new Map<string, string>()
  return {
    get: name => kept.get(name) ?? null,
    put: (name, value) => void (value === null ? kept.delete(name) : kept.set(name, value)),
    list: prefix => [...kept].filter(([name]) => name.startsWith(prefix)).map(([name, value]) => ({ name, value })),
  }
}

test('whenever it is killed, the horizon that was saved lies before everything that was not dealt with', () => {
  const steps = fc.array(fc.record({ end: fc.nat(9), save: fc.boolean() }), { maxLength: 30 })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10 }), steps, (count, order) => {
      const kept = memory()
      const marks = openMarks(kept)
      const open = new Set<string>()
      for (let i = 0; i < count; i++) {
        const id = String(1000 + i)
        marks.began(id)
        open.add(id)
      }
      for (const { end, save } of order) {
        const id = String(1000 + (end % count))
        if (open.delete(id)) marks.seen(`channel ${id}`, '5', id)
        if (save) marks.save()
        const horizon = openMarks(kept).horizon()
        for (const left of open) expect(horizon === null || compareIds(horizon, left) < 0).toBe(true)
      }
      marks.save()
      if (open.size === 0) expect(marks.horizon()).toBe(String(1000 + count - 1))
    }),
    { numRuns: 200 },
  )
})

test('while it is held the horizon stays, and the marks of channels do not go back', () => {
  const kept = memory()
  const marks = openMarks(kept)
  marks.seen('1', null, '100')
  marks.save()
  marks.hold()
  marks.seen('1', null, '300')
  marks.seen('1', null, '200')
  marks.save()
  expect([openMarks(kept).horizon(), openMarks(kept).lastSeen('1', null)]).toEqual(['100', '300'])
  expect(openMarks(kept).known(null)).toEqual([{ channel: '1', seen: '300' }])
  marks.release()
  marks.save()
  expect(openMarks(kept).horizon()).toBe('300')
})

test('threads are remembered', () => {
  const kept = memory()
  openMarks(kept).takePart('7')
  expect([openMarks(kept).takesPart('7'), openMarks(kept).takesPart('8')]).toEqual([true, false])
})
