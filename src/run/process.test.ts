// What becomes of a process that stays up when it leaves.
import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { startProcess } from './process.ts'

const started = (script: string) =>
  startProcess({
    ...{ file: '/bin/sh', args: ['-c', script], env: { PATH: process.env.PATH ?? '' }, cwd: tmpdir() },
    input: null,
  })

test('one that stays up is gone as soon as it has left: a turn may wait for that', async () => {
  const child = started('echo up; read -r _; echo bye')
  const lines = child.lines[Symbol.asyncIterator]()
  expect((await lines.next()).value).toBe('up')
  const began = performance.now()
  child.endInput()
  expect(await child.end).toMatchObject({ code: 0, trouble: null })
  expect(performance.now() - began).toBeLessThan(700)
  expect((await lines.next()).value).toBe('bye')
})

test('one that something in the background keeps the output of is waited for a moment, and no longer', async () => {
  const child = started('sleep 5 & exit 3')
  const began = performance.now()
  expect(await child.end).toMatchObject({ code: 3 })
  expect(performance.now() - began).toBeLessThan(3000)
  child.kill()
})
