// What a stranger's turn leaves behind: nothing. What widens the agent's power: nothing without the owner, whoever's turn it was.
import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { type TemporaryHome, temporaryHome } from '../fakes/temporary.ts'
import { connect } from '../harness/client.ts'
import { token } from '../harness/gateway.ts'

const proof = { authorization: 'Bearer a-secret-for-tests' }
// Without a wall: in a box a turn could not write these files at all.
const env = { DOOR: 'a-secret-for-tests', OUTPUT_CHANNEL_ID: 'webchat:home', WALL: 'none' }
const door = '## Webhooks\n### door\nSecret: DOOR\nInstruction: look {{payload}}\n'

const read = (home: TemporaryHome, file: string) => readFileSync(join(home.configDir, file), 'utf8')
function write(home: TemporaryHome, file: string, text: string): void {
  mkdirSync(join(home.configDir, file, '..'), { recursive: true })
  writeFileSync(join(home.configDir, file), text)
}

/** A program that a misled agent runs: it writes these files, relative to the workspace, and then whatever else is given. */
function program(home: TemporaryHome, files: Readonly<Record<string, string>>, more = ''): string {
  const path = join(home.dir, `program-${Object.keys(files).length}.mjs`)
  writeFileSync(
    path,
    `import fs from 'node:fs'; import { dirname } from 'node:path'
     for (const [file, text] of Object.entries(${JSON.stringify(files)})) {
       fs.mkdirSync(dirname(file), { recursive: true }); fs.writeFileSync(file, text) }
     ${more}`,
  )
  return path
}

/** Everything in the home folder that neither the gateway nor the stand-in writes by itself, without empty folders. */
function stateOf(dir: string, folder = ''): Record<string, string> {
  return Object.fromEntries(
    readdirSync(join(dir, folder)).flatMap(name => {
      const at = join(folder, name)
      if (/(?:^|\/)(?:\.aetheel|\.claude-stand-in|messages|conversations|sessions\.json|activity-log\.json)$/.test(at))
        return []
      const stat = lstatSync(join(dir, at))
      if (stat.isSymbolicLink()) return [[at, `link ${readlinkSync(join(dir, at))}`]]
      if (stat.isDirectory()) return Object.entries(stateOf(dir, at))
      return [
        [
          at,
          stat.isFile() ? `${at.endsWith('.sh') ? stat.mode : ''} ${readFileSync(join(dir, at), 'latin1')}` : 'other',
        ],
      ]
    }),
  )
}

const ends = (home: TemporaryHome) => home.journal().filter(({ what }) => what === 'end').length
const admin = (url: string, path: string) => fetch(`${url}${path}`, { headers: { authorization: `Bearer ${token}` } })

const evil = [
  ...['CLAUDE.md', 'rules/x.md', 'agents/x.md', 'commands/x.md', 'hooks/x.sh', 'settings.json'].map(
    name => `.claude/${name}`,
  ),
  ...['.opencode/plugin/x.js', '.opencode/plugins/x.js', '.opencode/opencode.json', 'opencode.jsonc', 'opencode.json'],
  ...[
    'AGENTS.override.md',
    'AGENTS.md',
    'GEMINI.md',
    '.gemini/.env',
    '.codex/config.toml',
    '.pi/APPEND_SYSTEM.md',
    '.mcp.json',
  ],
  ...[
    'skills/x/sub/SKILL.md',
    'skills/tea/run.sh',
    'skills/tea/SKILL.md',
    '.env',
    'brain.json',
    'tasks.json',
    'content-items.json',
  ],
  ...[
    'ipc/outbound/x.md',
    'notes/x.md',
    '.git/hooks/pre-commit',
    'package.json',
    'odd\nname\u001b.md',
    'guests/other/x.md',
  ],
  ...[
    '../CLAUDE.md',
    '../.claude/settings.json',
    '../.codex/AGENTS.md',
    '../.config/opencode/plugin/x.js',
    '../.bashrc',
  ],
]

