// What guarding the workspace adds to a turn that changes nothing: the owner's, and a guest's without a wall.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { NewEvent } from '../src/base/event.ts'
import type { Taken } from '../src/base/lanes.ts'
import { createChanges, createFileGuard, openDatabase } from '../src/store/index.ts'
import { type Figure, median, ms, spread } from './figures.ts'

const files = 2000
const turns = 100
const clock = { now: () => Date.now(), sleep: async () => undefined }

export async function guardFigures(): Promise<readonly Figure[]> {
  const dir = mkdtempSync(join(tmpdir(), 'aetheel-guard-'))
  for (let i = 0; i < files; i++) {
    const folder = join(dir, `notes/${i % 50}`)
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, `${i}.md`), `note ${i}\n`.repeat(100))
  }
  mkdirSync(join(dir, '.aetheel'))
  const db = openDatabase(join(dir, '.aetheel', 'aetheel.db'))
  const fileGuard = createFileGuard({
    dir,
    changes: createChanges(db, clock),
    clock,
    emit: () => undefined,
    checkConfig: async () => null,
    configChanged: () => undefined,
    notify: () => undefined,
    scrub: text => text,
    around: { home: dir, cwd: dir },
  })
  try {
    await fileGuard.begin([])
    const measure = async (taken: Taken<NewEvent>) => {
      const began = performance.now()
      const leave = fileGuard.guardTurn(taken)
      await leave.ready
      await leave()
      return performance.now() - began
    }
    const first = await measure(by(false))
    // File system clocks are coarse: files that were just written are read once more.
    await new Promise(resolve => setTimeout(resolve, 2100))
    await measure(by(false))
    const samples = async (owner: boolean) => {
      const all: number[] = []
      for (let i = 0; i < turns; i++) all.push(await measure(by(owner)))
      return all
    }
    const [owner, guest] = [await samples(true), await samples(false)]
    const name = `guarding ${files} files`
    return [
      { name: `${name}, the owner's turn`, value: spread(owner), baseline: '', budget: '2 ms', ok: median(owner) <= 2 },
      {
        name: `${name}, a guest's turn without a wall`,
        value: spread(guest),
        baseline: `${ms(first)} the first time`,
        budget: '150 ms',
        ok: median(guest) <= 150,
      },
    ]
  } finally {
    fileGuard.tree.close()
    await db.close()
    rmSync(dir, { recursive: true })
  }
}

function by(owner: boolean): Taken<NewEvent> {
  const item: NewEvent = {
    ...{ key: 'k', lane: 'webchat:home', replyTo: null, source: 'webchat' },
    what: { kind: 'message', id: 'm', text: 'hi', author: { id: 'ada', name: 'ada', owner } },
  }
  return {
    ...{ id: 1, lane: item.lane, key: item.key, item, at: 1, attempt: 1, retries: 0 },
    ...{ interrupted: false, putOff: false, earlier: [] },
  }
}
