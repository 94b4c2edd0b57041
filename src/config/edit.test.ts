// Editing config.json and .env, which belong to people.
import { parseEnv } from 'node:util'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { withSettings, withVariables } from './edit.ts'
import { type JsonValue, readJson } from './json.ts'
import { initialConfigFile } from './report.ts'

const edit = (text: string, settings: Record<string, JsonValue>) =>
  withSettings(text, new Map(Object.entries(settings)))

test('a new file contains only the settings that were chosen', () => {
  expect(edit('// Mine.\n{}\n', { 'agent.backend': 'claude', 'owner.users': ['1234'] })).toBe(
    '// Mine.\n{\n  "owner": {\n    "users": [\n      "1234"\n    ]\n  },\n  "agent": {\n    "backend": "claude"\n  }\n}\n',
  )
  expect(edit('', { timezone: 'UTC' })).toBe('{\n  "timezone": "UTC"\n}\n')
})

test('a value is changed in place; comments, order and whitespace stay', () => {
  const text = initialConfigFile()
  const edited = edit(text, { 'agent.backend': 'codex', 'discord.enabled': true, 'owner.users': ['1', '2'] })
  const changed = edited.split('\n').filter((line, i) => line !== text.split('\n')[i])
  expect(changed.map(line => line.trim())).toEqual(['"backend": "codex",', '"enabled": true,', '"users": ["1","2"],'])
})

test.each<[string, string, string]>([
  [
    'a section that is there',
    '{\n  // who\n  "agent": { "model": "opus" } // end\n}',
    '{\n  // who\n  "agent": {\n    "backend": "pi",\n    "model": "opus"\n  } // end\n}',
  ],
  ['a section that is null', '{ "agent": null }', '{ "agent": {\n    "backend": "pi"\n  } }'],
  ['lines of Windows', '\ufeff{\r\n}\r\n', '\ufeff{\r\n  "agent": {\r\n    "backend": "pi"\r\n  }\r\n}\r\n'],
  ['a key with a dot in it', '{ "agent.backend": "codex" }', '{ "agent.backend": "pi" }'],
  [
    'a comment at the end',
    '{ "a": 1 // no comma\n}',
    '{\n  "agent": {\n    "backend": "pi"\n  },\n  "a": 1 // no comma\n}',
  ],
])('it is inserted into %s', (_name, text, expected) => {
  expect(edit(text, { 'agent.backend': 'pi' })).toBe(expected)
})

test('a file that cannot be edited is refused with an explanation', () => {
  expect(() => edit('{ "agent": ', { 'agent.backend': 'pi' })).toThrow('config.json, line 1, column 12')
  expect(() => edit('[1]', { 'agent.backend': 'pi' })).toThrow('config.json')
  expect(() => edit('{ "agent": 7 }', { 'agent.backend': 'pi' })).toThrow('by hand')
})

test('only the given setting changes, whatever config.json contains', () => {
  const json = fc.dictionary(
    fc.constantFrom('agent', 'owner', 'x', 'a b'),
    fc.oneof(
      fc.dictionary(fc.constantFrom('backend', 'users', 'y'), fc.string(), { noNullPrototype: true }),
      fc.constant(null),
    ),
    { noNullPrototype: true },
  )
  fc.assert(
    fc.property(json, fc.boolean(), fc.string(), (before, pretty, value) => {
      const text = `// c\n${JSON.stringify(before, null, pretty ? 2 : 0)}`
      const after = readJson(edit(text, { 'agent.backend': value }))
      expect(after.ok && JSON.parse(JSON.stringify(after.value))).toEqual({
        ...before,
        agent: { ...before.agent, backend: value },
      })
    }),
    { numRuns: 200 },
  )
})

const put = (text: string, variables: Record<string, string>) => withVariables(text, new Map(Object.entries(variables)))

test('a variable is added to .env or changed in its line; everything else stays', () => {
  expect(put('', { TOKEN: 'abc' })).toBe('TOKEN=abc\n')
  expect(put('# mine\nA=1', { TOKEN: 'abc' })).toBe('# mine\nA=1\nTOKEN=abc\n')
  expect(put('A=1\n  export TOKEN = "old" # x\nB="2"\n', { TOKEN: 'new' })).toBe('A=1\nTOKEN=new\nB="2"\n')
  expect(put('', { CONFIG_DIR: "/my work/it's" })).toBe("CONFIG_DIR=`/my work/it's`\n")
})

test('.env is not edited if a line only looks like the variable', () => {
  expect(() => put('A="1\nTOKEN=old\n2"\n', { TOKEN: 'new' })).toThrow('by hand')
  expect(() => put('', { TOKEN: 'a\nb' })).toThrow('cannot be written')
  expect(() => put('', { TOKEN: '\'`"' })).toThrow('cannot be written')
})

test('every value written to .env reads back unchanged, or is refused', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), value => {
      let text: string
      try {
        text = put('A=1\n', { TOKEN: value })
      } catch {
        return
      }
      expect(parseEnv(text)).toEqual({ A: '1', TOKEN: value })
    }),
    { numRuns: 500 },
  )
})
