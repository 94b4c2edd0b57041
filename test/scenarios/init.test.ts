// `aetheel init`, the real program: with flags without a terminal, and on a real terminal.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { exitOf, type TemporaryHome, temporaryHome } from '../fakes/temporary.ts'
import { openStage } from '../harness/discord.ts'
import { type Home, processesWith, runCommand, standIn } from '../harness/gateway.ts'

const cache = resolve(import.meta.dirname, '../../node_modules/.cache/aetheel')
const owner = '123456789012345678'

/** A PATH with only the fake claude and what it needs to start. */
function withClaude(home: Home): string {
  const bin = join(home.dir, 'bin')
  mkdirSync(bin)
  symlinkSync(standIn, join(bin, 'claude'))
  return `${bin}:${resolve(process.execPath, '..')}:/usr/bin:/bin`
}

async function init(home: Home, args: readonly string[], env: Record<string, string> = {}) {
  const run = runCommand(home, ['init', ...args], { HTTP_TOKEN: '', ...env })
  const code = await exitOf({ exit: run.exit, output: run.stderr }, 30_000)
  return { code, out: run.stdout(), err: run.stderr() }
}

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8)

test('without a terminal it says which flags it needs, and writes nothing', async () => {
  await using home = await temporaryHome()
  const PATH = withClaude(home)
  const { code, out, err } = await init(home, [], { PATH })
  expect([code, out]).toEqual([2, ''])
  expect(err).toContain('--yes')
  expect(err).toMatch(/--backend NAME +the backend that answers; found: claude/)
  for (const [args, words] of [
    [['--yes', '--owner', 'me'], '--owner takes the user id'],
    [['--yes', '--discord-token-env', 'NOWHERE'], 'NOWHERE, which is not set'],
    [['--yes', '--connect', 'discord'], 'DISCORD_BOT_TOKEN, which is not set'],
    [['--yes', '--connect', 'irc'], 'discord'],
    [['--yes', '--backend', 'clod'], 'Allowed choices are claude'],
  ] as const)
    expect(await init(home, args, { PATH })).toMatchObject({ code: 2, out: '', err: expect.stringContaining(words) })
  const missing = await init(home, ['--yes', '--backend', 'codex'], { PATH })
  expect(missing).toMatchObject({ code: 1, err: expect.stringContaining('npm install -g @openai/codex') })
  const nobody = await init(home, ['--yes'], { PATH: '/usr/bin:/bin' })
  expect(nobody).toMatchObject({ code: 2, err: expect.stringContaining('--backend echo') })
  const key = await init(home, ['--yes', '--backend', 'echo', '--discord-token-env', 'T'], {
    PATH,
    T: 'x',
    DISCORD_API: 'http://127.0.0.1:9',
  })
  expect(key).toMatchObject({ code: 1, err: expect.stringContaining('nothing was written') })
  expect(existsSync(home.configDir)).toBe(false)
  expect(existsSync(join(home.dir, '.env'))).toBe(false)
}, 60_000)

test('with flags: the token is checked and stored only in .env, and the agent answers a test turn', async () => {
  await using stage = await openStage()
  const { home, discord } = stage
  const { DISCORD_BOT_TOKEN: secret = '', DISCORD_API = '' } = stage.settings({})
  const env = { PATH: withClaude(home), DISCORD_API, MY_TOKEN: secret }
  writeFileSync(join(home.dir, '.env'), '# mine\nWEATHER=sunny\n', { mode: 0o644 })
  const args = ['--yes', '--owner', owner, '--discord-token-env', 'MY_TOKEN', '--name', 'Ada']
  const { code, out, err } = await init(home, args, env)
  expect([code, err]).toEqual([0, ''])
  expect(out).toContain(`client_id=${discord.applicationId}`)
  expect(out).toMatch(/live +claude answered in/)
  expect(out).toContain('npx aetheel start')
  expect(out + err).not.toContain(secret)
  expect(out).not.toContain('WEATHER')

  const written = readFileSync(join(home.configDir, 'config.json'), 'utf8')
  expect(written).toContain('"backend": "claude"')
  expect(written).toMatch(new RegExp(`"users": \\[\\s+"${owner}"\\s+\\]`))
  expect(written).not.toContain(secret)
  expect(readFileSync(join(home.dir, '.env'), 'utf8')).toBe(`# mine\nWEATHER=sunny\nDISCORD_BOT_TOKEN=${secret}\n`)
  expect(modeOf(join(home.dir, '.env'))).toBe('600')
  expect(readFileSync(join(home.configDir, 'identity.md'), 'utf8')).toContain('**Name:** Ada')

  // A second run has nothing to do and changes nothing.
  const again = await init(home, ['--yes', '--json'], env)
  expect(JSON.parse(again.out)).toMatchObject({
    backend: 'claude',
    owner,
    chats: ['discord'],
    files: [],
    live: { status: 'ok' },
  })
}, 60_000)

