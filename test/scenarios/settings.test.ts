// The Settings page and the log files, with the whole program.
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test, vi } from 'vitest'
import type { LogPage } from '../../src/base/logs.ts'
import type { Setting, Settings } from '../../src/base/settings.ts'
import { eventually, exitOf, type TemporaryHome, temporaryHome } from '../fakes/temporary.ts'
import { connect } from '../harness/client.ts'
import { type RunningGateway, runCommand, token } from '../harness/gateway.ts'

const headers = { authorization: `Bearer ${token}` }

function write(home: TemporaryHome, file: string, text: string): void {
  mkdirSync(dirname(join(home.configDir, file)), { recursive: true })
  writeFileSync(join(home.configDir, file), text)
}
const read = (home: TemporaryHome, file: string) => readFileSync(join(home.configDir, file), 'utf8')

async function ask<T>({ url }: RunningGateway, path: string): Promise<T> {
  return (await fetch(`${url}${path}`, { headers })).json() as Promise<T>
}
const change = async ({ url }: RunningGateway, body: unknown) => {
  const answer = await fetch(`${url}/api/settings`, { method: 'POST', headers, body: JSON.stringify(body) })
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
}
const settingOf = async (gateway: RunningGateway, key: string): Promise<Setting | undefined> =>
  (await ask<Settings>(gateway, '/api/settings')).values.find(one => one.key === key)

async function command(home: TemporaryHome, args: readonly string[], env: Record<string, string> = {}) {
  const run = runCommand(home, args, env)
  const code = await exitOf({ exit: run.exit, output: () => run.stdout() + run.stderr() })
  return { code, out: run.stdout(), err: run.stderr() }
}

const modelOf = (home: TemporaryHome) => {
  const args = home.journal().findLast(({ what }) => what === 'begin')?.args as string[]
  return args.includes('--model') ? args[args.indexOf('--model') + 1] : null
}

test('a setting from the page takes effect with the next turn, is listed by config show, and overrides config.json', async () => {
  await using home = await temporaryHome()
  write(home, 'config.json', '{\n  // mine\n  "agent": { "model": "haiku" }\n}\n')
  const gateway = await home.start()
  const client = await connect(gateway.url, 'a')
  client.say('1', 'one')
  await client.final('1')
  expect(modelOf(home)).toBe('haiku')
  expect(await change(gateway, { set: { 'agent.model': 'opus', 'queue.busy': 'queue' } })).toMatchObject({
    ...{ status: 200, body: { applied: ['agent.model'], later: ['queue.busy'] } },
  })
  client.say('2', 'two')
  await client.final('2')
  expect(modelOf(home)).toBe('opus')
  expect(JSON.parse(read(home, 'bot-config.json'))).toEqual({ 'agent.model': 'opus', 'queue.busy': 'queue' })
  expect(read(home, 'config.json')).toContain('// mine')
  const { out } = await command(home, ['config', 'show'])
  expect(out).toMatch(/agent\.model +opus +bot-config\.json/)
  expect(await settingOf(gateway, 'http.port')).toMatchObject({ from: 'environment', locked: expect.any(String) })
  expect(await settingOf(gateway, 'http.token')).toMatchObject({ value: '********' })

  const refused = await change(gateway, {
    set: { 'agent.model': 'x', 'query.max_ms': 'soon', 'http.token': 'y'.repeat(20) },
  })
  expect(refused).toMatchObject({ status: 400, body: { error: expect.stringContaining('query.max_ms') } })
  expect(refused.body.problems).toMatchObject([{ key: 'query.max_ms' }, { key: 'http.token' }])
  for (const bad of [{}, { set: 1 }, [], 'x']) expect((await change(gateway, bad)).status).toBe(400)
  expect(JSON.parse(read(home, 'bot-config.json'))).toEqual({ 'agent.model': 'opus', 'queue.busy': 'queue' })
  expect((await fetch(`${gateway.url}/api/settings`)).status).toBe(401)

  // A manual edit takes effect too; an invalid one does not.
  write(home, 'bot-config.json', '{"agent.model": "sonnet"}')
  await eventually('noticed', async () => (await settingOf(gateway, 'agent.model'))?.value === 'sonnet')
  client.say('3', 'three')
  await client.final('3')
  expect(modelOf(home)).toBe('sonnet')
  write(home, 'bot-config.json', '{"agent.model": "nobody", "agent.warm_max": "many"}')
  await eventually('told', () => gateway.output().includes('the last good one stays'))
  client.say('4', 'four')
  await client.final('4')
  expect(modelOf(home)).toBe('sonnet')
  await client.close()
})

