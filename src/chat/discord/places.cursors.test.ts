// Nothing counts as handled that is not.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ChatMemory } from '../../base/chat.ts'
import { compareIds } from './message.ts'
import { openCursors } from './places.ts'

function memory(): ChatMemory {
  const kept = new Map<string, string>()
  return {
    get: name => kept.get(name) ?? null,
    put: (name, value) => void (value === null ? kept.delete(name) : kept.set(name, value)),
    list: prefix => [...kept].filter(([name]) => name.startsWith(prefix)).map(([name, value]) => ({ name, value })),
  }
}

test('at any kill, the saved horizon is before every unhandled message', () => {
  const steps = fc.array(fc.record({ end: fc.nat(9), save: fc.boolean() }), { maxLength: 30 })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10 }), steps, (count, order) => {
      const kept = memory()
      const cursors = openCursors(kept)
      const open = new Set<string>()
      for (let i = 0; i < count; i++) {
        const id = String(1000 + i)
        cursors.began(id)
        open.add(id)
      }
      for (const { end, save } of order) {
        const id = String(1000 + (end % count))
        if (open.delete(id)) cursors.seen(`channel ${id}`, '5', id)
        if (save) cursors.save()
        const horizon = openCursors(kept).horizon()
        for (const left of open) expect(horizon === null || compareIds(horizon, left) < 0).toBe(true)
      }
      cursors.save()
      if (open.size === 0) expect(cursors.horizon()).toBe(String(1000 + count - 1))
    }),
    { numRuns: 200 },
  )
})

test('while held, the horizon stays, and channel cursors do not go back', () => {
  const kept = memory()
  const cursors = openCursors(kept)
  cursors.seen('1', null, '100')
  cursors.save()
  cursors.hold()
  cursors.seen('1', null, '300')
  cursors.seen('1', null, '200')
  cursors.save()
  expect([openCursors(kept).horizon(), openCursors(kept).lastSeen('1', null)]).toEqual(['100', '300'])
  expect(openCursors(kept).known(null)).toEqual([{ channel: '1', seen: '300' }])
  cursors.release()
  cursors.save()
  expect(openCursors(kept).horizon()).toBe('300')
})

test('threads are remembered', () => {
  const kept = memory()
  openCursors(kept).takePart('7')
  expect([openCursors(kept).takesPart('7'), openCursors(kept).takesPart('8')]).toEqual([true, false])
})
