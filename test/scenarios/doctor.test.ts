// `aetheel doctor` with the whole program: without any CLI, with fake CLIs, with a running gateway, with mistakes.
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import product from '../../package.json' with { type: 'json' }
import { eventually, exitOf, isAlive, type TemporaryHome, temporaryHome } from '../fakes/temporary.ts'
import { processesWith, runCommand, standIn, token } from '../harness/gateway.ts'

const key = 'sk-ant-this-key-must-not-be-seen'
const fakes = dirname(standIn)

interface Machine extends TemporaryHome {
  /** Runs `aetheel doctor`; only the programs in the test's own folder are installed. */
  doctor(args?: readonly string[], env?: Record<string, string>): Promise<{ code: unknown; out: string; err: string }>
  begin(args: readonly string[], env?: Record<string, string>): ReturnType<typeof runCommand>
  install(...names: readonly string[]): void
  /** A script by that name. */
  write(name: string, script: string): void
  temporary(): string[]
  readonly environment: Record<string, string>
}

async function machine(): Promise<Machine> {
  const home = await temporaryHome()
  const bin = join(home.dir, 'bin')
  const tmp = join(home.dir, 'tmp')
  for (const dir of [bin, tmp]) mkdirSync(dir)
  symlinkSync(process.execPath, join(bin, 'node'))
  for (const tool of ['cat', 'sleep']) symlinkSync(`/bin/${tool}`, join(bin, tool))
  const environment = { PATH: bin, TMPDIR: tmp }
  const begin: Machine['begin'] = (args, env = {}) => runCommand(home, ['doctor', ...args], { ...environment, ...env })
  return {
    ...home,
    environment,
    begin,
    async doctor(args = [], env = {}) {
      const run = begin(args, env)
      const code = await exitOf({ exit: run.exit, output: () => run.stdout() + run.stderr() })
      expect(run.stderr()).not.toMatch(/^\s+at |node:internal/m)
      expect(processesWith(home.dir)).toEqual([])
      return { code, out: run.stdout(), err: run.stderr() }
    },
    install: (...names) => {
      for (const name of names) symlinkSync(join(fakes, `${name}.mjs`), join(bin, name))
    },
    write: (name, script) => writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 }),
    temporary: () => readdirSync(tmp),
  }
}

/** The fake claude, with a prompt that makes it misbehave. */
const claudeThat = (does: string) =>
  `case "$*" in *--version*) exec ${standIn} "$@";; esac\n{ cat; printf '${does}'; } | ${standIn} "$@"`

test('on a machine without any agent everything else is checked, and it says how to install one', async () => {
  await using here = await machine()
  const { code, out, err } = await here.doctor()
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(out).toContain(`Aetheel ${product.version}\n`)
  expect(out).toMatch(/^ok {4}node +24\.\d+\.\d+ with SQLite /m)
  expect(out).toMatch(/^ok {4}configuration +valid/m)
  expect(out).toContain(`${here.configDir} will be created at the first start`)
  expect(out).toMatch(
    /^warn {2}backend +no agent CLI was found, .*\n +→ For example claude: Install it with `npm install/m,
  )
  for (const name of ['claude', 'codex', 'gemini', 'opencode', 'pi'])
    expect(out).toMatch(new RegExp(`^- +${name} +not installed → \`npm install -g .*\`$`, 'm'))
  expect(out).not.toContain('\x1b')
  expect(readdirSync(here.dir).sort()).toEqual(['bin', 'tmp'])

  const live = await here.doctor(['--live'])
  expect(live.code).toBe(1)
  expect(live.out).toMatch(/^fail {2}live +not tried: there is no agent to ask$/m)
})

test('installed backends are listed with path and version, and the first one is used', async () => {
  await using here = await machine()
  here.install('codex', 'gemini')
  const { code, out } = await here.doctor()
  expect(code).toBe(0)
  expect(out).toMatch(/^ok {4}backend +codex answers: the first one found, because AGENT_BACKEND is not set$/m)
  expect(out).toContain(`${join(here.dir, 'bin/codex')} codex-cli 9.9.9; no sign of a login\n`)
  expect(out).toMatch(/^warn {2}codex .*\n +→ Log in once with `codex login`, or set [A-Z_]+_KEY\.$/m)
  expect(out).toMatch(/^ok {4}gemini .*no sign of a login$/m)
  expect(out).toMatch(/^Nothing failed; \d warnings?\./m)
})

test('options that the selected backend cannot enforce are listed with it', async () => {
  await using here = await machine()
  here.install('claude', 'codex')
  const env = { ALLOWED_TOOLS: 'Read', ASK_TOOLS: 'none' }
  const { code, out } = await here.doctor([], { ...env, AGENT_BACKEND: 'codex' })
  expect(code).toBe(0)
  expect(out).toMatch(/\n.{6}codex .*(\n {10}.*)?\nwarn {2}codex .*ALLOWED_TOOLS/)
  expect((await here.doctor([], { ...env, AGENT_BACKEND: 'claude' })).out).not.toContain('ALLOWED_TOOLS')
})

