// Without file descriptors nothing is known about a file, not even that it is missing.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'

test('a file that cannot be opened for lack of descriptors does not count as missing', () => {
  const script = `
    import { openSync } from 'node:fs'
    import { readExcerpt } from ${JSON.stringify(join(import.meta.dirname, 'workspace.ts'))}
    const read = () => readExcerpt(${JSON.stringify(import.meta.filename)}, 'x.md', 10_000, 'start').type
    const before = read()
    try { for (;;) openSync('/dev/null') } catch {}
    try { console.log(before, read()) } catch (error) { console.log(before, error.code) }`
  const args = ['-c', 'ulimit -n 64; exec "$@"', 'sh', process.execPath, '--input-type=module', '-e', script]
  expect(spawnSync('/bin/sh', args, { encoding: 'utf8' }).stdout).toBe('text EMFILE\n')
})
