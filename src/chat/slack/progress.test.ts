// How far we have got, also after a kill.
import { expect, test } from 'vitest'
import type { ChatMemory } from '../../base/chat.ts'
import { openProgress } from './progress.ts'
import { compare } from './timestamp.ts'

function memory(): ChatMemory {
  const kept = new Map<string, string>()
  return {
    get: name => kept.get(name) ?? null,
    put: (name, value) => void (value === null ? kept.delete(name) : kept.set(name, value)),
    list: prefix => [...kept].flatMap(([name, value]) => (name.startsWith(prefix) ? [{ name, value }] : [])),
  }
}

const at = (seconds: number) => `${1_700_000_000 + seconds}.000100`

test('what was taken is known after a kill; what was ignored may be looked at again', () => {
  const kept = memory()
  const progress = openProgress(kept)
  progress.beginAt(at(0))
  progress.began(`C1:${at(1)}`, at(1))
  progress.ended(`C1:${at(1)}`, at(1), true)
  progress.began(`C1:${at(2)}`, at(2))
  progress.ended(`C1:${at(2)}`, at(2), false)
  const again = openProgress(kept)
  expect(again.isDone(`C1:${at(1)}`)).toBe(true)
  expect(again.isDone(`C1:${at(2)}`)).toBe(false)
  expect(again.origin()).toBe(at(0))
})

test('the horizon never passes a message in progress, and waits for what was missed', () => {
  const kept = memory()
  const progress = openProgress(kept)
  progress.beginAt(at(0))
  progress.began('C1:slow', at(5))
  progress.ended('C2:quick', at(9), true)
  progress.save()
  expect(compare(openProgress(kept).since() ?? '', at(5))).toBeLessThan(0)
  progress.ended('C1:slow', at(5), true)
  progress.hold()
  progress.ended('C2:later', at(20), true)
  progress.save()
  expect(openProgress(kept).since()).toBe(at(9))
  progress.release()
  progress.save()
  expect(openProgress(kept).since()).toBe(at(20))
})

test('old messages are forgotten, in memory and on disk', () => {
  const kept = memory()
  const progress = openProgress(kept)
  progress.beginAt(at(0))
  progress.ended(`C1:${at(1)}`, at(1), true)
  progress.save()
  progress.ended(`C1:${at(7200)}`, at(7200), true)
  progress.save()
  expect(kept.list('did:').map(({ name }) => name)).toEqual([`did:C1:${at(7200)}`])
})

test('threads that the bot is in are listed by channel', () => {
  const progress = openProgress(memory())
  progress.takePart('C1', at(1))
  progress.takePart('C12', at(2))
  expect(progress.takesPart('C1', at(1))).toBe(true)
  expect(progress.takesPart('C1', at(2))).toBe(false)
  expect(progress.threadsOf('C1')).toEqual([at(1)])
})