test('mistakes in bot-config.json prevent the start, and all are reported at once with the name of the file', async () => {
  await using home = await temporaryHome()
  write(home, 'config.json', '{ "queue": { "max_depth": "deep" } }')
  write(home, 'bot-config.json', '{ "http.port": -1, "discord.bot_token": "hunter2hunter2" }')
  const { code, err } = await command(home, ['start'], { HTTP_PORT: '' })
  expect(code).toBe(1)
  expect(err).toMatch(/http\.port .*from bot-config\.json/)
  expect(err).toMatch(/queue\.max_depth .*from config\.json/)
  expect(err).toContain('discord.bot_token: cannot be set in bot-config.json')
  expect(err).not.toContain('hunter2')
})

test("a stranger's change of bot-config.json has no effect, is reverted, and waits for the owner", async () => {
  await using home = await temporaryHome()
  write(home, 'agents.md', '## Webhooks\n### door\nSecret: DOOR\nInstruction: look\n')
  write(home, 'bot-config.json', '{"agent.model": "haiku"}')
  const gateway = await home.start({ DOOR: 'a-secret-for-tests', WALL: 'none', CLAUDE_STAND_IN_STEP_MS: '60' })
  await fetch(`${gateway.url}/hooks/door`, {
    ...{ method: 'POST', headers: { authorization: 'Bearer a-secret-for-tests' } },
    body: '[[write:bot-config.json|{ "agent.model": "opus" }]] [[long:40]]',
  })
  await vi.waitFor(() => expect(read(home, 'bot-config.json')).toContain('opus'), 10_000)
  // Longer than an edit by the owner takes to be noticed.
  await new Promise(resolve => setTimeout(resolve, 800))
  expect(await settingOf(gateway, 'agent.model')).toMatchObject({ value: 'haiku' })
  const client = await connect(gateway.url, 'a')
  client.say('1', 'hello')
  await client.final('1')
  expect(modelOf(home)).toBe('haiku')
  await vi.waitFor(() => expect(read(home, 'bot-config.json')).toBe('{"agent.model": "haiku"}'), 10_000)
  const { changes } = await ask<{ changes: { id: number; file: string; state: string }[] }>(gateway, '/api/memory/log')
  expect(changes[0]).toMatchObject({ file: 'bot-config.json', state: 'waiting' })
  await fetch(`${gateway.url}/api/memory`, { method: 'POST', headers, body: `{"approve":${changes[0]?.id}}` })
  await eventually('counts', async () => (await settingOf(gateway, 'agent.model'))?.value === 'opus')
  await client.close()
})

