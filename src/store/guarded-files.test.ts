// Checking and replacing files while others write.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { absent, createGuardedFiles, type GuardedFiles, versionOf } from './guarded-files.ts'

let dir: string
let files: GuardedFiles
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'aetheel-kept-'))
  files = createGuardedFiles(dir)
})
afterEach(() => rmSync(dir, { recursive: true }))

const write = (file: string, text: string) => writeFileSync(join(dir, file), text)
const read = (file: string) => readFileSync(join(dir, file), 'utf8')

test('a file that somebody writes at the same moment is not replaced', async () => {
  write('memory.md', 'before')
  const replaced = files.replace('memory.md', versionOf('before'), 'ours')
  write('memory.md', 'theirs')
  expect(await replaced).toBe(false)
  expect(read('memory.md')).toBe('theirs')
  expect(readdirSync(dir)).toEqual(['memory.md'])
  expect(await files.replace('memory.md', versionOf('theirs'), 'ours')).toBe(true)
  expect(await files.replace('memory.md', versionOf('ours'), null)).toBe(true)
  expect(await files.replace('memory.md', absent, 'anew')).toBe(true)
  expect(read('memory.md')).toBe('anew')
})

test('a change of the same length right after a check is noticed, however coarse the file system clock is', () => {
  for (let n = 1000; n < 1500; n++) {
    write('memory.md', `${n}`)
    expect(files.look('memory.md')).toMatchObject({ text: `${n}` })
  }
})

test('a link inside the workspace is followed, also for writing; one that leads out or nowhere is not', async () => {
  write('real.md', 'a')
  symlinkSync('real.md', join(dir, 'memory.md'))
  expect(files.look('memory.md')).toMatchObject({ what: 'text', text: 'a' })
  expect(await files.replace('memory.md', versionOf('a'), 'b')).toBe(true)
  expect(read('real.md')).toBe('b')
  symlinkSync('/', join(dir, 'soul.md'))
  symlinkSync('nowhere', join(dir, 'user.md'))
  mkdirSync(join(dir, 'skills'))
  symlinkSync('/', join(dir, 'skills/out'))
  expect(files.look('soul.md')).toMatchObject({ what: 'other' })
  expect(files.look('user.md')).toMatchObject({ what: 'other' })
  await expect(files.replace('skills/out/SKILL.md', absent, 'x')).rejects.toThrow('not inside')
  expect(existsSync('/SKILL.md')).toBe(false)
})

test('files that are not text are recognized and never read as text', () => {
  writeFileSync(join(dir, 'memory.md'), Buffer.from([0xff, 0xfe, 0x00]))
  mkdirSync(join(dir, 'soul.md'))
  expect(files.look('memory.md')).toMatchObject({ what: 'other', text: null })
  expect(files.look('soul.md')).toMatchObject({ what: 'other', text: null })
  expect(files.look('user.md')).toEqual({ ...absent, what: 'absent' })
})

test('skills are guarded, and so are the files that the CLIs read from their working directory', () => {
  mkdirSync(join(dir, 'skills/a'), { recursive: true })
  write('skills/README.md', 'x')
  expect(files.names().filter(name => name.startsWith('skills/'))).toEqual(['skills/a/SKILL.md'])
  expect(files.names()).toEqual(
    expect.arrayContaining(['memory.md', 'config.json', '.mcp.json', '.claude/settings.json']),
  )
})