test('an existing config.json keeps its comments, and a copy of the old one is saved beside it', async () => {
  await using home = await temporaryHome()
  const PATH = withClaude(home)
  mkdirSync(home.configDir)
  const mine = '{\n  // mine\n  "agent": { "model": "opus" },\n  "timezone": "Europe/Berlin"\n}\n'
  writeFileSync(join(home.configDir, 'config.json'), mine)
  const { out } = await init(home, ['--yes', '--no-turn', '--json'], { PATH })
  expect(JSON.parse(out)).toMatchObject({
    files: [{ change: 'changed', copy: join(home.configDir, 'config.json.old') }],
    live: null,
  })
  expect(readFileSync(join(home.configDir, 'config.json.old'), 'utf8')).toBe(mine)
  expect(readFileSync(join(home.configDir, 'config.json'), 'utf8')).toBe(
    mine.replace('{ "model": "opus" }', '{\n    "backend": "claude",\n    "model": "opus"\n  }'),
  )
  const secret = 'sk-hunter2hunter2hunter2'
  const withSecret = `{\n  "env": { "vars": { "WEATHER_KEY": "${secret}" } },\n  "anthropic": { "api_key": "${secret}2" }\n}\n`
  writeFileSync(join(home.configDir, 'config.json'), withSecret)
  const shown = await init(home, ['--yes', '--no-turn', '--owner', owner], { PATH })
  expect(shown.out).toContain('WEATHER_KEY')
  expect(shown.out + shown.err).not.toContain(secret)
  expect(readFileSync(join(home.configDir, 'config.json'), 'utf8')).toContain(secret)
  const wins = await init(home, ['--yes', '--no-turn', '--backend', 'echo'], { PATH, AGENT_BACKEND: 'claude' })
  expect(wins.out).toContain('AGENT_BACKEND is set in the environment and overrides this.')
  const broken = await init(home, ['--yes', '--no-turn'], { PATH, HTTP_PORT: 'many' })
  expect(broken).toMatchObject({ code: 1, err: expect.stringContaining('HTTP_PORT') })
}, 60_000)

const hasScript = spawnSync('script', ['--version']).status === 0

/** On a terminal made by `script`: answers each question when it appears. */
async function atTerminal(
  home: TemporaryHome,
  answers: readonly (readonly [asked: string, typed: string])[],
  env: Record<string, string>,
) {
  const main = resolve(import.meta.dirname, '../../src/main.ts')
  const command = `'${process.execPath}' --disable-warning=ExperimentalWarning '${main}' init`
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    cwd: home.dir,
    env: { HOME: home.dir, TERM: 'xterm', HTTP_PORT: '0', NODE_COMPILE_CACHE: cache, ...env },
  })
  let shown = ''
  let from = 0
  const left = [...answers]
  child.stdout.on('data', chunk => {
    shown += chunk
    const [next] = left
    if (!next || !shown.slice(from).includes(next[0])) return
    left.shift()
    from = shown.length
    setTimeout(() => child.stdin.write(next[1]), 100)
  })
  const exit = new Promise<number | null>(done => child.on('close', done))
  const code = await exitOf({ exit, output: () => shown }, 30_000)
  return { code, shown, left }
}

test.skipIf(!hasScript)(
  'at a terminal it asks, does not show the token, and writes after a yes (skipped without script)',
  async () => {
    await using stage = await openStage()
    await using home = await temporaryHome()
    const { DISCORD_BOT_TOKEN: secret = '', DISCORD_API = '' } = stage.settings({})
    const env = { PATH: withClaude(home), DISCORD_API }
    const { code, shown, left } = await atTerminal(
      home,
      [
        ['Where should', '\r'],
        ['number or name', 'nobody\r'],
        ['Enter a number', '1\r'],
        ['Which chats', 'discrod\r'],
        ['Enter names', 'discord\r'],
        ['bot token', 'wrong-token\r'],
        ['does not accept', `${secret}\r`],
        ['user id', 'me\r'],
        ['17 to 20 digits', `${owner}\r`],
        ['called', 'Ada\r'],
        ['Write this?', '\r'],
      ],
      env,
    )
    expect([code, left], shown).toEqual([0, []])
    expect(shown).not.toContain(secret)
    expect(shown).not.toContain('wrong-token')
    expect(shown).toContain('claude answered in')
    expect(readFileSync(join(home.dir, '.env'), 'utf8')).toBe(`DISCORD_BOT_TOKEN=${secret}\n`)
    expect(readFileSync(join(home.dir, 'config/config.json'), 'utf8')).toContain(`discord:${owner}`)
  },
  60_000,
)

test.skipIf(!hasScript).each([
  ['at the first question', [['Where should', '\x03']]],
  [
    'while the token is typed',
    [
      ['Where should', '\r'],
      ['number or name', '\r'],
      ['Which chats', 'discord\r'],
      ['bot token', 'abc\x03'],
    ],
  ],
  [
    'at the last question',
    [
      ['Where should', 'elsewhere\r'],
      ['number or name', '\r'],
      ['Which chats', '\r'],
      ['called', '\r'],
      ['Write this?', '\x03'],
    ],
  ],
  ['by the end of the input', [['Where should', '\x04']]],
  [
    'with a no',
    [
      ['Where should', '\r'],
      ['number or name', '\r'],
      ['Which chats', '\r'],
      ['called', '\r'],
      ['Write this?', 'n\r'],
    ],
  ],
  [
    'while the agent is asked',
    [
      ['Where should', 'deep/er\r'],
      ['number or name', '\r'],
      ['Which chats', '\r'],
      ['called', 'Ada\r'],
      ['Write this?', '\r'],
      ['for a first answer', '\x03'],
    ],
  ],
] as const)(
  'whoever leaves %s leaves everything as it was (skipped without script)',
  async (_name, answers) => {
    await using home = await temporaryHome()
    const env = { PATH: withClaude(home) }
    rmSync(join(home.dir, 'bin/claude'))
    // An agent that never answers.
    writeFileSync(join(home.dir, 'bin/claude'), '#!/bin/sh\n[ "$1" = --version ] && echo 9.9.9 || sleep 60\n', {
      mode: 0o755,
    })
    const before = readdirSync(home.dir)
    const { code, shown } = await atTerminal(home, answers, env)
    expect(code, shown).toBe(130)
    expect(shown).toContain('Nothing was changed.')
    expect(readdirSync(home.dir)).toEqual(before)
    expect(processesWith(home.dir)).toEqual([])
  },
  60_000,
)
