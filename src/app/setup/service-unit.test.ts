// The unit as systemd reads it.
import { spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { nodeFlags, type UnitParts, unitText } from './service-unit.ts'

const plain: UnitParts = {
  node: '/opt/node/bin/node',
  program: '/opt/aetheel/bin/aetheel.mjs',
  configDir: '/home/ada/aetheel',
  workingDir: '/home/ada',
  path: '/usr/bin:/bin',
  stopTimeoutMs: 30_000,
  namespaces: true,
}
const lineOf = (text: string, name: string) =>
  text
    .split('\n')
    .find(line => line.startsWith(`${name}=`))
    ?.slice(name.length + 1) ?? ''

test('it uses absolute paths and the flags of the launcher, and lets running turns end', () => {
  const text = unitText(plain)
  expect(lineOf(text, 'ExecStart')).toBe(
    `/opt/node/bin/node ${nodeFlags.join(' ')} /opt/aetheel/bin/aetheel.mjs start --config-dir /home/ada/aetheel`,
  )
  expect(lineOf(text, 'WorkingDirectory')).toBe('/home/ada')
  // Running turns get this time, and then the shutdown hook gets it.
  expect(Number(lineOf(text, 'TimeoutStopSec'))).toBeGreaterThan(60)
  expect(lineOf(unitText({ ...plain, stopTimeoutMs: 90_500 }), 'TimeoutStopSec')).toBe('196')
  const launcher = readFileSync(join(import.meta.dirname, '../../../bin/aetheel'), 'utf8')
  expect(launcher).toContain(`"$node" ${nodeFlags.join(' ')} "$home/bin/aetheel.mjs"`)
})

test('it gives up privileges that nobody needs, and keeps what agents and their walls need', () => {
  const text = unitText(plain)
  expect(['UMask', 'NoNewPrivileges', 'ProtectSystem'].map(name => lineOf(text, name))).toEqual(['0077', 'yes', 'full'])
  for (const name of ['MemoryHigh', 'MemoryMax', 'TasksMax']) expect(lineOf(text, name), name).not.toBe('')
  for (const name of ['RestrictNamespaces', 'ProtectHome', 'PrivateTmp', 'PrivateNetwork', 'MemoryDenyWriteExecute'])
    expect(lineOf(text, name), name).toBe('')
  expect(unitText({ ...plain, namespaces: false })).not.toContain('ProtectSystem')
})

test('for any folder name, systemd reads the arguments that were meant', () => {
  const path = fc
    .string({ unit: fc.constantFrom(...'ab/ %$"\'\\;#{}~é'), minLength: 1, maxLength: 20 })
    .map(name => `/${name}`)
  fc.assert(
    fc.property(path, path, (configDir, program) => {
      const line = lineOf(unitText({ ...plain, configDir, program }), 'ExecStart')
      expect(wordsOf(line)).toEqual([plain.node, ...nodeFlags, program, 'start', '--config-dir', configDir])
    }),
    { numRuns: 300 },
  )
  expect(lineOf(unitText({ ...plain, workingDir: '/a "b" 50% $c' }), 'WorkingDirectory')).toBe('/a "b" 50%% $c')
  expect(lineOf(unitText({ ...plain, path: '/a b:/50%' }), 'Environment')).toBe('"PATH=/a b:/50%%"')
})

/** By systemd.syntax(7) and systemd.service(5): quotes, backslashes, specifiers, then variables in all words but the first. */
function wordsOf(line: string): string[] {
  const words = [...line.matchAll(/"((?:\\.|[^"\\])*)"|[^\s"]+/g)].map(([whole, inner]) =>
    (inner?.replace(/\\(["\\])/g, '$1') ?? whole).replace(/%(.?)/g, (_, next) => (next === '%' ? '%' : '<specifier>')),
  )
  return words.map((word, i) =>
    i === 0 ? word : word.replace(/\$(.?)/g, (_, next) => (next === '$' ? '$' : '<variable>')),
  )
}

test('a program whose name systemd does not accept is started by a shell, with the same arguments', () => {
  const node = '/odd "node" \\ $HOME'
  const [sh, c, script, ...words] = wordsOf(lineOf(unitText({ ...plain, node }), 'ExecStart'))
  expect([sh, c, script]).toEqual(['/bin/sh', '-c', 'exec "$0" "$@"'])
  expect(words.slice(0, 3)).toEqual([node, ...nodeFlags])
})

test.each(['/home/a\nb', '/home/a '])('a folder that a unit cannot name is refused: %j', workingDir => {
  expect(() => unitText({ ...plain, workingDir })).toThrow(/systemd/)
})

const hasVerify = spawnSync('systemd-analyze', ['--version']).status === 0

test.skipIf(!hasVerify)('systemd itself finds nothing wrong with it (skipped without systemd-analyze)', () => {
  const dir = mkdtempSync(join(tmpdir(), 'aetheel-unit-'))
  try {
    const odd = join(dir, 'odd "50%" $HOME \'x\'')
    mkdirSync(odd)
    copyFileSync('/bin/true', join(odd, 'node'))
    chmodSync(join(odd, 'node'), 0o755)
    const verify = (parts: Partial<UnitParts>) => {
      writeFileSync(join(dir, 'aetheel.service'), unitText({ ...plain, ...parts }))
      const env = { ...process.env, XDG_RUNTIME_DIR: dir }
      const ran = spawnSync('systemd-analyze', ['--user', 'verify', '--man=no', join(dir, 'aetheel.service')], { env })
      return String(ran.stderr)
        .split('\n')
        .filter(line => line.includes('aetheel'))
    }
    expect(verify({ node: join(odd, 'node'), workingDir: odd, configDir: odd })).toEqual([])
    const spaced = join(dir, 'with 50% $HOME')
    cpSync(odd, spaced, { recursive: true })
    expect(verify({ node: join(spaced, 'node'), workingDir: spaced })).toEqual([])
    // Otherwise there would be a warning.
    expect(verify({ node: join(dir, 'nobody') }).join()).toContain('not executable')
  } finally {
    rmSync(dir, { recursive: true })
  }
})
