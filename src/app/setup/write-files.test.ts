// Several files at once, and back again.
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { writeTogether } from './write-files.ts'

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'aetheel-together-'))
})
afterEach(() => rm(dir, { recursive: true }))

const textOf = (name: string) => readFile(join(dir, name), 'utf8')
const modeOf = async (name: string) => ((await stat(join(dir, name))).mode & 0o777).toString(8)

test('all files are written, readable only by their owner, and can be undone completely', async () => {
  await writeFile(join(dir, 'old'), 'as it was')
  await chmod(join(dir, 'old'), 0o644)
  const { undo } = await writeTogether([
    { path: join(dir, 'deep/er/new'), before: null, text: 'new', copy: null },
    { path: join(dir, 'old'), before: 'as it was', text: 'changed', copy: join(dir, 'old.old') },
  ])
  expect([await textOf('deep/er/new'), await textOf('old'), await textOf('old.old')]).toEqual([
    'new',
    'changed',
    'as it was',
  ])
  expect([await modeOf('deep/er/new'), await modeOf('old'), await modeOf('old.old')]).toEqual(['600', '600', '600'])
  await undo()
  expect(await readdir(dir)).toEqual(['old'])
  expect([await textOf('old'), await modeOf('old')]).toEqual(['as it was', '644'])
})

test('if one cannot be written, the others stay as they were', async () => {
  await writeFile(join(dir, 'a-file'), '')
  const failing = writeTogether([
    { path: join(dir, 'first'), before: null, text: 'x', copy: null },
    { path: join(dir, 'a-file/second'), before: null, text: 'x', copy: null },
  ])
  await expect(failing).rejects.toThrow('could not be written')
  const below = writeTogether([{ path: join(dir, 'a-file/deep/er'), before: null, text: 'x', copy: null }])
  await expect(below).rejects.toThrow(/^the folder .*deep cannot be created \(ENOTDIR\)\. Check .* --config-dir\.$/)
  expect(await readdir(dir)).toEqual(['a-file'])
})

test('a link stays a link, and a folder with other files stays', async () => {
  await writeFile(join(dir, 'real'), 'before')
  await symlink('real', join(dir, 'link'))
  await writeTogether([{ path: join(dir, 'link'), before: 'before', text: 'after', copy: null }])
  expect(await textOf('real')).toBe('after')
  const { undo } = await writeTogether([{ path: join(dir, 'made/x'), before: null, text: 'x', copy: null }])
  await mkdir(join(dir, 'made/theirs'))
  await undo()
  expect([existsSync(join(dir, 'made/x')), existsSync(join(dir, 'made/theirs'))]).toEqual([false, true])
})

test('a file changed or created since it was checked is not overwritten, and the others are left alone', async () => {
  await writeFile(join(dir, 'edited'), 'by hand')
  for (const before of ['as it was', null]) {
    const late = writeTogether([
      { path: join(dir, 'first'), before: null, text: 'x', copy: null },
      { path: join(dir, 'edited'), before, text: 'x', copy: join(dir, 'edited.old') },
    ])
    await expect(late).rejects.toThrow('was changed in the meantime; nothing was written')
    expect(await readdir(dir)).toEqual(['edited'])
    expect(await textOf('edited')).toBe('by hand')
  }
})