test('a login is detected by a variable or a file, and neither is shown', async () => {
  await using here = await machine()
  here.install('claude')
  here.write('pi', 'echo 1.0 "$ANTHROPIC_API_KEY"')
  const byVariable = await here.doctor([], { ANTHROPIC_API_KEY: key })
  expect(byVariable.out).toMatch(/^ok {4}pi .*\/pi 1\.0 \*+; logged in by ANTHROPIC_API_KEY$/m)
  expect(byVariable.out).toMatch(/^ok {4}claude .*; logged in by ANTHROPIC_API_KEY$/m)
  expect(byVariable.out).not.toContain(key)
  mkdirSync(join(here.dir, '.claude'))
  writeFileSync(join(here.dir, '.claude/.credentials.json'), key, { mode: 0o600 })
  const byFile = await here.doctor()
  expect(byFile.out).toMatch(/^ok {4}claude .*; logged in by ~\/\.claude\/\.credentials\.json$/m)
  expect(byFile.out).not.toContain(key)
  expect(byFile.out).toContain('Everything is fine.')
})

test('all programs are asked for their version at the same time', async () => {
  await using here = await machine()
  // Each waits for the other: sequentially, neither would ever answer.
  const waitFor = (own: string, other: string) =>
    `: > "$HOME/${own}"\nwhile [ ! -e "$HOME/${other}" ]; do sleep 0.02; done\necho ${own} 1.0`
  here.write('claude', waitFor('one', 'two'))
  here.write('pi', waitFor('two', 'one'))
  const { out } = await here.doctor()
  expect(out).toMatch(/^warn {2}claude .* one 1\.0;/m)
  expect(out).toMatch(/^ok {4}pi .* two 1\.0;/m)
})

