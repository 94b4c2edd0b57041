// A listed mutant that matches no line any more would silently count again.
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { equivalents } from './equivalent.ts'

const root = resolve(import.meta.dirname, '../..')

test.each(equivalents.map(one => [one.file, one.line, one] as const))('%s has the line "%s"', (file, line, { was }) => {
  const lines = readFileSync(resolve(root, file), 'utf8')
    .split('\n')
    .map(one => one.trim())
  expect(lines).toContain(line)
  expect(line).toContain(was)
})
