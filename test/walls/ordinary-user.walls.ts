// The walls for a gateway that does not run as root: boxes and their networks.
import { spawnSync } from 'node:child_process'
import { chownSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { noBox } from './stage.ts'

const root = resolve(import.meta.dirname, '../..')
/** Nobody has this number here, so it may do nothing that others may not. */
const uid = 54_321
const dir = mkdtempSync(join(tmpdir(), 'aetheel-user-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

const why =
  process.getuid?.() !== 0
    ? 'everything else already runs as an ordinary user'
    : (noBox ?? (spawnSync('setpriv', ['--version']).status === 0 ? null : 'there is no setpriv (Debian: util-linux)'))
if (why !== null) console.log(`NOT RUN: as an ordinary user: ${why}`)

function asUser(args: readonly string[]) {
  chownSync(dir, uid, uid)
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: dir,
    TMPDIR: dir,
    XDG_CACHE_HOME: join(dir, 'cache'),
    NO_COLOR: '1',
  }
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const run = ['--reuid', String(uid), '--regid', String(uid), '--clear-groups', process.execPath, vitest, 'run']
  // Its configuration must not be written into the folder of packages, which belongs to somebody else.
  const { status, stdout, stderr } = spawnSync('setpriv', [...run, '--configLoader', 'runner', ...args], {
    ...{ env, cwd: root, encoding: 'utf8' },
  })
  return { status, said: `${stdout}${stderr}` }
}

test.skipIf(why !== null)('boxes and their networks hold', () => {
  const { status, said } = asUser(['src/run/profiles.test.ts', 'src/run/network/box.test.ts'])
  expect(said).not.toContain('NOT RUN')
  expect(said).toContain('perl as the forwarder')
  expect(status, said).toBe(0)
})
