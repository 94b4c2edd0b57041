// A program is found as a shell finds it; its version is that of its npm package, behind the link in `bin`.
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { findProgram, packageVersion } from './find-program.ts'

const dir = mkdtempSync(join(tmpdir(), 'aetheel-find-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))
const bin = join(dir, 'bin')
mkdirSync(bin)

function installed(name: string, manifest: string | null): void {
  const home = join(dir, 'lib', name)
  mkdirSync(join(home, 'dist'), { recursive: true })
  if (manifest !== null) writeFileSync(join(home, 'package.json'), manifest)
  writeFileSync(join(home, 'dist', 'cli.js'), '')
  chmodSync(join(home, 'dist', 'cli.js'), 0o755)
  symlinkSync(join(home, 'dist', 'cli.js'), join(bin, name))
}

test('the version is that of the package the program belongs to', () => {
  installed('tool', '{"version":"1.5.0"}')
  expect(findProgram('tool', `/nowhere:${bin}`)).toBe(join(bin, 'tool'))
  expect(packageVersion('tool', bin)).toBe('1.5.0')
  expect(packageVersion(join(bin, 'tool'), undefined)).toBe('1.5.0')
})

test('without a package, or with a damaged or odd one, there is none', () => {
  installed('bare', null)
  installed('damaged', '{"version":')
  installed('odd', '{"version":7}')
  for (const name of ['bare', 'damaged', 'odd', 'missing']) expect(packageVersion(name, bin), name).toBeNull()
})
