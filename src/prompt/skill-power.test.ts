// What a skill may bring along without the owner: a description, and nothing that a CLI executes.
import { expect, test } from 'vitest'
import { powerInSkill } from './skill-power.ts'

const skill = (...lines: readonly string[]) => `---\n${lines.join('\n')}\n---\nText.\nhooks: none here\n`

test('what describes a skill has no power, however long it is', () => {
  const plain = skill(
    'name: tea',
    'description: >',
    '  Makes tea.',
    '  hooks: not a key',
    'tags:',
    '- a',
    '- b',
    '# note',
  )
  expect(powerInSkill(plain)).toBe('')
  expect(powerInSkill(skill('name: tea', 'metadata:', '  hooks:', '    x: y'))).toBe('')
  expect(powerInSkill('No front matter.\nhooks: x\n')).toBe('')
  expect(powerInSkill('')).toBe('')
})

test.each([
  ['a plain key', skill('name: x', 'hooks:', '  PreToolUse: []')],
  ['tools', skill('name: x', 'allowed-tools: Bash')],
  ['a quoted key', skill('name: x', '"hooks": {}')],
  ['an escaped key', skill('name: x', '"h\\u006foks": {}')],
  ['a complex key', skill('name: x', '? hooks', ': {}')],
  ['a merge', skill('name: x', '<<: {hooks: {}}')],
  ['a flow mapping', skill('{name: x, hooks: {}}')],
  ['everything indented', skill('  name: x', '  hooks: {}')],
  ['another line end', skill('name: x\rhooks: {}')],
  ['a separator', skill('name: x\u2028hooks: {}')],
  ['a tag', skill('!!map', 'name: x', 'hooks: {}')],
  ['no end', '---\nname: x\nhooks: {}\n'],
  ['lines before it', '\ufeff\n\n---\nname: x\nhooks: {}\n---\n'],
  ['the first line', '--- {hooks: {}}\n---\n'],
])('hooks in it are found: %s', (_, text) => {
  expect(powerInSkill(text)).not.toBe('')
})

test('other commands in it are another power', () => {
  const hooks = (command: string) => powerInSkill(skill('name: x', 'hooks:', `  - ${command}`))
  expect(hooks('a')).not.toBe(hooks('b'))
  expect(hooks('a')).toBe(powerInSkill(skill('name: y', 'description: z', 'hooks:', '  - a')))
})
