// The scripts, sourced by the shells they are for.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { noPorts } from '../../../test/fakes/ports.ts'
import { fakeTerminal } from '../../../test/fakes/terminal.ts'
import { backendNames } from '../../base/agent.ts'
import { runCli } from './index.ts'

async function scriptFor(shell: string): Promise<string> {
  const terminal = fakeTerminal()
  expect(await runCli(['completion', shell], noPorts(), terminal, '1.2.3')).toBe(0)
  return terminal.out()
}

/** What bash offers behind these words, the last of which is being typed. */
async function offered(words: readonly string[], cwd = '/'): Promise<readonly string[]> {
  const program = `${await scriptFor('bash')}
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_aetheel 2>&1
printf '%s\\n' "\${COMPREPLY[@]}"`
  const ran = spawnSync('bash', ['--norc', '-c', program, 'bash', 'aetheel', ...words], { encoding: 'utf8', cwd })
  expect(ran.stderr).toBe('')
  return ran.stdout.split('\n').filter(Boolean)
}

test('bash completes commands, and the commands below them', async () => {
  expect(await offered(['st'])).toEqual(['start', 'status'])
  expect(await offered(['cron', ''])).toEqual(['list', 'add', 'pause', 'resume', 'remove', 'run', 'help'])
  expect(await offered(['help', 'ses'])).toEqual(['sessions'])
  expect(await offered(['completion', ''])).toEqual(['bash', 'zsh', 'fish'])
  expect(await offered(['--config-dir', 'cron', 'doc'])).toEqual(['doctor'])
  expect(await offered(['chat', 'st'])).toEqual([])
})

test('bash completes the options of a command, and those that all have', async () => {
  expect(await offered(['status', '--'])).toEqual(['--json', '--help', '--config-dir'])
  expect(await offered(['cron', 'add', '--s'])).toEqual(['--skip-if-unchanged'])
  // No command is start.
  expect(await offered(['--mo'])).toEqual(['--model'])
})

test('bash completes the values that are known, also behind an equals sign, and folders', async () => {
  expect(await offered(['start', '--backend', ''])).toEqual(backendNames)
  expect(await offered(['start', '--backend', '=', 'cla'])).toEqual(['claude', 'claude-sdk'])
  expect(await offered(['start', '--backend', '='])).toEqual(backendNames)
  expect(await offered(['start', '--log', 'd'])).toEqual(['debug'])
  expect(await offered(['cron', 'add', '--if-missed', ''])).toEqual(['skip', 'once'])
  expect(await offered(['start', '--model', ''])).toEqual([])
  const dir = mkdtempSync(join(tmpdir(), 'aetheel-completion-'))
  try {
    mkdirSync(join(dir, 'my work'))
    expect(await offered(['status', '--config-dir', 'my'], dir)).toEqual(['my work'])
  } finally {
    rmSync(dir, { recursive: true })
  }
})

test('nothing is started when TAB is pressed', async () => {
  for (const shell of ['bash', 'zsh', 'fish']) {
    const body = (await scriptFor(shell)).replace(/^#.*$/gm, '')
    expect(body).not.toMatch(/\b(npx|node)\b|\$\(aetheel/)
  }
})

const installed = (shell: string) => spawnSync(shell, ['--version']).status === 0

test.each(['bash', 'zsh', 'fish'])(
  'the script is one that %s can read (skipped where it is not installed)',
  async shell => {
    if (!installed(shell)) return
    const script = await scriptFor(shell)
    const read = spawnSync(shell, shell === 'fish' ? ['--no-execute', '/dev/stdin'] : ['-n'], {
      input: script,
      encoding: 'utf8',
    })
    expect([read.status, read.stderr]).toEqual([0, ''])
  },
)

test('zsh and fish are told of everything with its words', async () => {
  const zsh = await scriptFor('zsh')
  expect(zsh).toContain(
    "'list:the jobs of heartbeat.md and agents.md, when they run next, and what there cannot be used'",
  )
  expect(zsh).toContain("'doctor:--backend') compadd -- 'claude'")
  const fish = await scriptFor('fish')
  expect(fish).toContain("complete -c aetheel -n '__aetheel_at memory log' -s n -l number -x -d 'how many at most'")
  expect(fish).toContain("-l config-dir -x -a '(__fish_complete_directories)'")
})

test('another shell is refused with those there are', async () => {
  const terminal = fakeTerminal()
  expect(await runCli(['completion', 'tcsh'], noPorts(), terminal, '1.2.3')).toBe(2)
  expect(terminal.err()).toContain('bash, zsh, fish')
})
