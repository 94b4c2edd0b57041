// Watching files in a real folder, however people and programs write them.
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { followFiles } from './file-watch.ts'
import { writeWhole } from './files.ts'

function follow(folders: readonly string[]) {
  const dir = mkdtempSync(join(tmpdir(), 'aetheel-news-'))
  mkdirSync(join(dir, 'skills'))
  const seen = new Set<string>()
  const leave = followFiles(dir, folders, file => seen.add(file))
  onTestFinished(() => {
    leave()
    rmSync(dir, { recursive: true })
  })
  return { dir, seen, leave }
}
const reported = (seen: ReadonlySet<string>, ...files: string[]) =>
  expect.poll(() => [...seen].sort(), { timeout: 5000 }).toEqual(files)

test('writing in place, replacing and removing a file are reported; temporary files are not', async () => {
  const { dir, seen } = follow([''])
  writeFileSync(join(dir, 'soul.md'), 'calm')
  await writeWhole(join(dir, 'brain.json'), '[]')
  renameSync(join(dir, 'soul.md'), join(dir, 'soul.md~'))
  await reported(seen, 'brain.json', 'soul.md')
  seen.clear()
  rmSync(join(dir, 'brain.json'))
  await reported(seen, 'brain.json')
})

test('files in subfolders are reported by path, a missing folder is no problem, and nothing is reported after the end', async () => {
  const { dir, seen, leave } = follow(['', 'skills', 'not-there'])
  mkdirSync(join(dir, 'skills/cooking'))
  await expect.poll(() => seen.has('skills/cooking'), { timeout: 5000 }).toBe(true)
  leave()
  seen.clear()
  writeFileSync(join(dir, 'after.md'), '')
  await new Promise(done => setTimeout(done, 100))
  expect([...seen]).toEqual([])
})

test('all folders in a folder are watched, also new and recreated ones', async () => {
  const { dir, seen } = follow(['skills/*'])
  const skill = join(dir, 'skills/cooking')
  for (const text of ['first', 'again']) {
    mkdirSync(skill)
    await expect.poll(() => seen.has('skills/cooking'), { timeout: 5000 }).toBe(true)
    writeFileSync(join(skill, 'SKILL.md'), text)
    await expect.poll(() => seen.has('skills/cooking/SKILL.md'), { timeout: 5000 }).toBe(true)
    seen.clear()
    await writeWhole(join(skill, 'SKILL.md'), `${text} and more`)
    await expect.poll(() => seen.has('skills/cooking/SKILL.md'), { timeout: 5000 }).toBe(true)
    rmSync(skill, { recursive: true })
    await expect.poll(() => seen.has('skills/cooking'), { timeout: 5000 }).toBe(true)
    await new Promise(done => setTimeout(done, 50))
    seen.clear()
  }
})

test('a folder that is created later, or again, is watched', async () => {
  const { dir, seen } = follow(['', 'skills/*'])
  const skills = join(dir, 'skills')
  for (const text of ['first', 'again']) {
    rmSync(skills, { recursive: true })
    await expect.poll(() => seen.has('skills'), { timeout: 5000 }).toBe(true)
    await new Promise(done => setTimeout(done, 50))
    seen.clear()
    mkdirSync(skills)
    await expect.poll(() => seen.has('skills'), { timeout: 5000 }).toBe(true)
    mkdirSync(join(skills, 'cooking'))
    await expect.poll(() => seen.has('skills/cooking'), { timeout: 5000 }).toBe(true)
    writeFileSync(join(skills, 'cooking/SKILL.md'), text)
    await expect.poll(() => seen.has('skills/cooking/SKILL.md'), { timeout: 5000 }).toBe(true)
    seen.clear()
  }
})

test('too many subfolders do not use up the watchers of the other folders', async () => {
  const { dir, seen, leave } = follow([])
  leave()
  mkdirSync(join(dir, 'log'))
  for (let n = 0; n < 250; n++) mkdirSync(join(dir, `skills/${n}`))
  onTestFinished(followFiles(dir, ['skills/*', 'log'], file => seen.add(file)))
  writeFileSync(join(dir, 'log/aetheel.log'), 'a line')
  await reported(seen, 'log/aetheel.log')
})
