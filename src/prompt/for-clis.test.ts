// The CLIs find the skills where they look for them, and nothing of the user's is touched.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { furnishForClis } from './for-clis.ts'
import { createSkills } from './skills.ts'

let dir: string
const warnings: string[] = []
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'aetheel-skills-'))
  warnings.length = 0
})
afterEach(() => rm(dir, { recursive: true }))
const shipped = join(import.meta.dirname, '../../templates/skills')
const link = () => furnishForClis(dir, shipped, (file, why) => warnings.push(`${file} ${why}`))

test('a skill in skills/ is visible in .claude and .agents, also one added later', async () => {
  await link()
  await link()
  mkdirSync(join(dir, 'skills/tea'))
  writeFileSync(join(dir, 'skills/tea/SKILL.md'), 'how to make tea')
  for (const home of ['.claude', '.agents'])
    expect(readFileSync(join(dir, home, 'skills/tea/SKILL.md'), 'utf8')).toBe('how to make tea')
  expect(JSON.parse(readFileSync(join(dir, '.gemini/settings.json'), 'utf8'))).toMatchObject({
    general: { maxAttempts: 2, sessionRetention: { enabled: false } },
  })
  expect(warnings).toEqual([])
})

test("the user's own skills folder stays unchanged, and a problem with one folder does not affect the other", async () => {
  mkdirSync(join(dir, '.claude/skills/own'), { recursive: true })
  writeFileSync(join(dir, '.agents'), 'a file')
  mkdirSync(join(dir, '.gemini'))
  writeFileSync(join(dir, '.gemini/settings.json'), '{}')
  await link()
  expect(readFileSync(join(dir, '.gemini/settings.json'), 'utf8')).toBe('{}')
  expect(existsSync(join(dir, '.claude/skills/own'))).toBe(true)
  expect(warnings).toEqual([expect.stringContaining('.agents/skills could not be created')])
})

test('a new workspace gets the shipped skills; a deleted one does not come back', async () => {
  await link()
  const { skills, troubles } = await createSkills(dir).read()
  expect(skills.map(({ name }) => name)).toEqual(['memory-care', 'schedules'])
  expect(troubles).toEqual([])
  await rm(join(dir, 'skills/schedules'), { recursive: true })
  await link()
  expect((await createSkills(dir).read()).skills).toHaveLength(1)
  expect(warnings).toEqual([])
})
