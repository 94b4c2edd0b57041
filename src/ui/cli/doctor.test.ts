// `aetheel doctor` in a pipe and on a terminal.
import { expect, test } from 'vitest'
import { noPorts } from '../../../test/fakes/ports.ts'
import { fakeTerminal } from '../../../test/fakes/terminal.ts'
import type { Check } from '../../base/check.ts'
import { runCli } from './index.ts'
import type { CliPorts, Finding } from './ports.ts'

const ports = (doctor: CliPorts['doctor']): CliPorts => ({ ...noPorts(), doctor })

const finding = (...checks: Check[]): CliPorts['doctor'] =>
  async function* (): AsyncGenerator<Finding> {
    yield { type: 'doing', what: 'checking' }
    for (const check of checks) yield { type: 'check', check }
  }

async function run(args: readonly string[], doctor: CliPorts['doctor'], terminal = fakeTerminal()) {
  const code = await runCli(['doctor', ...args], ports(doctor), terminal, '1.2.3')
  return { code, out: terminal.out(), err: terminal.err() }
}

const good: Check = { name: 'node', status: 'ok', detail: '24.1.0' }
const off: Check = { name: 'pi', status: 'off', detail: 'not installed', fix: '`npm install -g pi`' }
const odd: Check = { name: 'disk', status: 'warn', detail: 'only 3 MB free', fix: 'Make room.' }
const bad: Check = {
  name: 'claude',
  status: 'fail',
  detail: 'the program "claude" was not found',
  fix: 'Install it with `npm install -g @anthropic-ai/claude-code` and log in once with `claude`.',
}

test('in a pipe: one line per check, without colour', async () => {
  expect(await run([], finding(good, odd, bad, off))).toEqual({
    code: 1,
    err: '',
    out: [
      'Aetheel 1.2.3',
      '',
      'ok    node           24.1.0',
      'warn  disk           only 3 MB free',
      '                     → Make room.',
      'fail  claude         the program "claude" was not found',
      '                     → Install it with `npm install -g @anthropic-ai/claude-code` and log in once with `claude`.',
      '-     pi             not installed → `npm install -g pi`',
      '',
      '1 problem must be fixed, and 1 warning.',
      '',
    ].join('\n'),
  })
})

test('without failures it exits with 0, and suggests --live', async () => {
  expect(await run([], finding(good, off))).toMatchObject({
    code: 0,
    out: expect.stringMatching(/\nEverything is fine\. .*`npx aetheel doctor --live`\n$/),
  })
  expect(await run(['--live'], finding(good, odd, odd))).toMatchObject({
    code: 0,
    out: expect.stringMatching(/\nNothing failed; 2 warnings\.\n$/),
  })
})

test('on a terminal: symbols, wrapped lines, unbroken commands, and progress', async () => {
  const terminal = fakeTerminal({ stdout: true, stderr: true })
  const { out, err } = await run([], finding(good, bad), terminal)
  expect(out).toContain('  ✓ node           24.1.0\n')
  expect(out).toContain('  ✗ claude         the program "claude" was not found\n')
  expect(out).toContain('`npm install -g @anthropic-ai/claude-code`')
  for (const line of out.split('\n').slice(0, -2)) expect(line.length).toBeLessThanOrEqual(80)
  expect(err).toContain('0 s · checking')
})

test('in colour, commands need no backticks', async () => {
  const terminal = fakeTerminal({ stdout: true })
  Object.assign(terminal.stdout, { hasColors: () => true })
  const { out } = await run([], finding(bad), terminal)
  expect(out).toContain('\x1b[36mclaude\x1b[39m')
  expect(out).not.toContain('`')
})

test('the output of a program cannot control the terminal', async () => {
  const terminal = fakeTerminal({ stdout: true })
  const { out } = await run([], finding({ ...good, detail: 'v1\x1b[2J\x07\rx' }), terminal)
  expect(out).toContain('v1[2Jx')
})

test('--json has a stable shape and prints nothing else', async () => {
  const { code, out, err } = await run(['--json'], finding(good, bad, off), fakeTerminal({ stdout: true }))
  expect(JSON.parse(out)).toEqual({ ok: false, checks: [good, bad, off] })
  expect({ code, err }).toEqual({ code: 1, err: '' })
})

test('the flags are passed on, and an unknown backend is a usage error', async () => {
  const seen: unknown[] = []
  const doctor: CliPorts['doctor'] = (flags, live) => {
    seen.push([flags.backend, flags.configDir, live])
    return finding()(flags, live, new AbortController().signal)
  }
  await run(['--backend', 'codex', '--live', '--config-dir', 'here'], doctor)
  await run([], doctor)
  expect(seen).toEqual([
    ['codex', 'here', true],
    [undefined, undefined, false],
  ])
  const wrong = await run(['--backend', 'clod'], doctor)
  expect(wrong.code).toBe(2)
  expect(wrong.err).toContain('Allowed choices are claude, codex')
})

test('Ctrl-C stops it, and it exits with 130', async () => {
  const terminal = fakeTerminal()
  const doctor: CliPorts['doctor'] = async function* (_flags, _live, signal) {
    yield { type: 'check', check: good }
    await new Promise(resolve => {
      signal.addEventListener('abort', resolve, { once: true })
      terminal.ctrlC()
    })
  }
  expect(await run(['--json'], doctor, terminal)).toEqual({ code: 130, out: '', err: 'aetheel: stopped\n' })
})
