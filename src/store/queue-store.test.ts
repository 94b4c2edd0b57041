// Which turns a kill has ended.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openDatabase } from './database.ts'
import { createQueueStore } from './queue-store.ts'

test('turns running at a kill are known until they are handled; those interrupted by a stop are not', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'aetheel-shelf-'))
  const start = async () => {
    const db = openDatabase(join(dir, 'a.db'))
    const queueStore = createQueueStore(db, { now: () => 1, sleep: async () => undefined })
    await queueStore.recover('in')
    return { queueStore, db, killed: queueStore.killed().map(({ item }) => item) }
  }
  const first = await start()
  const stopped = await first.queueStore.put('in', 'a', 'stopped', '"stopped"', 'start')
  await first.queueStore.put('in', 'b', 'killed', '"killed"', 'start')
  await first.queueStore.put('in', 'c', 'waiting', '"waiting"', 'wait')
  if (stopped.type === 'stored') await first.queueStore.settle([stopped.row.id], { type: 'cut' })
  await first.db.close()
  const second = await start()
  expect(second.killed).toEqual(['killed'])
  // Killed again before it was handled.
  await second.db.close()
  const third = await start()
  expect(third.killed).toEqual(['killed'])
  await third.queueStore.killedDealtWith()
  await third.db.close()
  const fourth = await start()
  expect(fourth.killed).toEqual([])
  await fourth.db.close()
  rmSync(dir, { recursive: true })
})