test('a selected program that is missing or broken is a failure, with how to install it', async () => {
  await using here = await machine()
  const missing = await here.doctor(['--backend', 'gemini', '--live'])
  expect(missing.code).toBe(1)
  expect(missing.out).toMatch(/^ok {4}backend +gemini answers: set by --backend$/m)
  expect(missing.out).toMatch(/^fail {2}gemini +the program "gemini" was not found\n +→ Install it with `npm install/m)
  expect(missing.out).toMatch(/^- +live +not tried: gemini does not run$/m)
  expect(missing.out).toContain('1 problem must be fixed.')
  here.write('gemini', `echo "Cannot find module ${key}" >&2; exit 7`)
  const broken = await here.doctor([], { AGENT_BACKEND: 'gemini', GEMINI_API_KEY: key })
  expect(broken.code).toBe(1)
  expect(broken.out).toMatch(/^fail {2}gemini .*\/bin\/gemini does not run \(Cannot find module …/m)
  expect(broken.out).not.toContain(key)
  const beside = await here.doctor([], { AGENT_BACKEND: 'echo' })
  expect(beside.code).toBe(0)
  expect(beside.out).toMatch(/^warn {2}gemini .* does not run/m)
  // BACKEND_CLI_PATH applies only to the selected backend.
  expect(broken.out).toContain('BACKEND_CLI_PATH')
  expect(beside.out).not.toContain('BACKEND_CLI_PATH')
})

test('--live proves it with a real turn and leaves nothing behind', async () => {
  await using here = await machine()
  here.install('claude')
  const { code, out } = await here.doctor(['--live'], { CLAUDE_CODE_OAUTH_TOKEN: key })
  expect(code).toBe(0)
  expect(out).toMatch(
    /^ok {4}live +claude answered in \d[\d.]* m?s, the first word after \d[\d.]* m?s: turn 1: Reply with the word ready\.$/m,
  )
  expect(here.begun()).toMatchObject([{ prompt: 'Reply with the word ready.' }])
  expect(here.temporary()).toEqual([])
})

test('--live says why there was no answer, and what to do', async () => {
  await using here = await machine()
  here.write('claude', claudeThat('[[login]]'))
  const login = await here.doctor(['--live'], { ANTHROPIC_API_KEY: key })
  expect(login.code).toBe(1)
  expect(login.out).toMatch(
    /^fail {2}live +no answer after .* Not logged in: claude needs a login .* It said: Not logged in/m,
  )
  expect(login.out).toMatch(/^fail {2}live .*\n +→ Log in once with `claude`, or set ANTHROPIC_API_KEY\.$/m)
  here.write('claude', claudeThat('[[dieafter]]'))
  expect((await here.doctor(['--live'])).out).toMatch(/^fail {2}live .* Crashed: claude ended unexpectedly/m)
  here.write('claude', claudeThat(`[[api:400]] ${key}`))
  expect((await here.doctor(['--live'])).out).toMatch(/^fail {2}live .* Refused: claude did not accept this request/m)
  expect(here.temporary()).toEqual([])
})

test.each([
  ['', 1],
  ['[[ignoreterm]]', 2],
])('Ctrl-C during a turn%s ends it with all its processes, and exits with 130', async (deaf, times) => {
  await using here = await machine()
  here.write('claude', claudeThat(`[[grandchild]][[hang]]${deaf}`))
  const run = here.begin(['--live'])
  const children = () => here.journal().filter(entry => entry.what === 'grandchild')
  await eventually('the turn', () => children().length === 1)
  for (let i = 0; i < times; i++) {
    run.child.kill('SIGINT')
    await new Promise(resolve => setTimeout(resolve, 100))
  }
  expect(await exitOf({ exit: run.exit, output: run.stderr })).toBe(130)
  await eventually('no process', () => processesWith(here.dir).length === 0)
  expect(isAlive(Number(children()[0]?.child))).toBe(false)
  expect(here.temporary()).toEqual([])
})

test('all mistakes in the configuration are reported, and the rest is still checked', async () => {
  await using here = await machine()
  here.install('claude')
  mkdirSync(here.configDir)
  writeFileSync(join(here.configDir, 'config.json'), '{\n  "http": { "port": 1234\n')
  const { code, out } = await here.doctor(['--live'], { BUSY: 'sometimes', ANTHROPIC_API_KEY: key })
  expect(code).toBe(1)
  expect(out).toMatch(/^fail {2}configuration .*config\.json.*line 3, column 1/m)
  expect(out).toMatch(/^fail {2}configuration .*BUSY.*"sometimes".*reject.*queue/m)
  expect(out).toContain(`${here.configDir} is writable`)
  expect(out).toMatch(/^- +backend +a backend is chosen once/m)
  expect(out).toMatch(/^ok {4}claude .*logged in by ANTHROPIC_API_KEY/m)
  expect(out).toMatch(/^- +live +not tried: the configuration has mistakes$/m)
  expect(out).toContain('2 problems must be fixed.')
  expect(out).not.toContain(key)
})

test('a running gateway is reported with its URL, and its database is left alone', async () => {
  await using here = await machine()
  const gateway = await here.start({ AGENT_BACKEND: 'echo' })
  const doctor = async (env: Record<string, string> = {}) => {
    const run = here.begin([], env)
    expect(await exitOf({ exit: run.exit, output: run.stderr })).toBe('BUSY' in env ? 1 : 0)
    return run.stdout()
  }
  const out = await doctor()
  const row = `runs: ${gateway.url}, process ${gateway.pid}, version ${product.version}, echo answers`
  expect(out).toContain(row)
  expect(out).toMatch(/^ok {4}database +in use by the running gateway$/m)
  expect(out).toContain(`the running gateway has ${new URL(gateway.url).port}`)
  expect(out).not.toContain(token)
  // Even if a gateway would no longer start.
  expect(await doctor({ BUSY: 'sometimes' })).toContain(row)
  await gateway.stop()
  expect((await here.doctor()).out).toMatch(/^ok {4}database +opens \(/m)
})

test('a configured port that is in use is a failure', async () => {
  await using here = await machine()
  const other = createServer().listen(0, '127.0.0.1')
  await new Promise(resolve => other.once('listening', resolve))
  const { port } = other.address() as { port: number }
  const { code, out } = await here.doctor([], { HTTP_PORT: String(port) })
  other.close()
  expect(code).toBe(1)
  expect(out).toMatch(
    new RegExp(`^fail {2}port +${port} on 127\\.0\\.0\\.1 is in use by .*process ${process.pid}`, 'm'),
  )
})

test('--json has the shape that programs rely on', async () => {
  await using here = await machine()
  here.install('claude')
  const { code, out } = await here.doctor(['--json', '--live'], { AGENT_BACKEND: 'claude', ANTHROPIC_API_KEY: key })
  const report = JSON.parse(out) as { ok: boolean; checks: { name: string; status: string; detail: string }[] }
  expect({ code, ok: report.ok }).toEqual({ code: 0, ok: true })
  expect(report.checks.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['node', 'configuration', 'workspace', 'disk', 'gateway', 'database', 'port', 'backend']),
  )
  for (const check of report.checks) {
    expect(['ok', 'warn', 'fail', 'off']).toContain(check.status)
    expect(Object.keys(check).filter(name => !['name', 'status', 'detail', 'fix'].includes(name))).toEqual([])
  }
  expect(report.checks.at(-1)).toMatchObject({ name: 'live', status: 'ok' })
  expect(out).not.toContain(key)
})

test('the start of a gateway warns once when there is no sign of a login, and only then', async () => {
  await using here = await machine()
  const starts = async (env: Record<string, string>) => {
    const gateway = await here.start(env)
    await gateway.stop()
    return gateway.output().match(/.*"msg":"no sign of a login".*/g) ?? []
  }
  const warnings = await starts({})
  expect(warnings).toHaveLength(1)
  expect(JSON.parse(warnings[0] ?? '')).toMatchObject({ level: 40, backend: 'claude', logInWith: 'claude' })
  expect(await starts({ ANTHROPIC_API_KEY: key })).toEqual([])
  expect(await starts({ AGENT_BACKEND: 'echo' })).toEqual([])
})
