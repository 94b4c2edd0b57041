// Skills: what is listed, what is left out and told, and that an edit counts at once.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { describeSkills, openSkills } from './skills.ts'

let dir = ''
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'aetheel-skills-'))
})
afterEach(() => rmSync(dir, { recursive: true }))

const write = (folder: string, text: string) => {
  mkdirSync(join(dir, 'skills', folder), { recursive: true })
  writeFileSync(join(dir, 'skills', folder, 'SKILL.md'), text)
}
const skill = (name: string, description: string) =>
  `---\nname: ${name}\ndescription: ${description}\n---\n\n# ${name}\n`

test('skills are listed by name, in plain lines or YAML; bad ones are told and left out', async () => {
  write('mail', skill('mail', 'Reads mail, and answers it.'))
  write('yaml', `---\nname: "yaml"\ndescription: >\n  Folded over\n  two lines.\nallowed-tools: [Read]\n---\n`)
  write('folder-name', '---\ndescription: Takes the name of its folder.\n---\n')
  write('bare', '# no front matter\n')
  write('bad-yaml', '---\nname: [\n---\n')
  write('Bad Name', skill('Bad Name', 'x y'))
  write('nothing-said', '---\nname: nothing-said\n---\n')
  write('twin', skill('mail', 'Another one.'))
  write('script', "---js\nrequire('child_process')\n---\n")
  mkdirSync(join(dir, 'skills', 'empty'))
  writeFileSync(join(dir, 'skills', 'README.md'), 'not a skill')
  symlinkSync('/nowhere', join(dir, 'skills', 'broken'))
  const { skills, troubles } = await openSkills(dir).read()
  expect(skills).toEqual([
    { name: 'folder-name', description: 'Takes the name of its folder.', path: 'skills/folder-name/SKILL.md' },
    { name: 'mail', description: 'Reads mail, and answers it.', path: 'skills/mail/SKILL.md' },
    { name: 'yaml', description: 'Folded over two lines.', path: 'skills/yaml/SKILL.md' },
  ])
  const told = Object.fromEntries(troubles.map(({ file, why }) => [file.split('/')[1], why]))
  expect(Object.keys(told).sort()).toEqual(
    ['Bad Name', 'bad-yaml', 'bare', 'broken', 'empty', 'nothing-said', 'script', 'twin'].sort(),
  )
  expect(told['nothing-said']).toContain('description')
  expect(told.bare).toContain('front matter')
  for (const why of Object.values(told)) expect(why).toContain('left out')
})

test('an edit, a new skill and a removed one count with the next look', async () => {
  const skills = openSkills(dir)
  expect(await skills.read()).toEqual({ skills: [], troubles: [] })
  write('mail', skill('mail', 'Reads mail.'))
  expect((await skills.read()).skills).toMatchObject([{ description: 'Reads mail.' }])
  write('mail', skill('mail', 'Reads and sends mail.'))
  expect((await skills.read()).skills).toMatchObject([{ description: 'Reads and sends mail.' }])
  rmSync(join(dir, 'skills', 'mail'), { recursive: true })
  expect((await skills.read()).skills).toEqual([])
})

test('the list keeps to its room, with many skills and with long descriptions', () => {
  const many = (n: number, description: string) =>
    Array.from({ length: n }, (_, i) => ({ name: `skill-${i}`, description, path: `skills/skill-${i}/SKILL.md` }))
  expect(describeSkills([])).toBe('')
  expect(describeSkills(many(2, 'Does it.'))).toContain('- skill-1: Does it. (skills/skill-1/SKILL.md)')
  for (const list of [many(500, 'Does it.'), many(10, 'x'.repeat(1024)), many(500, 'y'.repeat(1024))])
    expect(describeSkills(list).length).toBeLessThanOrEqual(4200)
  expect(describeSkills(many(500, 'Does it.'))).toMatch(/and \d+ more in skills\//)
  expect(describeSkills(many(10, 'x'.repeat(1024)))).toContain('skill-9')
})
