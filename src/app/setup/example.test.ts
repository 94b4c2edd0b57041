// Writing the example workspace into a folder that already has files.
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { copyExample } from './example.ts'

let dir: string
let from: string
let to: string

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'aetheel-example-'))
  from = join(dir, 'example')
  to = join(dir, 'deep/er/config')
  await mkdir(join(from, 'skills/tea'), { recursive: true })
  await writeFile(join(from, 'agents.md'), 'from the example')
  await writeFile(join(from, 'skills/tea/SKILL.md'), 'how to make tea')
})
afterEach(() => rm(dir, { recursive: true }))

test('in an empty folder everything is written, the second time nothing', async () => {
  const all = ['agents.md', 'skills/tea/SKILL.md']
  expect(await copyExample(from, to)).toEqual({ written: all, kept: [] })
  expect(await readFile(join(to, 'skills/tea/SKILL.md'), 'utf8')).toBe('how to make tea')
  expect(await copyExample(from, to)).toEqual({ written: [], kept: all })
})

test('existing files stay as they are; so does a link, which is not written through', async () => {
  await mkdir(join(to, 'skills/tea'), { recursive: true })
  await writeFile(join(to, 'agents.md'), 'mine')
  await symlink(join(dir, 'elsewhere'), join(to, 'skills/tea/SKILL.md'))
  expect(await copyExample(from, to)).toEqual({ written: [], kept: ['agents.md', 'skills/tea/SKILL.md'] })
  expect(await readFile(join(to, 'agents.md'), 'utf8')).toBe('mine')
  expect(await readdir(dir)).not.toContain('elsewhere')
})

test('if it cannot be written, or the template is missing, the error says so', async () => {
  await mkdir(to, { recursive: true })
  await writeFile(join(to, 'skills'), 'a file where a folder should be')
  await expect(copyExample(from, to)).rejects.toThrow(/SKILL\.md could not be written \(.*Check/)
  await expect(copyExample(join(dir, 'nowhere'), to)).rejects.toThrow('missing from this installation')
})
