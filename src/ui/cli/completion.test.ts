// The scripts, sourced by the shells they are for.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
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

/** What bash offers after these words, the last of which is incomplete. */
async function offered(words: readonly string[], cwd = '/'): Promise<readonly string[]> {
  const program = `${await scriptFor('bash')}
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_aetheel 2>&1
printf '%s\\n' "\${COMPREPLY[@]}"`
  const ran = spawnSync('bash', ['--norc', '-c', program, 'bash', 'aetheel', ...words], { encoding: 'utf8', cwd })
  expect(ran.stderr).toBe('')
  return ran.stdout.split('\n').filter(Boolean)
}

test('bash completes commands and subcommands', async () => {
  expect(await offered(['st'])).toEqual(['start', 'status'])
  expect(await offered(['cron', ''])).toEqual(['list', 'add', 'pause', 'resume', 'remove', 'run', 'help'])
  expect(await offered(['help', 'ses'])).toEqual(['sessions'])
  expect(await offered(['cron', 'help', ''])).toEqual(['list', 'add', 'pause', 'resume', 'remove', 'run'])
  expect(await offered(['completion', ''])).toEqual(['bash', 'zsh', 'fish'])
  expect(await offered(['--config-dir', 'cron', 'doc'])).toEqual(['doctor'])
  expect(await offered(['chat', 'st'])).toEqual([])
})

test('bash completes the options of a command and the global options', async () => {
  expect(await offered(['status', '--'])).toEqual(['--json', '--help', '--config-dir'])
  expect(await offered(['cron', 'add', '--s'])).toEqual(['--skip-if-unchanged'])
  // Without a command, `start` is meant.
  expect(await offered(['--mo'])).toEqual(['--model'])
})

test('bash completes known values, also after an equals sign, and folders', async () => {
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

test('pressing TAB starts no process', async () => {
  for (const shell of ['bash', 'zsh', 'fish']) {
    const body = (await scriptFor(shell)).replace(/^#.*$/gm, '')
    expect(body).not.toMatch(/\b(npx|node)\b|\$\(aetheel/)
  }
})

const installed = (shell: string) => spawnSync(shell, ['--version']).status === 0

/** Command lines with the cursor at the end, and the completions there. */
const lines: readonly (readonly [line: string, offered: readonly string[]])[] = [
  ['aetheel cr', ['cron']],
  ['aetheel cron ', ['add', 'help', 'list', 'pause', 'remove', 'resume', 'run']],
  ['aetheel cron help p', ['pause']],
  ['aetheel start --backend ', [...backendNames].sort()],
  ['aetheel --backend ', [...backendNames].sort()],
  ['aetheel --backend=cl', ['claude', 'claude-sdk']],
  ['aetheel logs --level ', ['debug', 'error', 'fatal', 'info', 'trace', 'warn']],
  ['aetheel logs --level=w', ['warn']],
  ['aetheel doctor --backend=claude --l', ['--live']],
  ['aetheel --config-dir=/ status --j', ['--json']],
  ['aetheel --config-dir /usr/li cron add --if-missed ', ['once', 'skip']],
  ['aetheel chat st', []],
  ['aetheel logs -n ', []],
]

test.skipIf(!installed('fish'))(
  'fish offers all of this at its prompt (skipped where it is not installed)',
  async () => {
    const asked = lines.map(([line]) => `complete -C '${line}'; echo .`).join('\n')
    const ran = spawnSync('fish', ['--no-config', '-c', `${await scriptFor('fish')}\n${asked}`], { encoding: 'utf8' })
    expect(ran.stderr).toBe('')
    const words = ran.stdout
      .split(/^\.\n/m)
      .slice(0, -1)
      .map(text => text.split('\n').filter(Boolean))
    const names = words.map(rows => rows.map(row => row.replace(/\t.*/, '').replace(/^--\w+=/, '')).sort())
    expect(lines.map(([line], i) => [line, names[i]])).toEqual(lines)
  },
)

// The arguments of `compadd` are recorded, on a separate terminal.
const zshProbe = (script: string, out: string, asked: readonly string[]) => `
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PS1= PS2=; unsetopt zle_bracketed_paste prompt_cr prompt_sp; autoload -Uz compinit; compinit -D -u; source ${script}'
zpty -w shell 'compadd() { local -a hits; if [[ " $* " == *" -"[AOD]" "* ]]; then builtin compadd "$@"; else builtin compadd -A hits "$@"; print -rl -- $hits >> ${out}; builtin compadd "$@"; fi }'
zpty -w shell 'mark() { print . >> ${out}; BUFFER= }; zle -N mark; bindkey "^T" mark; bindkey "^I" complete-word; print -r -- rea''dy'
zpty -r shell seen '*ready*'
${asked.map(line => `zpty -w -n shell '${line}'$'\\t\\x14'`).join('\n')}
repeat 200; do [[ $(grep -c '^.$' ${out} 2> /dev/null) == ${asked.length} ]] && break; sleep 0.05; done
zpty -d shell
`

test.skipIf(!installed('zsh'))('zsh offers all of this at its prompt (skipped where it is not installed)', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'aetheel-completion-'))
  try {
    const [script, out] = [join(dir, 'aetheel.zsh'), join(dir, 'out')]
    writeFileSync(script, await scriptFor('zsh'))
    const asked = lines.map(([line]) => line)
    const ran = spawnSync('zsh', ['-f', '-c', zshProbe(script, out, asked)], { encoding: 'utf8', timeout: 20_000 })
    expect([ran.status, ran.stderr]).toEqual([0, ''])
    const rows = readFileSync(out, 'utf8').split(/^\.\n/m)
    const names = rows.map(row => [...new Set(row.split('\n').filter(Boolean))].sort())
    expect(lines.map(([line], i) => [line, names[i]])).toEqual(lines)
  } finally {
    rmSync(dir, { recursive: true })
  }
})

test('zsh and fish get everything with its description', async () => {
  const zsh = await scriptFor('zsh')
  expect(zsh).toContain(
    "'list:the jobs of heartbeat.md and agents.md, when they run next, and entries that cannot be used'",
  )
  expect(zsh).toContain("'doctor:--backend') compadd -- 'claude'")
  const fish = await scriptFor('fish')
  expect(fish).toContain("complete -c aetheel -n '__aetheel_at memory log' -s n -l number -x -d 'how many at most'")
  expect(fish).toContain("-l config-dir -x -a '(__fish_complete_directories)'")
})

test('an unknown shell is refused with a list of the known ones', async () => {
  const terminal = fakeTerminal()
  expect(await runCli(['completion', 'tcsh'], noPorts(), terminal, '1.2.3')).toBe(2)
  expect(terminal.err()).toContain('bash, zsh, fish')
})
