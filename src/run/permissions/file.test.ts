// permissions.json: what is written in it counts, and what cannot be read never opens anything.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ToolUse } from '../../base/tool-use.ts'
import { decide, ruleLists } from './decide.ts'
import { type NewRule, openPermissions, readRules } from './file.ts'

const bash = (command: string): ToolUse => ({ tool: 'Bash', work: { kind: 'command', command } })
const context = {
  ...{ allowedTools: ['Bash', 'Edit'], askTools: [], lane: 'webchat:home', project: '/p', folder: '/p' },
  ...{ home: '/h', realpath: (path: string) => path },
}
const typeOf = (text: string, use: ToolUse) => decide(use, { ...context, rules: readRules(text).rules }).type

/** A file that is only a text. */
function inMemory(text: string | null = null) {
  const file = { text }
  const permissions = openPermissions({
    dir: '/nowhere',
    approved: () => file.text,
    async edit(change) {
      const next = change(file.text)
      if (next === undefined) return { ok: false, why: 'not possible' }
      file.text = next
      return { ok: true }
    },
  })
  return { file, ...permissions }
}
const listed = (text: string | null) =>
  readRules(text).rules.map(({ list, rule, conversation, project }) => [list, rule.text, conversation, project])

test('rules are texts, or objects with a scope; comments are fine; without a file there are none', () => {
  expect(readRules(null)).toEqual({ rules: [], problems: [], broken: null })
  const { rules, problems } = readRules(`{
    // mine
    "allow": ["Bash(git status:*)", { "rule": "Edit(src/**)", "project": "/p/", "by": "ada", "at": "2026-11-18" },],
    "deny": [{ "rule": "Bash(rm:*)", "conversation": "webchat:home" }]
  }`)
  expect(problems).toEqual([])
  expect(rules).toMatchObject([
    { list: 'allow', rule: { text: 'Bash(git status:*)' }, conversation: null, project: null, at: 0 },
    { list: 'allow', rule: { text: 'Edit(src/**)' }, project: '/p', by: 'ada', added: '2026-11-18', at: 1 },
    { list: 'deny', rule: { text: 'Bash(rm:*)' }, conversation: 'webchat:home', at: 0 },
  ])
})

test.each([
  ['{ "allow": ["Bsh(ls)"] }', /entry 1: Bsh\(ls\): there is no tool Bsh; write Bash\(ls\)/, 'allow'],
  [
    '{ "allow": [{ "rule": "Bash", "conversaton": "x" }] }',
    /conversaton is unknown; conversation was probably meant/,
    'allow',
  ],
  ['{ "deny": ["Bsh(rm:*)"] }', /write Bash\(rm:\*\)/, 'ask'],
  ['{ "deny": ["Bash(echo $X:*)"] }', /one simple command/, 'ask'],
  ['{ "ask": ["Qqqq(x)"] }', /Qqqq can only be named as a whole/, 'ask'],
  ['{ "deny": [7] }', /it has no rule/, 'ask'],
  ['{ "deny": [{ "rule": "Bash(rm:*)", "projct": "/x" }] }', /projct is unknown; project was probably meant/, 'ask'],
  ['{ "deny": "Bash" }', /deny must be a list/, 'ask'],
  ['{ "denny": ["Bash(rm:*)"] }', /no list denny; deny was probably meant/, 'ask'],
  ['{ "deny": ["Bash(rm:*)"], "deny": [] }', /deny twice/, 'allow'],
  ['{ "deny": [', /not JSON: see line 1, column/, 'ask'],
  ['[]', /must be an object/, 'ask'],
  ['['.repeat(100_000), /not JSON|nested too deeply/, 'ask'],
])('%j is said to be wrong, and a command is then: %s', (text, problem, expected) => {
  expect(readRules(text).problems.join('\n')).toMatch(problem)
  expect(typeOf(text, bash('ls'))).toBe(expected)
})

