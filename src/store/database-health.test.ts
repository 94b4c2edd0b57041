// Reporting problems of the disk under a database.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { smallDisk, whyNoSmallDisk } from '../../test/fakes/small-disk.ts'
import { createHealth } from './database-health.ts'

const sqliteError = (errcode: number, message: string) => Object.assign(new Error(message), { errcode })

function createFiles(dir: string, tryWriting = () => undefined) {
  for (const name of ['a.db', 'a.db-wal']) writeFileSync(join(dir, name), '')
  return createHealth(join(dir, 'a.db'), tryWriting)
}

const noDisk = whyNoSmallDisk()

test.skipIf(noDisk !== null)(`a read-only disk is told${noDisk === null ? '' : ` (skipped: ${noDisk})`}`, () => {
  using disk = smallDisk(2)
  const health = createFiles(disk.dir)
  expect(health.trouble()).toBe(null)
  disk.makeReadOnly()
  expect(health.trouble()).toMatchObject({ kind: 'unwritable', why: expect.stringMatching(/^The disk is read-only/) })
})

test('a failing disk is reported until a write succeeds; damage is permanent', () => {
  const dir = mkdtempSync(join(tmpdir(), 'aetheel-health-'))
  let refuses = true
  const health = createFiles(dir, () => {
    if (refuses) throw sqliteError(10, 'disk I/O error')
  })
  health.failed(new Error('not of SQLite'))
  health.failed(sqliteError(19, 'UNIQUE constraint failed'))
  expect(health.trouble()).toBe(null)
  health.failed(sqliteError(778, 'disk I/O error'))
  expect(health.trouble()).toMatchObject({ kind: 'unwritable', why: expect.stringContaining('disk I/O error') })
  refuses = false
  health.wrote()
  expect(health.trouble()).toBe(null)
  health.failed(sqliteError(11, 'database disk image is malformed'))
  health.wrote()
  expect(health.trouble()).toMatchObject({ kind: 'damaged' })
  expect(() => health.mustBeUndamaged()).toThrow('damaged')
  rmSync(dir, { recursive: true })
})