test('an invalid bot-config.json by the agent is reverted and explained to it', async () => {
  await using home = await temporaryHome()
  const gateway = await home.start()
  const client = await connect(gateway.url, 'a')
  client.say('1', '[[write:bot-config.json|{ "queue.busy": "never" }]]')
  await client.final('1')
  expect(existsSync(join(home.configDir, 'bot-config.json'))).toBe(false)
  expect(read(home, 'bot-config.json.refused')).toContain('never')
  client.say('2', 'go on')
  await client.final('2')
  expect(home.begun().at(-1)?.prompt).toMatch(
    /^\[Gateway: your change to bot-config\.json was refused: [\s\S]*queue\.busy/,
  )
  await client.close()
})

test('the log survives a kill -9 and a restart, has no secrets, and can be read with and without a gateway', async () => {
  await using home = await temporaryHome()
  expect(await command(home, ['logs'])).toMatchObject({ code: 1, err: expect.stringContaining('no log') })
  const first = await home.start()
  const page = await ask<LogPage>(first, '/api/logs?limit=50')
  expect(page.lines.at(-1)).toMatchObject({ level: 'info', text: 'ready', fields: { pid: first.pid } })
  await first.stop('SIGKILL')
  expect((await command(home, ['logs'])).out).toMatch(/INFO {2}ready url=http/)
  const followed = runCommand(home, ['logs', '-f', '--json', '-n', '1'])
  await eventually('followed', () => followed.stdout().includes('"ready"'))
  const second = await home.start()
  await eventually('went on', () => followed.stdout().includes(`"pid":${second.pid}`))
  const { lines } = await ask<LogPage>(second, `/api/logs?after=${page.cursor}`)
  expect(lines.map(({ text }) => text)).toEqual(expect.arrayContaining(['workspace', 'ready']))
  expect(lines.some(({ fields }) => fields.pid === first.pid)).toBe(false)
  for (const path of ['?level=loud', '?limit=0', '?limit=99999', `?q=${'x'.repeat(201)}`])
    expect((await fetch(`${second.url}/api/logs${path}`, { headers })).status).toBe(400)
  expect(await second.stop()).toBe(0)
  await eventually('the last line', () => followed.stdout().includes('"stopped"'))
  followed.child.kill('SIGINT')
  expect(await exitOf({ exit: followed.exit, output: followed.stdout })).toBe(0)
  const all = followed
    .stdout()
    .trim()
    .split('\n')
    .map(line => JSON.parse(line).text)
  expect(all.filter(text => text === 'ready')).toHaveLength(2)
  const dir = join(home.configDir, '.aetheel/log')
  expect(statSync(dir).mode & 0o777).toBe(0o700)
  expect(statSync(join(dir, 'aetheel.log')).mode & 0o777).toBe(0o600)
  expect(readFileSync(join(dir, 'aetheel.log'), 'utf8')).not.toContain(token)
})

test('a closed pipe ends the logs quietly', async () => {
  await using home = await temporaryHome()
  const gateway = await home.start()
  await gateway.stop()
  const main = join(import.meta.dirname, '../../src/main.ts')
  const env = { PATH: process.env.PATH ?? '', CONFIG_DIR: home.configDir }
  const line = `"${process.execPath}" --disable-warning=ExperimentalWarning "${main}" logs | head -1`
  expect(execFileSync('/bin/sh', ['-c', line], { env, cwd: home.dir, encoding: 'utf8' })).toMatch(
    /^\d{4}-\d\d-\d\d .* no sign of a login/,
  )
})

test('a log file that cannot be written is reported once and stops nothing; LOG_FILE=false writes none', async () => {
  await using home = await temporaryHome()
  write(home, '.aetheel/log', 'a file is in the way')
  const gateway = await home.start()
  expect(gateway.output().match(/the log file cannot be written/g)).toHaveLength(1)
  expect(await ask(gateway, '/api/logs')).toMatchObject({ lines: [], kept: true })
  expect(await gateway.stop()).toBe(0)
  await using quiet = await temporaryHome()
  const off = await quiet.start({ LOG_FILE: 'false' })
  expect(await ask(off, '/api/logs')).toMatchObject({ lines: [], kept: false })
  expect(await off.stop()).toBe(0)
  expect(readdirSync(join(quiet.configDir, '.aetheel'))).not.toContain('log')
})

test('a crash is the last line of the log', async () => {
  await using home = await temporaryHome()
  const crash = join(home.dir, 'crash.mjs')
  writeFileSync(crash, "process.on('SIGUSR2', () => { throw new Error('a bug') })\n")
  const gateway = await home.start({ NODE_OPTIONS: `--import ${crash}` })
  gateway.child.kill('SIGUSR2')
  await exitOf(gateway)
  expect((await command(home, ['logs', '--level', 'fatal'])).out).toMatch(/FATAL crashed\n {4}Error: a bug/)
})

test('config edit opens the editor on config.json, which may be missing, and reports mistakes', async () => {
  await using home = await temporaryHome()
  expect(await command(home, ['config', 'edit'])).toMatchObject({
    code: 1,
    err: expect.stringContaining('no terminal'),
  })
  expect(existsSync(join(home.configDir, 'config.json'))).toBe(false)
  const editor = join(home.dir, 'my editor.sh')
  writeFileSync(editor, '#!/bin/sh\n[ "$1" = --wait ] || exit 3\ncat "$2" > "$2.seen"\necho "$TEXT" > "$2"\n', {
    mode: 0o755,
  })
  const edit = (text: string) => atTerminal(home, ['config', 'edit'], { EDITOR: `"${editor}" --wait`, TEXT: text })
  expect(await edit('{ "queue": { "busy": "queue" } }')).toMatchObject({
    code: 0,
    out: expect.stringContaining('is valid'),
  })
  expect(read(home, 'config.json.seen')).toContain('Configuration of Aetheel')
  const bad = await edit('{ "queue": { "busy": "never" } }')
  expect(bad).toMatchObject({ code: 1, out: expect.stringMatching(/queue\.busy[\s\S]*as you left it/) })
  expect(await atTerminal(home, ['config', 'edit'], { VISUAL: '/no/such/editor' })).toMatchObject({
    ...{ code: 1, out: expect.stringContaining('was not found') },
  })
  const forced = await command(home, ['config', 'init', '--force'])
  expect(forced).toMatchObject({ code: 0, out: expect.stringContaining('config.json.old') })
  expect(read(home, 'config.json.old')).toContain('never')
  expect((await command(home, ['config', 'check'])).code).toBe(0)
  expect((await command(home, ['config', 'init', '--force'])).out).toContain('config.json.old-2')
})

/** `script` provides the terminal. */
function atTerminal(home: TemporaryHome, args: readonly string[], env: Record<string, string>) {
  const main = join(import.meta.dirname, '../../src/main.ts')
  const line = [process.execPath, '--disable-warning=ExperimentalWarning', main, ...args]
    .map(word => `'${word}'`)
    .join(' ')
  const child = spawn('script', ['-qec', line, '/dev/null'], {
    ...{ cwd: home.dir, env: { PATH: process.env.PATH ?? '', HOME: home.dir, CONFIG_DIR: home.configDir, ...env } },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let out = ''
  child.stdout.on('data', chunk => {
    out += chunk
  })
  return new Promise<{ code: number | null; out: string }>(done => child.on('close', code => done({ code, out })))
}
