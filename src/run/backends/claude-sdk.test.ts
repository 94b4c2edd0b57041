// What is specific to the SDK: where it is found, which claude it starts with what, and a broken SDK.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type AgentEvent, permissionModes, type Turn } from '../../base/agent.ts'
import { createTempDirs } from '../temp-dirs.ts'
import { turnWith } from '../turn.fixture.ts'
import { createClaudeSdk, findSdk, type SdkParts } from './claude-sdk.ts'

const fakes = join(import.meta.dirname, '../../../test/fakes')
const never = new AbortController().signal
let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'aetheel-sdk-'))
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

/** A package in this folder of modules. */
function installIn(modules: string, code = '', name = '@anthropic-ai/claude-agent-sdk'): string {
  const dir = join(modules, name)
  mkdirSync(dir, { recursive: true })
  writeFileSync(
    join(dir, 'package.json'),
    JSON.stringify({ name, version: '1.2.3', type: 'module', exports: { '.': { default: './sdk.mjs' } } }),
  )
  writeFileSync(join(dir, 'sdk.mjs'), code)
  return dir
}

function open(given: Partial<SdkParts> = {}) {
  return createClaudeSdk({
    program: join(fakes, 'claude.mjs'),
    sdkPath: join(fakes, 'claude-agent-sdk'),
    environment: { PATH: process.env.PATH, HOME: home, ANTHROPIC_API_KEY: 'key', SECRET_OF_OTHERS: 'sesame' },
    handOn: [],
    extra: {},
    scrub: text => text,
    pool: null,
    tempDirs: createTempDirs(join(home, 'runs')),
    ...given,
  })
}

const turn = (given: Partial<Turn> = {}) => turnWith({ permissionMode: 'default', workingDir: home })(given)

async function last(events: AsyncIterable<AgentEvent>): Promise<AgentEvent | undefined> {
  let end: AgentEvent | undefined
  for await (const event of events) end = event
  return end
}

test('a path may name the package, the folder it was installed in, or that of the modules', () => {
  const dir = installIn(join(home, 'node_modules'))
  for (const path of [dir, home, join(home, 'node_modules')])
    expect(findSdk(path, undefined)).toEqual({ dir, version: '1.2.3', entry: join(dir, 'sdk.mjs'), program: null })
})

test('without a path the nearest SDK is used: beside the workspace, of the running node, of the nodes on PATH', () => {
  const cwd = join(home, 'project/below')
  const node = join(home, 'node/bin/node')
  const path = ['bin', 'relative', join(home, 'other/bin')].join(delimiter)
  const found = () => findSdk(null, path, { cwd, node })?.dir
  const places = ['other/lib/node_modules', 'node/lib/node_modules', 'project/node_modules']
  expect(found()).toBeUndefined()
  for (const place of places) expect([installIn(join(home, place))]).toEqual([found()])
})

test('an invalid path is not replaced by another one; the error says how to install the SDK', async () => {
  installIn(join(home, 'node_modules'), '', 'another')
  const backend = open({ sdkPath: join(home, 'node_modules/another') })
  expect(await backend.check(never)).toEqual({
    ok: false,
    detail: expect.stringMatching(/not found in .*another.*npm install -g @anthropic-ai\/claude-agent-sdk/),
  })
  expect(await last(backend.run(turn(), never))).toMatchObject({ ok: false, why: 'not-installed' })
})

test('the check reports its version and the claude that it uses', async () => {
  const detail = expect.stringMatching(/claude-agent-sdk 9\.9\.9 with .*claude\.mjs 9\.9\.9 \(Claude Code stand-in\)$/)
  expect(await open().check(never)).toEqual({ ok: true, detail })
})

test('it uses its own claude unless another one is configured', () => {
  const dir = installIn(join(home, 'node_modules'))
  const carried = join(
    `${dir}-${process.platform}-${process.arch}`,
    process.platform === 'win32' ? 'claude.exe' : 'claude',
  )
  mkdirSync(dirname(carried))
  writeFileSync(carried, '')
  expect(findSdk(home, undefined)?.program).toBe(carried)
})

