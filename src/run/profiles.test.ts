// Profiles and the wall: which tools survive, which folders belong to whom, and what the box shows.
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type NewEvent, principalOfAll } from '../base/event.ts'
import { codex } from './backends/codex.ts'
import { modelProviders } from './backends/codex-settings.ts'
import { prepareHome } from './box-home.ts'
import { runTag } from './end-processes.ts'
import { startProcess } from './process.ts'
import { descendants } from './process-table.ts'
import { createProfiles, toolsFor } from './profiles.ts'
import { boxed, findWall, placesOf, type Wall } from './wall.ts'

const never = new AbortController().signal
const real = await findWall('auto', process.env.PATH, never)
if (real.kind !== 'bwrap') console.log(`NOT RUN: boxes: ${real.detail}`)

let dir: string
let workspace: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'aetheel-profiles-'))
  workspace = join(dir, 'space')
  for (const name of ['.aetheel/token', 'memory.md', 'guests/other/diary.txt', 'files/in/7/cat.txt'])
    put(join(workspace, name), `secret ${name}`)
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

function put(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}

const open = (
  given: { wall?: Wall; tools?: readonly string[]; sandbox?: 'off' | 'workspace'; network?: readonly string[] } = {},
) =>
  createProfiles({
    ...{ workspace, stateDir: join(workspace, '.aetheel'), product: [], project: workspace },
    wall: async () => given.wall ?? { kind: 'bwrap', box: '/usr/bin/bwrap', detail: '', network: { perl: null } },
    settings: () => ({
      ...{ guestTools: given.tools ?? ['Read', 'Glob'], guestMcp: ['files'], guestEnv: [], allowedTools: ['Bash'] },
      ...{ guestNetwork: given.network ?? ['model'], guestUrls: [] },
      sandbox: given.sandbox ?? 'off',
    }),
  })

const message = (id: string, owner = false, given: object = {}): NewEvent => ({
  ...{ key: 'k', lane: 'tavern:c', replyTo: null, source: 'tavern' },
  what: { kind: 'message', id: 'm', text: 'hello', author: { id, name: id, owner }, ...given },
})
const webhook = (name: string): NewEvent => ({
  ...{ key: 'k', lane: `webhook:${name}`, replyTo: null, source: 'webhook' },
  what: { kind: 'webhook', name, instruction: 'x', payload: 'y' },
})
const taken = (...events: NewEvent[]) => ({
  item: events.at(-1)!,
  earlier: events.slice(0, -1).map((item, id) => ({ id, item })) as never,
})

test('the owner has no profile unless a sandbox is wanted; jobs belong to the owner', async () => {
  const job: NewEvent = { ...message('x'), what: { kind: 'cron', name: 'a', instruction: 'b' } }
  for (const event of [message('me', true), job]) expect(await open().of(taken(event), 'claude')).toBeNull()
  const confined = await open({ sandbox: 'workspace' }).of(taken(message('me', true)), 'claude')
  expect(confined?.turn).toMatchObject({ workingDir: workspace, allowedTools: ['Bash'] })
  expect(confined?.turn.profile).toMatchObject({ name: 'owner', home: null, hidden: [join(workspace, '.aetheel')] })
})

test('guests and webhooks have a folder and a home each, and a batch gets the lowest permissions among it', async () => {
  const nameOf = async (...events: NewEvent[]) => (await open().of(taken(...events), 'claude'))?.turn.profile.name
  expect(await nameOf(message('me', true), message('ada'))).toBe('ada')
  expect(await nameOf(message('ada'), message('me', true))).toBe('ada')
  expect(await nameOf(webhook('ci'))).toBe('_lane.webhook_3a_ci')
  const both = await nameOf(message('ada'), message('bob'))
  expect(both).toBe('ada_20_and_20_bob')
  // What the batch starts stays with all of them.
  const principal = principalOfAll([message('ada'), message('bob')])
  const task: NewEvent['what'] = {
    ...{ kind: 'assignment', agent: 'x', name: 'x', instruction: 'y', depth: 1, reportTo: { lane: 'l', place: null } },
  }
  expect(await nameOf({ ...message('bob'), what: task, principal })).toBe(both)
  const { profile, workingDir } = (await open().of(taken(message('ada')), 'claude'))!.turn
  expect(workingDir).toBe(join(workspace, 'guests', 'ada'))
  expect(profile).toMatchObject({ home: join(workspace, '.aetheel/homes/ada'), writable: [], principal: 'guest' })
})