test('nothing that a stranger’s turn writes stays, and all of it waits for the owner', async () => {
  await using home = await temporaryHome()
  write(home, 'agents.md', door)
  write(home, 'skills/tea/SKILL.md', '---\nname: tea\ndescription: Makes tea.\n---\n')
  write(home, 'skills/tea/run.sh', 'echo tea\n')
  write(home, 'brain.json', '[]\n')
  write(home, 'data/kept.bin', '\u0000\u0001')
  write(home, 'data/gone/deep.txt', 'deep\n')
  const more = `fs.rmSync('data/gone', { recursive: true }); fs.appendFileSync('data/kept.bin', 'x'); fs.chmodSync('skills/tea/run.sh', 0o777)
    fs.rmSync('soul.md'); fs.symlinkSync('/etc/hosts', 'soul.md'); fs.renameSync('skills', 'skills2'); fs.mkdirSync('skills')
    for (let i = 0; i < 520; i++) fs.mkdirSync('skills/filler' + i)
    fs.mkdirSync('skills/zz'); fs.writeFileSync('skills/zz/SKILL.md', '---\\nname: zz\\ndescription: evil\\n---\\n')`
  const path = program(home, Object.fromEntries(evil.map(file => [file, 'evil\n'])), more)
  const gateway = await home.start(env)
  const client = await connect(gateway.url, 'home')
  client.say('1', 'hello')
  await client.final('1')
  const before = stateOf(home.dir)
  const called = await fetch(`${gateway.url}/hooks/door`, { method: 'POST', headers: proof, body: `[[run:${path}]]` })
  expect(called.status).toBe(202)
  await vi.waitFor(() => expect(ends(home)).toBe(2), 20_000)
  await vi.waitFor(() => expect(stateOf(home.dir)).toEqual(before), 10_000)
  expect(await (await admin(gateway.url, '/api/records/brain')).text()).not.toContain('evil')

  client.say('2', '/memory log')
  const { text = '' } = await client.final('2')
  expect(text).toContain('by the agent for a stranger, **waiting for your approval**')
  expect(text).not.toContain('\u001b')
  client.say('3', 'hello again')
  await client.final('3')
  expect(home.begun().at(-1)?.system).not.toContain('evil')
  expect(client.frames.filter(frame => frame.type === 'final' && frame.text === 'evil')).toEqual([])
  await client.close()
}, 60_000)

test('what a stranger’s turn made can be approved, and is there then', async () => {
  await using home = await temporaryHome()
  write(home, 'agents.md', door)
  write(home, 'notes/list.md', 'milk\n')
  const path = program(home, { 'notes/list.md': 'milk\ntea\n', 'site/index.html': '<p>\n' })
  const gateway = await home.start(env)
  const client = await connect(gateway.url, 'home')
  await fetch(`${gateway.url}/hooks/door`, { method: 'POST', headers: proof, body: `[[run:${path}]]` })
  await client.next(({ type, text }) => type === 'final' && /site/.test(String(text)) && /approval/.test(String(text)))
  await vi.waitFor(() => expect(read(home, 'notes/list.md')).toBe('milk\n'))
  client.say('1', '/memory log')
  const lines = ((await client.final('1')).text ?? '').split('\n').filter(line => line.includes('waiting'))
  for (const [i, line] of lines.entries()) {
    client.say(`approve${i}`, `/memory approve ${/- (\d+)\./.exec(line)?.[1]}`)
    expect((await client.final(`approve${i}`)).text).toMatch(/^Approved/)
  }
  expect(read(home, 'notes/list.md')).toBe('milk\ntea\n')
  expect(read(home, 'site/index.html')).toBe('<p>\n')
  await client.close()
})