test('of a list that occurs twice, both count', () => {
  expect(typeOf('{ "deny": ["Bash(rm:*)"], "deny": [] }', bash('rm x'))).toBe('deny')
})

test('no text makes a limit of the file weaker than it would be alone', () => {
  const entry = fc.oneof(fc.constantFrom('Bash(rm:*)', 'Bash', 'Edit(src/**)', 'bad(', ''), fc.string(), fc.jsonValue())
  fc.assert(
    fc.property(
      fc.dictionary(fc.oneof(fc.constantFrom(...ruleLists), fc.string()), fc.oneof(fc.array(entry), fc.jsonValue())),
      file => {
        const text = JSON.stringify({ ...file, deny: ['Bash(rm:*)', ...(Array.isArray(file.deny) ? file.deny : [])] })
        expect(typeOf(text, bash('rm x'))).toBe('deny')
      },
    ),
  )
})

test('rules are added once and removed again, and what else is in the file stays', async () => {
  const { file, add, remove } = inMemory('{\n  // mine\n  "deny": ["Bash(rm:*)"]\n}\n')
  expect(await add('allow', { rule: 'Bash(ls)', conversation: 'webchat:home', by: 'ada' })).toEqual({ ok: true })
  expect(await add('allow', { rule: 'Bash(ls)' })).toEqual({ ok: true })
  const once = file.text
  expect(await add('allow', { rule: 'Bash(ls)' })).toEqual({ ok: true })
  expect(file.text).toBe(once)
  expect(file.text).toContain('// mine')
  expect(await remove('allow', { rule: 'Bash(ls)', conversation: 'webchat:home' })).toEqual({ ok: true })
  expect(listed(file.text)).toEqual([
    ['deny', 'Bash(rm:*)', null, null],
    ['allow', 'Bash(ls)', null, null],
  ])
  expect(await remove('allow', { rule: 'Bash(ls)', project: '/x' })).toMatchObject({ ok: false })
  expect(await add('allow', { rule: 'Bsh(ls)' })).toMatchObject({ ok: false, why: /write Bash\(ls\)/ })
})

test('a new file is readable; a broken one is not written to', async () => {
  const { file, add } = inMemory()
  await add('allow', { rule: 'Bash(git status:*)', project: '/p' })
  expect(file.text).toBe(
    '{\n  "allow": [\n    {\n      "rule": "Bash(git status:*)",\n      "project": "/p"\n    }\n  ],\n  "ask": [],\n  "deny": []\n}\n',
  )
  const bad = inMemory('{ "deny": [')
  expect(await bad.add('allow', { rule: 'Bash' })).toMatchObject({ ok: false, why: /not JSON/ })
  expect(bad.file.text).toBe('{ "deny": [')
})

test('whatever is added and removed, in whatever order, the file says the same as a plain list', async () => {
  const rule = fc.record<NewRule>(
    { rule: fc.constantFrom('Bash(ls)', 'Bash(git *)', 'Edit(src/**)', 'Read') },
    { requiredKeys: ['rule'] },
  )
  const scoped = fc.tuple(rule, fc.option(fc.constantFrom('a:1', 'b:2')), fc.option(fc.constantFrom('/p', '/q'))).map(
    ([one, conversation, project]): NewRule => ({
      ...one,
      ...(conversation ? { conversation } : {}),
      ...(project ? { project } : {}),
    }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(fc.boolean(), fc.constantFrom(...ruleLists), scoped)), async steps => {
      const { file, add, remove } = inMemory()
      const expected = new Set<string>()
      for (const [adds, list, one] of steps) {
        const key = JSON.stringify([list, one.rule, one.conversation ?? null, one.project ?? null])
        const done = await (adds ? add(list, one) : remove(list, one))
        expect(done.ok).toBe(adds || expected.has(key))
        if (adds) expected.add(key)
        else expected.delete(key)
      }
      expect(new Set(listed(file.text).map(one => JSON.stringify(one)))).toEqual(expected)
      expect(readRules(file.text).problems).toEqual([])
    }),
  )
})
