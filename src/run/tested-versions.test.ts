// Installed CLIs are compared with the tested versions by their files alone.
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { installedClis, testedVersions } from './tested-versions.ts'

const dir = mkdtempSync(join(tmpdir(), 'aetheel-versions-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

function install(name: string, version: string, file = `lib/${name}/bin/${name}`): void {
  const program = join(dir, file)
  mkdirSync(dirname(program), { recursive: true })
  mkdirSync(join(dir, 'bin'), { recursive: true })
  writeFileSync(program, 'not started')
  chmodSync(program, 0o755)
  if (file.startsWith('lib/'))
    writeFileSync(join(dir, 'lib', name, 'package.json'), JSON.stringify({ name: `@vendor/${name}-cli`, version }))
  symlinkSync(program, join(dir, 'bin', name))
}

test('older ones are told from the same and newer ones, and from those that do not say', () => {
  install('codex', '0.99.9')
  install('gemini', testedVersions.gemini)
  install('pi', '1.5.0')
  install('claude', '', 'share/claude/versions/2.0.400')
  const path = join(dir, 'bin')
  const found = installedClis(path, { name: null, program: null })
  expect(found.map(({ name, version, isOlder }) => [name, version, isOlder])).toEqual([
    ['claude', '2.0.400', true],
    ['codex', '0.99.9', true],
    ['gemini', testedVersions.gemini, false],
    ['pi', '1.5.0', false],
  ])
  // A program of that name in the folder of another package has no version that could be compared.
  expect(installedClis('', { name: 'opencode', program: join(path, 'pi') })).toMatchObject([{ version: null }])
  const bare = join(dir, 'opencode-of-mine')
  writeFileSync(bare, '')
  chmodSync(bare, 0o755)
  expect(installedClis('', { name: 'opencode', program: bare })).toEqual([
    { name: 'opencode', version: null, tested: testedVersions.opencode, isOlder: false },
  ])
})
