// The security audit on real files: what it finds, what it closes, and what it leaves alone.
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { WallKind } from '../../base/profile.ts'
import { loadConfig } from '../../config/index.ts'
import { auditChecks } from './audit.ts'

const dirs: string[] = []
afterEach(() => {
  for (const dir of dirs.splice(0)) rmSync(dir, { recursive: true, force: true })
})

async function setup(env: Record<string, string> = {}, files: Record<string, string> = {}) {
  const home = mkdtempSync(join(tmpdir(), 'aetheel-audit-'))
  dirs.push(home)
  const configDir = join(home, 'config')
  for (const [file, text] of Object.entries({ '.aetheel/token': 'x', ...files })) {
    mkdirSync(join(configDir, file, '..'), { recursive: true, mode: 0o700 })
    writeFileSync(join(configDir, file), text, { mode: 0o600 })
  }
  chmodSync(configDir, 0o700)
  const loaded = await loadConfig({ flags: {}, env: { CONFIG_DIR: configDir, ...env }, cwd: home })
  const audit = async (fix = false, wall: WallKind = 'none') =>
    auditChecks({
      loaded,
      configDir,
      home,
      walls: [
        {
          ...{ who: 'guests and webhooks', wall, detail: wall },
          ...{ network: 'can reach this', networkLimited: wall === 'bwrap' },
        },
      ],
      clis: [{ name: 'codex', version: '0.1.0', tested: '0.166.0', isOlder: wall === 'flags' }],
      fix,
    })
  const statusOf = async (name: string, fix = false, wall: WallKind = 'none') =>
    (await audit(fix, wall)).filter(check => check.name === name).map(({ status }) => status)
  return { home, configDir, audit, statusOf, at: (file: string) => join(configDir, file) }
}

const discord = { DISCORD: 'true', DISCORD_BOT_TOKEN: 'a-bot-token-for-tests-only' }

test('a gateway for its owner alone, with closed files, has nothing to warn about', async () => {
  const { audit } = await setup()
  expect((await audit()).filter(({ status }) => status === 'warn' || status === 'fail')).toEqual([])
})

test('open modes of state, secrets and folders are found, and closed with fix; nothing else is touched', async () => {
  const { statusOf, at, home } = await setup({}, { '.env': 'A=1\n', 'ipc/outbound/a.md': 'x', 'notes.md': 'x' })
  mkdirSync(join(home, '.codex'))
  writeFileSync(join(home, '.codex/auth.json'), '{}', { mode: 0o644 })
  for (const file of ['.aetheel/token', '.env', 'notes.md']) chmodSync(at(file), 0o644)
  chmodSync(at('ipc/outbound'), 0o777)
  const names = ['state', 'secrets', 'workspace', 'cli logins']
  for (const name of names) expect(await statusOf(name), name).toEqual(['fail'])
  for (const name of names) expect(await statusOf(name, true), name).toEqual(['ok'])
  for (const name of names) expect(await statusOf(name), name).toEqual(['ok'])
  const modeOf = (path: string) => statSync(path).mode & 0o777
  expect([modeOf(at('.aetheel/token')), modeOf(at('.env')), modeOf(at('ipc/outbound'))]).toEqual([0o600, 0o600, 0o755])
  expect(modeOf(at('notes.md'))).toBe(0o644)
})

test('a link is not followed when modes are changed', async () => {
  const { home, statusOf, at } = await setup()
  writeFileSync(join(home, 'target'), 'x', { mode: 0o644 })
  chmodSync(join(home, 'target'), 0o644)
  symlinkSync(join(home, 'target'), at('.aetheel/link'))
  expect(await statusOf('state', true)).toEqual(['ok'])
  expect(statSync(join(home, 'target')).mode & 0o777).toBe(0o644)
})

test('guests without a wall are a warning, with a shell a failure, behind a wall neither', async () => {
  const warns = await setup(discord)
  expect(await warns.statusOf('guest')).toEqual(['warn'])
  expect(await warns.statusOf('budget')).toEqual(['warn'])
  const shell = await setup({ ...discord, GUEST_TOOLS: 'Read,Bash' })
  expect(await shell.statusOf('guest')).toEqual(['fail'])
  expect(await shell.statusOf('guest', false, 'bwrap')).toEqual(['ok'])
  expect(await shell.statusOf('webhook')).toEqual(['off'])
  // Held, but with the network of this machine.
  expect(await shell.statusOf('guest', false, 'flags')).toEqual(['warn'])
  const [guest] = (await shell.audit(false, 'bwrap')).filter(({ name }) => name === 'guest')
  expect(guest?.detail).toContain('can reach this')
  const hooked = await setup({}, { 'agents.md': '# Rules\n\n## Webhooks\n\n### door\nSecret: DOOR\n' })
  expect(await hooked.statusOf('webhook')).toEqual(['warn'])
})

test('a CLI older than the tested version is a warning that names both', async () => {
  const { audit, statusOf } = await setup()
  expect(await statusOf('cli versions')).toEqual(['ok'])
  const [check] = (await audit(false, 'flags')).filter(({ name }) => name === 'cli versions')
  expect(check).toMatchObject({ status: 'warn', detail: expect.stringContaining('codex 0.1.0 (older than 0.166.0)') })
})

test('wide rules, an open address, an open home and a secret in a note are named', async () => {
  const { audit, home } = await setup(
    { ...discord, ALLOWED_GUILDS: '123', HTTP_HOST: '0.0.0.0', HTTP_TOKEN: 'a-long-token-of-the-owner' },
    { 'memory.md': 'the token is a-bot-token-for-tests-only\n' },
  )
  chmodSync(home, 0o755)
  const found = (await audit()).filter(({ status }) => status !== 'ok' && status !== 'off')
  expect(found.map(({ name }) => name).sort()).toEqual(['access', 'budget', 'guest', 'home', 'leaks', 'network'])
  expect(found.find(({ name }) => name === 'leaks')?.detail).toContain('memory.md')
  expect(JSON.stringify(found)).not.toContain('a-bot-token-for-tests-only')
})
