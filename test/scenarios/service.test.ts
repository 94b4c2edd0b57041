// `aetheel service`, the real program with a fake systemctl that records its calls.
import { spawn } from 'node:child_process'
import { chmodSync, existsSync, fstatSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type TemporaryHome, temporaryHome } from '../fakes/temporary.ts'
import { runCommand, token } from '../harness/gateway.ts'

let home: TemporaryHome
let tools: string
const file = () => join(home.dir, '.config/systemd/user/aetheel.service')
const asked = () =>
  existsSync(join(home.dir, 'asked')) ? readFileSync(join(home.dir, 'asked'), 'utf8').split('\n').slice(0, -1) : []

/** A systemctl that records its arguments and then runs this. */
function systemctl(script = ''): void {
  writeFileSync(join(tools, 'systemctl'), `#!/bin/sh\necho "$@" >> "$HOME/asked"\n${script}\n`)
  chmodSync(join(tools, 'systemctl'), 0o755)
}

beforeAll(async () => {
  home = await temporaryHome()
  tools = join(home.dir, 'tools')
  mkdirSync(tools)
})
afterAll(() => home[Symbol.asyncDispose]())
beforeEach(() => {
  for (const old of [file(), join(home.dir, 'asked')]) rmSync(old, { force: true })
  systemctl('[ "$2" = is-active ] && exit 3; exit 0')
})

async function service(args: readonly string[], env: Record<string, string> = {}) {
  const run = runCommand(home, ['service', ...args], { PATH: `${tools}:/usr/bin:/bin`, XDG_CONFIG_HOME: '', ...env })
  const code = await run.exit
  return { code, out: run.stdout(), err: run.stderr() }
}

test('install writes the unit, enables it, and says how to undo it and how to keep it running', async () => {
  const { code, out, err } = await service(['install'], { ANTHROPIC_API_KEY: 'sk-secret-of-the-shell', HTTP_TOKEN: '' })
  expect([code, err]).toEqual([0, ''])
  expect(out).toContain(`Written: ${file()}`)
  expect(out).toContain('npx aetheel service remove')
  expect(out).toContain('loginctl enable-linger')
  expect(out).toMatch(/Set only in this shell.*ANTHROPIC_API_KEY/)
  expect(asked().slice(-2)).toEqual(['--user daemon-reload', '--user enable --now aetheel.service'])
  const unit = readFileSync(file(), 'utf8')
  expect(unit).not.toContain('sk-secret-of-the-shell')
  expect(unit).toContain(`--config-dir ${home.configDir}`)
  expect(unit).toContain(`WorkingDirectory=${home.dir}`)
  expect((await service(['install', '--print'])).out).toBe(unit)
}, 20_000)

test('an identical unit is left alone; a different one is shown as a diff and replaced only with --force', async () => {
  await service(['install'])
  expect((await service(['install'])).out).toContain(`Unchanged: ${file()}`)
  const before = readFileSync(file(), 'utf8')
  const other = await service(['install'], { STOP_TIMEOUT_MS: '90000' })
  expect(other.code).toBe(1)
  expect(other.err).toContain('-TimeoutStopSec=75\n    +TimeoutStopSec=195')
  expect(readFileSync(file(), 'utf8')).toBe(before)
  systemctl() // it runs
  const forced = await service(['install', '--force', '--json'], { STOP_TIMEOUT_MS: '90000' })
  expect(JSON.parse(forced.out)).toMatchObject({ file: file(), unit: 'written', enabled: true })
  expect(asked().at(-1)).toBe('--user restart aetheel.service')
  expect(readFileSync(file(), 'utf8')).toContain('TimeoutStopSec=195')
}, 30_000)

test('remove disables, deletes and reloads; the second time there is nothing to remove', async () => {
  await service(['install'])
  const { code, out } = await service(['remove'])
  expect([code, out]).toEqual([0, `Removed: ${file()}\n`])
  expect(asked().slice(-2)).toEqual(['--user disable --now aetheel.service', '--user daemon-reload'])
  expect(existsSync(file())).toBe(false)
  expect(await service(['remove'])).toMatchObject({ code: 0, out: expect.stringContaining('nothing to remove') })
  mkdirSync(join(file(), '..'), { recursive: true })
  writeFileSync(file(), '[Service]\nExecStart=/bin/true\n')
  expect(await service(['remove'])).toMatchObject({ code: 1, err: expect.stringContaining('--force') })
  expect(await service(['remove', '--force', '--json'])).toMatchObject({
    code: 0,
    out: expect.stringContaining('"removed": true'),
  })
}, 20_000)