test('an agent that is misled in the owner’s own turn gets no more power by itself, and is told so', async () => {
  await using home = await temporaryHome()
  write(home, 'agents.md', 'Be kind.\n')
  write(home, 'notes/a.md', 'a\n')
  const power = {
    'config.json': '{ "allowed_tools": ["Bash"], "agent": { "model": "haiku" } }',
    'agents.md': 'Be kind.\n\n## Hooks\n### agent_begin\nInstruction: evil\n',
    ...{ '.env': 'OWNERS=66', '../.env': 'OWNERS=66', '.mcp.json': '{}', '.claude/settings.json': '{}' },
    ...{
      '.opencode/plugin/x.js': 'evil',
      '.codex/config.toml': 'x=1',
      '.gemini/.env': 'X=1',
      '.pi/extensions/x.ts': 'evil',
    },
    '../.claude/settings.json': '{}',
    '.claude/agents/x.md': '---\nname: x\nhooks: evil\n---\n',
    'skills/x/SKILL.md': '---\nname: x\ndescription: x\nhooks: evil\n---\n',
  }
  const path = program(home, { ...power, 'notes/a.md': 'b\n', 'memory.md': '# Memory\n- tea\n' })
  const gateway = await home.start(env)
  const client = await connect(gateway.url, 'home')
  client.say('0', 'hello')
  await client.final('0')
  const before = stateOf(home.dir)
  client.say('1', `[[run:${path}]]`)
  await client.final('1')
  const after = stateOf(home.dir)
  const own = (state: Record<string, string>) =>
    Object.entries(state).filter(([file]) => !/notes\/a\.md$|memory\.md$/.test(file))
  expect(Object.fromEntries(own(after))).toEqual(Object.fromEntries(own(before)))
  expect(read(home, 'notes/a.md')).toBe('b\n')
  expect(read(home, 'memory.md')).toContain('tea')

  client.say('2', 'go on')
  await client.final('2')
  const prompt = home.begun().at(-1)?.prompt ?? ''
  expect(prompt).toMatch(
    /^\[Gateway: your change to [^\n]* was reverted and waits for your owner's approval \(change \d+\)\.\]/m,
  )
  expect(prompt).toContain('change to config.json')
  expect(home.begun().some(turn => turn.prompt.includes('evil'))).toBe(false)
  const toolsOf = () => {
    const args = home.journal().findLast(({ what }) => what === 'begin')?.args as string[]
    return args[args.indexOf('--allowedTools') + 1]
  }
  expect(toolsOf()).not.toContain('Bash')

  client.say('3', '/memory log')
  const { text = '' } = await client.final('3')
  expect(text).not.toContain('66')
  expect(text).toContain('by the agent for the owner, **waiting for your approval**')
  const log = (await (await admin(gateway.url, '/api/memory/log?limit=50')).json()) as {
    changes: { id: number; file: string; state: string }[]
  }
  const change = log.changes.find(({ file, state }) => file === 'config.json' && state === 'waiting')
  client.say('4', `/memory approve ${change?.id}`)
  expect((await client.final('4')).text).toMatch(/^Approved/)
  client.say('5', 'and now')
  await client.final('5')
  expect(toolsOf()).toContain('Bash')
  await client.close()
}, 30_000)

test('what an agent wrote to widen its power is gone before another conversation starts, while its own turn still runs', async () => {
  await using home = await temporaryHome()
  const gateway = await home.start(env)
  const [first, second] = [await connect(gateway.url, 'home'), await connect(gateway.url, 'garden')]
  const written = '.mcp.json'
  const look = program(home, {}, `fs.writeFileSync('seen.txt', String(fs.existsSync(${JSON.stringify(written)})))`)
  const wait = `fs.writeFileSync('ready.txt', ''); while (!fs.existsSync('go.txt')) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20)`
  first.say('1', `[[run:${program(home, { [written]: '{"mcpServers":{"x":{"command":"evil"}}}' }, wait)}]]`)
  await vi.waitFor(() => expect(read(home, 'ready.txt')).toBe(''), 10_000)
  expect(read(home, written)).toContain('evil')
  second.say('2', `[[run:${look}]]`)
  await second.final('2')
  expect(read(home, 'seen.txt')).toBe('false')
  write(home, 'go.txt', '')
  await first.final('1')
  await Promise.all([first.close(), second.close()])
})

test('the owner’s own edits by hand take effect, also those that widen power', async () => {
  await using home = await temporaryHome()
  const gateway = await home.start(env)
  const client = await connect(gateway.url, 'home')
  write(home, '.mcp.json', '{ "mcpServers": {} }')
  write(home, 'config.json', '{ "allowed_tools": ["Bash"] }')
  client.say('1', 'hello')
  await client.final('1')
  client.say('2', 'hello')
  await client.final('2')
  expect(read(home, '.mcp.json')).toBe('{ "mcpServers": {} }')
  expect(read(home, 'config.json')).toBe('{ "allowed_tools": ["Bash"] }')
  client.say('3', '/memory log')
  expect((await client.final('3')).text).not.toContain('waiting')
  await client.close()
})
