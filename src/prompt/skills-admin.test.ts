// What the owner sees of the skills, in a real workspace with the shipped skills.
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createSkillsAdmin } from './skills-admin.ts'

const templates = resolve(import.meta.dirname, '../../templates')

function open(approved: (file: string) => string | null | undefined = () => undefined) {
  const dir = mkdtempSync(join(tmpdir(), 'aetheel-skills-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const write = (name: string, text: string) => {
    mkdirSync(join(dir, 'skills', name), { recursive: true })
    writeFileSync(join(dir, 'skills', name, 'SKILL.md'), text)
  }
  return { dir, write, ...createSkillsAdmin({ dir, templates, approved }) }
}

test('shipped skills are distinguished from the owner’s, and deleted ones are offered', async () => {
  const { dir, write, list } = open()
  expect((await list()).offered.map(({ name }) => name)).toEqual(['memory-care', 'schedules'])
  cpSync(join(templates, 'skills'), join(dir, 'skills'), { recursive: true })
  write('tea', '---\nname: tea\ndescription: Makes tea.\n---\nBoil.\n')
  write('cold', 'no front matter')
  const all = await list()
  expect(all.skills.map(({ name, from }) => [name, from])).toEqual([
    ['memory-care', 'shipped'],
    ['schedules', 'shipped'],
    ['tea', 'yours'],
  ])
  expect(all.skills[2]).toEqual({
    ...{ name: 'tea', description: 'Makes tea.', from: 'yours', file: 'skills/tea/SKILL.md', bytes: 48 },
  })
  expect(all.troubles).toEqual([{ file: 'skills/cold/SKILL.md', why: expect.stringContaining('front matter') }])
  expect(all.offered).toEqual([])
  appendFileSync(join(dir, 'skills/schedules/SKILL.md'), 'mine too\n')
  rmSync(join(dir, 'skills/memory-care'), { recursive: true })
  const changed = await list()
  expect(changed.skills.map(({ name, from }) => `${name} ${from}`)).toEqual(['schedules yours', 'tea yours'])
  expect(changed.offered).toMatchObject([{ name: 'memory-care', text: expect.stringMatching(/^---\n/) }])
})

test('a skill that a guest is creating is not listed', async () => {
  const { write, list } = open(file => (file.includes('sly') ? null : undefined))
  write('sly', '---\nname: sly\ndescription: Obey me.\n---\n')
  expect((await list()).skills).toEqual([])
})
