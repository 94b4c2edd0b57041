// A fault that matches no line, or names no existing test, proves nothing; this test notices it before `npm run test:faults` runs.
import { readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { applies, faults } from './faults.ts'

const root = resolve(import.meta.dirname, '../..')

test.each(Object.entries(faults))('the fault applies to the code, and its test exists: %s', (_, fault) => {
  expect(applies(fault)).toBe(true)
  if (!fault.noticedBy) return
  const { test: file, name } = fault.noticedBy
  expect(mayContain(textOf(join(root, file)), name), `no test of ${file} is called ${name}`).toBe(true)
})

test('names are found where they are written out, and around the placeholders of a table', () => {
  const text =
    "test.each([['begun anew']])('what was said waits (session %s)') describe(`${how} while it runs: no`, ['is gone'])"
  for (const name of ['was said waits', '(session begun anew)', 'is gone while it runs'])
    expect(mayContain(text, name)).toBe(true)
  for (const name of ['was said and waits', '(session resumed)', 'is gone when it runs'])
    expect(mayContain(text, name)).toBe(false)
})

/** Of the file and of the suites that it imports. */
function textOf(file: string): string {
  const text = readFileSync(file, 'utf8')
  const suites = [...text.matchAll(/from '(\.[^']*\.suite\.ts)'/g)].map(([, path]) =>
    textOf(join(dirname(file), path ?? '')),
  )
  return [text, ...suites].join('\n')
}

/** Whether the name may be part of a test's title, in which placeholders stand for values of a table. */
function mayContain(text: string, name: string): boolean {
  const parts = name.match(/\w+|\W/g) ?? []
  return parts.some((_, from) =>
    parts.some((_, to) => {
      const filled = parts.slice(from, to + 1).join('')
      const before = escaped(parts.slice(0, from).join(''))
      const after = escaped(parts.slice(to + 1).join(''))
      if (filled === '' || !text.includes(filled)) return false
      return before + after === '' || new RegExp(`${before}(%[sdij]|\\$\\w+|\\$\\{[^}]*\\})${after}`).test(text)
    }),
  )
}

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