test('tools that a wall cannot hold are taken away', () => {
  const all = ['Read', 'Write', 'Bash', 'WebSearch']
  expect(toolsFor(all, 'bwrap', 'claude')).toEqual(all)
  expect(toolsFor(all, 'flags', 'claude')).toEqual(['Read', 'Write', 'WebSearch'])
  expect(toolsFor(all, 'flags', 'claude-sdk')).toEqual(['Read', 'Write', 'WebSearch'])
  for (const backend of ['codex', 'gemini', 'opencode', 'pi'])
    expect(toolsFor(all, 'flags', backend)).toEqual(['WebSearch'])
  // These could read their own login.
  for (const backend of ['codex', 'pi'])
    expect(toolsFor(['Read', 'WebSearch'], 'bwrap', backend)).toEqual(['WebSearch'])
  expect(toolsFor(all, 'none', 'pi')).toEqual(all)
})

test('a guest gets only the MCP servers that are meant for guests, and the gateway itself', async () => {
  const server = (name: string) => ({ name, command: 'x', args: [], env: {} })
  const { equip } = (await open().of(taken(message('ada')), 'pi'))!
  const given = { mcpServers: ['files', 'secrets', 'aetheel'].map(server), words: 'write calls into ipc/calls' }
  expect(equip(given).mcpServers.map(({ name }) => name)).toEqual(['files', 'aetheel'])
  expect(equip(given).words).toBe('')
})

test('what a guest sent is at the same path in its folder, and nothing else is copied', async () => {
  const file = (path: string) => ({ name: 'cat.txt', path, bytes: 1, type: 'text/plain' })
  const attachments = [file('files/in/7/cat.txt'), file('../.aetheel/token'), file('memory.md')]
  const { profile } = (await open().of(taken(message('ada', false, { attachments })), 'claude'))!.turn
  const given = join(workspace, '.aetheel/given/ada')
  expect(readFileSync(join(given, 'files/in/7/cat.txt'), 'utf8')).toBe('secret files/in/7/cat.txt')
  expect(existsSync(join(given, 'memory.md'))).toBe(false)
  expect(profile.readable).toContainEqual({
    from: join(given, 'files/in'),
    at: join(workspace, 'guests/ada/files/in'),
  })
})

test('links that a guest has put where the gateway makes folders are removed, not followed', async () => {
  const folder = join(workspace, 'guests/ada')
  mkdirSync(folder)
  symlinkSync(dir, join(folder, 'files'))
  symlinkSync(join(workspace, 'guests/other'), join(folder, 'skills'))
  await open().of(taken(message('ada')), 'claude')
  for (const name of ['files', 'skills']) expect(lstatSync(join(folder, name)).isDirectory()).toBe(true)
  expect(existsSync(join(dir, 'in'))).toBe(false)
})

test('of the settings of codex only models and their providers reach a guest', () => {
  const text = [
    'model = "gpt-5"\nnotify = ["touch", "owned"]\nmodel_provider = "x"',
    '[model_providers.x]\nbase_url = "http://127.0.0.1"',
    '[mcp_servers.files]\ncommand = "serve"',
    '[[hooks.PreToolUse]]\ncommand = "touch owned"\n',
  ].join('\n')
  expect(modelProviders(text)).toBe(
    'model = "gpt-5"\nmodel_provider = "x"\n[model_providers.x]\nbase_url = "http://127.0.0.1"\n',
  )
})

test('a home gets the login as a link where nothing can be mounted, and never through a link of the guest', async () => {
  put(join(dir, 'owner/.codex/auth.json'), '{"login":1}')
  put(join(dir, 'elsewhere/keep.txt'), 'mine')
  const wall: Wall = { kind: 'flags', box: '', detail: '', network: null }
  const { profile } = (await open({ wall }).of(taken(message('ada')), 'codex'))!.turn
  mkdirSync(profile.home!, { recursive: true })
  symlinkSync(join(dir, 'elsewhere'), join(profile.home!, '.codex'))
  prepareHome(profile, codex, { HOME: join(dir, 'owner') })
  expect(readFileSync(join(profile.home!, '.codex/auth.json'), 'utf8')).toBe('{"login":1}')
  expect(lstatSync(join(profile.home!, '.codex')).isSymbolicLink()).toBe(false)
  expect(existsSync(join(dir, 'elsewhere/auth.json'))).toBe(false)
})

test('a program is visible with the packages it belongs to, and with nothing else of its folder', () => {
  put(join(dir, 'lib/node_modules/cli/bin/cli.js'), '')
  put(join(dir, 'bin/tool'), '')
  mkdirSync(join(dir, 'links'))
  symlinkSync(join(dir, 'lib/node_modules/cli/bin/cli.js'), join(dir, 'links/cli'))
  expect(placesOf(join(dir, 'links/cli'))).toEqual([
    join(dir, 'lib/node_modules'),
    `${join(dir, 'lib/node_modules/cli/bin/cli.js')}\0${join(dir, 'links/cli')}`,
  ])
  expect(placesOf(join(dir, 'bin/tool'))).toEqual([join(dir, 'bin/tool')])
  expect(placesOf('/usr/bin/env')).toEqual([])
})

