// The lock beside the database.
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { holdLock } from './database-lock.ts'

test('one process holds it at a time, and its file is readable only by the owner', () => {
  const dir = mkdtempSync(join(tmpdir(), 'aetheel-lock-'))
  try {
    const path = join(dir, 'a.db')
    const held = holdLock(path)
    expect(() => holdLock(path)).toThrow(/locked/)
    for (const file of readdirSync(dir)) expect(statSync(join(dir, file)).mode & 0o777).toBe(0o600)
    held.release()
    holdLock(path).release()
  } finally {
    rmSync(dir, { recursive: true })
  }
})