test('an SDK without its own claude uses the one on PATH', async () => {
  const bin = join(home, 'bin')
  mkdirSync(bin)
  symlinkSync(join(fakes, 'claude.mjs'), join(bin, 'claude'))
  const environment = { PATH: [bin, process.env.PATH].join(delimiter), HOME: home }
  const backend = open({ program: null, environment })
  expect(await backend.check(never)).toMatchObject({ ok: true, detail: expect.stringContaining(join(bin, 'claude')) })
  expect(await last(backend.run(turn(), never))).toMatchObject({ ok: true, text: 'turn 1: hello' })
})

test('claude gets its environment, the system prompt and the MCP servers in a file, and nothing else', async () => {
  const env = { TOKEN: 'a-secret' }
  const asked = turn({ mcpServers: [{ name: 'files', command: 'serve', args: [], env }], model: 'opus' })
  expect(await last(open().run(asked, never))).toMatchObject({ ok: true })
  const [begin] = readFileSync(join(home, '.claude-stand-in/journal.jsonl'), 'utf8').split('\n')
  const {
    args,
    env: names,
    system,
    mcpConfig,
  } = JSON.parse(begin ?? '') as Record<'args' | 'env', string[]> & Record<'system' | 'mcpConfig', string>
  expect(system).toBe('You are a test.')
  expect(names).toEqual(expect.arrayContaining(['HOME', 'PATH', 'ANTHROPIC_API_KEY', 'AETHEEL_RUN']))
  for (const name of ['SECRET_OF_OTHERS', 'VITEST']) expect(names).not.toContain(name)
  expect(args).toEqual(
    expect.arrayContaining([
      '--max-turns=25',
      '--model=opus',
      '--tools=Read,Write,Skill',
      '--allowedTools=Read,Write,Skill,mcp__files',
      '--permission-mode=default',
    ]),
  )
  expect(args).not.toContain('--allow-dangerously-skip-permissions')
  expect(mcpConfig).toContain('a-secret')
  expect(args.join()).not.toContain('a-secret')
})

// Feature: discord-claude-gateway, Property 6: Query arguments correctness
test('query() gets the tools, the permission mode and the system prompt of the turn', async () => {
  const told = join(home, 'told.json')
  const code = `import { writeFileSync } from 'node:fs'
export function query({ options }) { writeFileSync(${JSON.stringify(told)}, JSON.stringify(options)); throw new Error('enough') }`
  const backend = open({ sdkPath: installIn(join(home, 'node_modules'), code) })
  const word = fc.stringMatching(/^[A-Z][a-z]{1,9}$/)
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(word),
      fc.constantFrom(...permissionModes),
      fc.string(),
      async (allowedTools, permissionMode, systemPrompt) => {
        await last(backend.run(turn({ allowedTools, permissionMode, systemPrompt }), never))
        const options = JSON.parse(readFileSync(told, 'utf8'))
        expect(options).toMatchObject({ permissionMode, systemPrompt: { append: systemPrompt } })
        expect(options.tools).toEqual([...allowedTools, 'Skill'])
        expect(options.allowedTools.slice(0, allowedTools.length)).toEqual(allowedTools)
        expect(options.allowDangerouslySkipPermissions).toBe(permissionMode === 'bypassPermissions')
      },
    ),
    { numRuns: 100 },
  )
})

test.each([
  ['throws when it is loaded', 'throw new Error("old node")', 'old node'],
  ['has no query', 'export const ask = 1', 'query'],
  ['throws when it is asked', 'export function query() { throw new Error("no such option") }', 'no such option'],
  [
    'starts nothing',
    'export const query = () => ({ async *[Symbol.asyncIterator]() { throw new Error("not today") } })',
    'not today',
  ],
])('an SDK that %s ends the run instead of throwing', async (_, code, told) => {
  const sdkPath = installIn(join(home, 'node_modules'), code)
  expect(await last(open({ sdkPath }).run(turn(), never))).toMatchObject({
    ok: false,
    why: 'crashed',
    detail: expect.stringContaining(told),
  })
})

// docs/adr/0022
test('the workspace’s prompt is appended to that of Claude Code', async () => {
  const code =
    'export const query = ({ options }) => { globalThis.askedOfSdk = options.systemPrompt; throw new Error("enough") }'
  const sdkPath = installIn(join(home, 'node_modules'), code)
  await last(open({ sdkPath }).run(turn({ systemPrompt: 'You are calm.' }), never))
  expect((globalThis as { askedOfSdk?: unknown }).askedOfSdk).toMatchObject({
    ...{ type: 'preset', preset: 'claude_code', append: 'You are calm.' },
  })
})
