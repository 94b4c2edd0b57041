// Files that change in a real folder, by every way in which people and programs write them.
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { followFiles } from './file-news.ts'
import { writeWhole } from './files.ts'

function follow(folders: readonly string[]) {
  const dir = mkdtempSync(join(tmpdir(), 'aetheel-news-'))
  mkdirSync(join(dir, 'skills'))
  const heard = new Set<string>()
  const leave = followFiles(dir, folders, file => heard.add(file))
  onTestFinished(() => {
    leave()
    rmSync(dir, { recursive: true })
  })
  return { dir, heard, leave }
}
const told = (heard: ReadonlySet<string>, ...files: string[]) =>
  expect.poll(() => [...heard].sort(), { timeout: 5000 }).toEqual(files)

test('a file is told of when it is written in place, replaced whole and removed; drafts are not', async () => {
  const { dir, heard } = follow([''])
  writeFileSync(join(dir, 'soul.md'), 'calm')
  await writeWhole(join(dir, 'brain.json'), '[]')
  renameSync(join(dir, 'soul.md'), join(dir, 'soul.md~'))
  await told(heard, 'brain.json', 'soul.md')
  heard.clear()
  rmSync(join(dir, 'brain.json'))
  await told(heard, 'brain.json')
})

test('a folder in it is told of by its path, one that is not there is no trouble, and the end is the end', async () => {
  const { dir, heard, leave } = follow(['', 'skills', 'not-there'])
  mkdirSync(join(dir, 'skills/cooking'))
  await expect.poll(() => heard.has('skills/cooking'), { timeout: 5000 }).toBe(true)
  leave()
  heard.clear()
  writeFileSync(join(dir, 'after.md'), '')
  await new Promise(done => setTimeout(done, 100))
  expect([...heard]).toEqual([])
})

test('all folders in a folder are followed, also those that come later and those that come back', async () => {
  const { dir, heard } = follow(['skills/*'])
  const skill = join(dir, 'skills/cooking')
  for (const text of ['first', 'again']) {
    mkdirSync(skill)
    await expect.poll(() => heard.has('skills/cooking'), { timeout: 5000 }).toBe(true)
    writeFileSync(join(skill, 'SKILL.md'), text)
    await expect.poll(() => heard.has('skills/cooking/SKILL.md'), { timeout: 5000 }).toBe(true)
    heard.clear()
    await writeWhole(join(skill, 'SKILL.md'), `${text} and more`)
    await expect.poll(() => heard.has('skills/cooking/SKILL.md'), { timeout: 5000 }).toBe(true)
    rmSync(skill, { recursive: true })
    await expect.poll(() => heard.has('skills/cooking'), { timeout: 5000 }).toBe(true)
    await new Promise(done => setTimeout(done, 50))
    heard.clear()
  }
})

test('a folder that is made only now, or again, is followed as if it had been there', async () => {
  const { dir, heard } = follow(['', 'skills/*'])
  const skills = join(dir, 'skills')
  for (const text of ['first', 'again']) {
    rmSync(skills, { recursive: true })
    await expect.poll(() => heard.has('skills'), { timeout: 5000 }).toBe(true)
    await new Promise(done => setTimeout(done, 50))
    heard.clear()
    mkdirSync(skills)
    await expect.poll(() => heard.has('skills'), { timeout: 5000 }).toBe(true)
    mkdirSync(join(skills, 'cooking'))
    await expect.poll(() => heard.has('skills/cooking'), { timeout: 5000 }).toBe(true)
    writeFileSync(join(skills, 'cooking/SKILL.md'), text)
    await expect.poll(() => heard.has('skills/cooking/SKILL.md'), { timeout: 5000 }).toBe(true)
    heard.clear()
  }
})

test('so many folders in one that not all can be followed do not take away the others', async () => {
  const { dir, heard, leave } = follow([])
  leave()
  mkdirSync(join(dir, 'log'))
  for (let n = 0; n < 250; n++) mkdirSync(join(dir, `skills/${n}`))
  onTestFinished(followFiles(dir, ['skills/*', 'log'], file => heard.add(file)))
  writeFileSync(join(dir, 'log/aetheel.log'), 'a line')
  await told(heard, 'log/aetheel.log')
})