test('WALL=flags and WALL=none do not look for bubblewrap, and without it the flags stand', async () => {
  expect((await findWall('flags', process.env.PATH, never)).kind).toBe('flags')
  expect((await findWall('none', process.env.PATH, never)).kind).toBe('none')
  expect(await findWall('auto', dir, never)).toMatchObject({ kind: 'flags', box: '' })
  put(join(dir, 'bwrap'), '#!/bin/sh\necho No permissions to create a new namespace >&2\nexit 1\n')
  spawnSync('chmod', ['+x', join(dir, 'bwrap')])
  expect((await findWall('auto', dir, never)).detail).toMatch(process.platform === 'linux' ? /No permissions/ : /Linux/)
})

// Skipped where bubblewrap is missing or cannot run; the reason is printed above.
describe.runIf(real.kind === 'bwrap')('in the box', () => {
  /** Two programs in the box are called so. */
  const isSleep = (pid: number) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'latin1').startsWith('sleep\0')
    } catch {
      return false // gone
    }
  }

  async function orderFor(script: string, tools: readonly string[], program = '/bin/sh') {
    const confined = (await open({ wall: real, tools }).of(taken(message('ada')), 'claude'))!
    const run = join(workspace, '.aetheel/runs/run-1')
    mkdirSync(run, { recursive: true })
    prepareHome(confined.turn.profile, codex, { HOME: dir })
    return boxed(
      {
        ...{ file: program, args: ['-c', script], input: '' },
        env: { PATH: process.env.PATH ?? '', HOME: '/', [runTag]: run },
        cwd: confined.turn.workingDir,
      },
      confined.turn.profile,
      { dir: run, programs: [], logins: [], state: [], network: null },
    )
  }

  async function runInside(script: string, tools: readonly string[]) {
    const { file, args, env } = await orderFor(script, tools)
    return spawnSync(file, args, { env, encoding: 'utf8' })
  }

  test('a program that npm has installed globally finds its own modules', async () => {
    const tool = join(dir, 'lib/node_modules/tool')
    put(join(tool, 'words.mjs'), 'export const words = "found"')
    put(join(tool, 'cli.mjs'), '#!/usr/bin/env node\nimport { words } from "./words.mjs"\nconsole.log(words)\n')
    chmodSync(join(tool, 'cli.mjs'), 0o755)
    mkdirSync(join(dir, 'global'))
    symlinkSync(join(tool, 'cli.mjs'), join(dir, 'global/tool'))
    const { file, args, env } = await orderFor('', [], join(dir, 'global/tool'))
    expect(spawnSync(file, args, { env, encoding: 'utf8' })).toMatchObject({ stdout: 'found\n', status: 0 })
  })

  test('a kill ends everything in it, also what has left its group and session and cleared its environment', async () => {
    const order = await orderFor('env -i setsid sleep 4711 & setsid sleep 4711 & echo up; wait', ['Bash'])
    const child = startProcess(order)
    for await (const line of child.lines) if (line === 'up') break
    const sleeping = () => descendants(child.pid ?? 0)
    await expect.poll(() => sleeping().filter(isSleep)).toHaveLength(2)
    const both = sleeping().filter(isSleep)
    child.kill()
    await child.end
    await expect.poll(() => both.filter(isSleep)).toEqual([])
  })

  test('a guest sees its folder and no other file of the workspace', async () => {
    const { stdout } = await runInside(
      `cat ${workspace}/.aetheel/token ../other/diary.txt ../../memory.md; ls -A ../..`,
      ['Read', 'Bash'],
    )
    expect(stdout).not.toContain('secret')
    expect(stdout.split('\n').filter(Boolean)).toEqual(['.aetheel', 'guests'])
  })

  test('without tools that write, not even its folder can be written', async () => {
    expect((await runInside('touch x', ['Read'])).status).not.toBe(0)
    expect((await runInside('touch x', ['Read', 'Write'])).status).toBe(0)
    expect((await runInside('touch .claude/settings.json', ['Read', 'Write'])).status).not.toBe(0)
  })

  test('it has no capabilities, no other processes and no files that the gateway has open', async () => {
    const descriptor = openSync(join(workspace, 'memory.md'), 'r')
    const { stdout } = await runInside(
      'grep CapEff /proc/self/status; ls /proc | grep -c "^[0-9]"; ls -l /proc/self/fd',
      ['Bash'],
    )
    closeSync(descriptor)
    const [capabilities, processes, ...descriptors] = stdout.trim().split('\n')
    expect(capabilities).toMatch(/\t0+$/)
    expect(Number(processes)).toBeLessThan(8)
    expect(descriptors.join('\n')).not.toContain('memory.md')
  })
})
