// Removing temporary files that a kill has left behind, and nothing else.
import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { sweepDrafts } from './temp-files.ts'

let dir = ''
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'aetheel-drafts-'))
})
afterEach(() => rmSync(dir, { recursive: true }))

test('old temporary files are removed; recent ones and files of others stay', async () => {
  const now = Date.UTC(2026, 10, 16)
  const hours = (n: number) => new Date(now - n * 3_600_000)
  const put = (name: string, age: number) => {
    mkdirSync(join(dir, name, '..'), { recursive: true })
    writeFileSync(join(dir, name), 'x')
    utimesSync(join(dir, name), hours(age), hours(age))
  }
  for (const name of ['brain.json.41.tmp', 'soul.md.41.tmp', '.aetheel/token.41.tmp', 'skills/a/SKILL.md.41.tmp'])
    put(name, 2)
  const kept = ['.aetheel/token', 'notes/x.md.41.tmp', 'skills/a/SKILL.md', 'soul.md', 'soul.md.tmp', 'video.41.tmp']
  for (const name of kept) put(name, 2)
  put('tasks.json.42.tmp', 0.5)
  mkdirSync(join(dir, 'folder.md.41.tmp'))
  await sweepDrafts(dir, now)
  const left = readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter(one => one.isFile())
    .map(one => join(one.parentPath, one.name).slice(dir.length + 1))
  expect(left.sort()).toEqual([...kept, 'tasks.json.42.tmp'].sort())
  await sweepDrafts(join(dir, 'nowhere'), now)
})
