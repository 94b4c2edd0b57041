// Limits on the output of a program.
import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { startProcess } from './process.ts'

const writing = (script: string) =>
  startProcess({
    ...{ file: '/bin/sh', args: ['-c', script], env: { PATH: process.env.PATH ?? '' }, cwd: tmpdir(), input: '' },
  })

test('a process that writes endlessly is killed after 256 MB, even with short lines', async () => {
  const child = writing(`exec yes ${'x'.repeat(100_000)}`)
  let bytes = 0
  for await (const line of child.lines) bytes += line.length + 1
  expect(await child.end).toMatchObject({ trouble: 'too-much-output' })
  expect(bytes).toBeLessThanOrEqual(256 * 1024 * 1024)
  expect(bytes).toBeGreaterThan(200 * 1024 * 1024)
})

test('a process that writes an endless line is killed too', async () => {
  const child = writing('exec tr "\\0" x < /dev/zero')
  for await (const _ of child.lines);
  expect(await child.end).toMatchObject({ trouble: 'line-too-long' })
})