test('status shows the unit and systemd’s state, and exits with 0 only if it runs', async () => {
  expect(await service(['status'])).toMatchObject({ code: 1, out: expect.stringContaining('service install') })
  await service(['install'])
  systemctl('case $2 in is-enabled) echo enabled;; is-active) echo active;; esac')
  const { code, out } = await service(['status'])
  expect(out).toMatch(/systemd runs Aetheel\n {2}unit +\S+aetheel.service\n {2}enabled +enabled\n {2}active +active\n/)
  expect(code).toBe(0)
  expect(JSON.parse((await service(['status', '--json'])).out)).toEqual({
    file: file(),
    unit: 'same',
    enabled: true,
    active: true,
  })
}, 20_000)

test('without systemd nothing is written, and it says what to do instead', async () => {
  const without = await service(['install'], { PATH: tools.replace('tools', 'nothing') })
  expect(without).toMatchObject({ code: 1, out: expect.stringContaining('no systemctl on the PATH') })
  expect(without.out).toContain('npx aetheel start')
  expect(existsSync(file())).toBe(false)
  systemctl('echo "System has not been booted with systemd as init system (PID 1)." >&2; exit 1')
  const unbooted = await service(['install', '--json'])
  expect(JSON.parse(unbooted.out)).toMatchObject({ unit: 'not written', enabled: false, running: false })
  expect(unbooted.out).toContain('This machine does not run systemd.')
  systemctl('echo "Failed to connect to bus: No medium found" >&2; exit 1')
  const { code, out } = await service(['install'])
  expect(code).toBe(1)
  expect(out).toContain('failed: Failed to connect to bus: No medium found')
  expect(out).toContain('There is no systemd session of this user here.')
  expect(existsSync(file())).toBe(false)
}, 20_000)

test('if systemctl refuses, it says what is left to do', async () => {
  systemctl('[ "$2" = enable ] && echo "Unit is masked." >&2 && exit 1; [ "$2" = is-active ] && exit 3; exit 0')
  const { code, out } = await service(['install'])
  expect(code).toBe(1)
  expect(out).toContain('failed: Unit is masked.')
  expect(out).toContain('  systemctl --user enable --now aetheel.service')
  expect(existsSync(file())).toBe(true)
}, 20_000)

test('a gateway that was started by hand is not disturbed', async () => {
  const gateway = await home.start({ AGENT_BACKEND: 'echo' })
  const { out } = await service(['install'])
  expect(out).toContain(`A gateway runs here already (process ${gateway.pid}). Stop it, then: systemctl --user start`)
  expect(asked().at(-1)).toBe('--user enable aetheel.service')
  await gateway.stop()
}, 20_000)

test('a configuration with mistakes is not installed', async () => {
  const { code, err } = await service(['install'], { HTTP_PORT: 'many' })
  expect(code).toBe(1)
  expect(err).toContain('HTTP_PORT')
  expect(existsSync(file())).toBe(false)
})

test('the journal, which others may read, contains no token', async () => {
  const main = resolve(import.meta.dirname, '../../src/main.ts')
  const started = async (journal: (id: string) => string) => {
    const path = join(home.dir, 'output')
    const out = openSync(path, 'w')
    const { dev, ino } = fstatSync(out)
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', main, 'start'], {
      cwd: home.dir,
      stdio: ['ignore', out, out],
      env: {
        ...{ PATH: '/usr/bin:/bin', HOME: home.dir, CONFIG_DIR: home.configDir, AGENT_BACKEND: 'echo' },
        ...{ HTTP_TOKEN: token, HTTP_PORT: '0', JOURNAL_STREAM: journal(`${dev}:${ino}`) },
      },
    })
    const ended = new Promise(done => child.on('exit', done))
    await expect.poll(() => readFileSync(path, 'utf8'), { timeout: 15_000 }).toMatch(/Control .*\n[\s\S]*\n$/)
    child.kill()
    await ended
    return readFileSync(path, 'utf8')
  }
  const inJournal = await started(id => id)
  expect(inJournal).not.toContain(token)
  expect(inJournal).toContain('"npx aetheel status" prints the links with the token.')
  // Inherited, as in a terminal started by systemd.
  expect(await started(() => '1:2')).toContain(`/chat?token=${token}`)
}, 40_000)
