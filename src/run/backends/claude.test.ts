// What is specific to claude: offered and granted tools, MCP servers, and the output besides the answer.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { AgentEvent, Turn } from '../../base/agent.ts'
import type { Json } from '../stdio.ts'
import { turnWith } from '../turn.fixture.ts'
import { claude } from './claude.ts'
import { openAsks } from './claude-asks.ts'
import { createReading } from './claude-read.ts'

const turn = turnWith({ allowedTools: ['Read', 'Bash(git log:*)'], permissionMode: 'default' })
const servers: Turn['mcpServers'] = [
  { name: 'files', command: 'serve', args: ['--all'], env: { TOKEN: 'a-secret' } },
  { name: 'my web.x', url: 'https://example.org/mcp', headers: { Authorization: 'b-secret' } },
]
const after = (list: readonly string[], flag: string) => list.flatMap((one, i) => (one === flag ? [list[i + 1]] : []))

test('a rule in brackets allows its tool; the skill tool is always allowed', () => {
  expect(after(claude.arguments(turn(), '/dir'), '--tools')).toEqual(['Read,Bash', 'Skill'])
})

test('MCP tools are granted in modes that would ask for permission', () => {
  const granted = (given: Partial<Turn>) =>
    after(claude.arguments(turn({ mcpServers: servers, ...given }), '/dir'), '--allowedTools')
  expect(granted({})).toEqual(['Read', 'Bash(git log:*)', 'Skill', 'mcp__files', 'mcp__my_web_x'])
  expect(granted({ permissionMode: 'bypassPermissions', allowedTools: ['Read', 'Bash'] })).toEqual(['Read', 'Bash'])
})

test('a rule is never bypassed: what it does not allow is refused', () => {
  const list = (given: Partial<Turn>) =>
    claude.arguments(turn({ permissionMode: 'bypassPermissions', ...given }), '/dir')
  expect(after(list({}), '--permission-mode')).toEqual(['dontAsk'])
  expect(list({})).not.toContain('--dangerously-skip-permissions')
  expect(after(list({}), '--allowedTools')).toContain('Bash(git log:*)')
  expect(after(list({}), '--allowedTools')).not.toContain('Bash')
  expect(list({ allowedTools: ['Read', 'Bash'] })).toContain('--dangerously-skip-permissions')
})

test('MCP servers are written to a file, and their secrets to nowhere else', () => {
  const asked = turn({ mcpServers: servers })
  expect(JSON.parse(claude.files(asked, {})['mcp.json'] ?? '')).toEqual({
    mcpServers: {
      files: { command: 'serve', args: ['--all'], env: { TOKEN: 'a-secret' } },
      'my web.x': { type: 'http', url: 'https://example.org/mcp', headers: { Authorization: 'b-secret' } },
    },
  })
  expect(after(claude.arguments(asked, '/dir'), '--mcp-config')).toEqual(['/dir/mcp.json'])
  expect(JSON.stringify([claude.arguments(asked, '/dir'), claude.environment(asked, '/dir', {})])).not.toContain(
    'secret',
  )
  expect(claude.files(turn(), {})).not.toHaveProperty('mcp.json')
  expect(claude.arguments(turn(), '/dir')).not.toContain('--mcp-config')
})

test('the skills that claude brings are available only if they are allowed', () => {
  const off = (given: Partial<Turn>) => 'CLAUDE_CODE_DISABLE_BUNDLED_SKILLS' in claude.environment(turn(given), '/', {})
  expect(off({})).toBe(true)
  expect(off({ allowedTools: ['Read', 'Skill'] })).toBe(false)
})

const hear = (read: (line: Json) => readonly AgentEvent[], ...lines: readonly Json[]) => lines.flatMap(read)
const used = (events: readonly AgentEvent[]) => events.find(event => event.type === 'usage')
const result = { type: 'result', is_error: false, result: 'x', usage: { input_tokens: 3, output_tokens: 4 } }

test('usage is the total of the session over all models, with its cost', () => {
  const models = {
    opus: { inputTokens: 100, outputTokens: 10, cacheReadInputTokens: 1000, cacheCreationInputTokens: 20 },
    haiku: { inputTokens: 5, outputTokens: 1 },
  }
  const reported = used(hear(createReading()(), { ...result, modelUsage: models, total_cost_usd: 0.5 }))
  expect(reported).toMatchObject({ of: 'session', usage: { inputTokens: 1125, outputTokens: 11, costUsd: 0.5 } })
})

test('an older version reports the tokens of the turn, but no cost', () => {
  const reported = used(hear(createReading()(), { ...result, total_cost_usd: 0.5 }))
  expect(reported).toMatchObject({ of: 'turn', usage: { inputTokens: 3, outputTokens: 4, costUsd: null } })
  expect(used(hear(createReading()(), { ...result, modelUsage: {} }))).toBeUndefined()
})

test('the reported model is the one that answered, not a placeholder or that of a subagent', () => {
  const model = (...lines: readonly Json[]) => used(hear(createReading()(), ...lines, result))?.model
  const init = { type: 'system', subtype: 'init', model: 'opus' }
  const spoke = (name: string, parent: string | null = null) => ({
    type: 'assistant',
    message: { model: name },
    parent_tool_use_id: parent,
  })
  expect(model()).toBe(null)
  expect(model(init)).toBe('opus')
  expect(model(init, spoke('sonnet'), spoke('<synthetic>'))).toBe('sonnet')
  expect(model(init, spoke('haiku', 'tool-1'))).toBe('opus')
})

test('the end of a limit is reported once, and known to every later turn of that process', () => {
  const limited = { type: 'rate_limit_event', rate_limit_info: { status: 'rejected', resetsAt: 1_900_000_000 } }
  const refused = { type: 'result', is_error: true, result: 'You have hit your limit', api_error_status: 429 }
  const turns = createReading()
  expect(hear(turns(), limited, refused).at(-1)).toMatchObject({ why: 'rate-limited', until: 1_900_000_000_000 })
  expect(hear(turns(), refused).at(-1)).toMatchObject({ why: 'rate-limited', until: 1_900_000_000_000 })
  const wrong = { ...refused, result: 'invalid api key', api_error_status: 401 }
  expect(hear(turns(), wrong).at(-1)).not.toHaveProperty('until')
  const warned = { ...limited, rate_limit_info: { ...limited.rate_limit_info, status: 'allowed_warning' } }
  expect(hear(turns(), warned, refused).at(-1)).not.toHaveProperty('until')
})

test('whatever comes of the model shows that the session has the message, once', () => {
  const spoke = { type: 'assistant', message: { content: [] } }
  for (const line of [{ type: 'stream_event', event: {} }, spoke, { type: 'system', subtype: 'api_retry' }])
    expect(hear(createReading()(), line, line).filter(({ type }) => type === 'stored')).toHaveLength(1)
  expect(hear(createReading()(), { type: 'system', subtype: 'init' }).filter(({ type }) => type === 'stored')).toEqual(
    [],
  )
})

test('the end of an unrequested turn does not end ours, with and without ids on its lines', () => {
  const own = '00000000-0000-4000-8000-000000000001'
  const stamp = { user_message_uuid: own, user_message_uuids: [own] }
  const says = (text: string) => ({
    type: 'stream_event',
    event: { type: 'content_block_delta', delta: { type: 'text_delta', text } },
  })
  const unasked = [{ type: 'system', subtype: 'init' }, says('no'), { ...result, result: 'no' }]
  const stamped = hear(
    createReading()(own),
    ...unasked,
    { ...says('yes'), ...stamp },
    { ...result, result: 'yes', ...stamp },
  )
  // An older version only echoes the message.
  const echoed = hear(createReading()(own), ...unasked, { type: 'user', uuid: own, isReplay: true }, says('yes'), {
    ...result,
    result: 'yes',
  })
  for (const events of [stamped, echoed]) {
    expect(events.flatMap(event => (event.type === 'text' ? [event.delta] : []))).toEqual(['yes'])
    expect(events.filter(({ type }) => type === 'ended')).toMatchObject([{ ok: true, text: 'yes' }])
    expect(events.filter(({ type }) => type === 'trouble')).toHaveLength(1)
  }
  // A turn that includes our message is ours.
  const folded = { ...result, ...stamp, user_message_uuids: ['other', own], origin: { kind: 'task-notification' } }
  expect(hear(createReading()(own), folded).at(-1)).toMatchObject({ type: 'ended', ok: true })
  const others = { ...result, user_message_uuid: 'other', user_message_uuids: ['other'] }
  expect(hear(createReading()(own), { ...says('yes'), ...stamp }, others).map(({ type }) => type)).not.toContain(
    'ended',
  )
})

test('without a shell, it may not edit what it obeys, and runs no hooks but those of an owner who has some', () => {
  const home = mkdtempSync(join(tmpdir(), 'aetheel-claude-'))
  onTestFinished(() => rmSync(home, { recursive: true }))
  const settingsFor = (given: Partial<Turn>) => {
    const { 'settings.json': text = 'null' } = claude.files(turn(given), { HOME: home })
    const list = claude.arguments(turn(given), '/runs/run-1')
    expect(after(list, '--settings')).toEqual(text === 'null' ? [] : ['/runs/run-1/settings.json'])
    expect(after(list, '--disallowedTools')).toEqual(text === 'null' ? [] : ['Edit(//runs/**)'])
    return JSON.parse(text) as unknown
  }
  const deny = expect.arrayContaining(['Edit(//**/.claude/**)', 'Edit(//**/.mcp.json)']) as unknown
  expect(settingsFor({ allowedTools: ['Read', 'Bash'] })).toBeNull()
  expect(settingsFor({ allowedTools: ['Read', 'Write'] })).toEqual({ permissions: { deny }, disableAllHooks: true })
  expect(settingsFor({})).toEqual({ permissions: { deny }, disableAllHooks: true })
  mkdirSync(join(home, '.claude'))
  writeFileSync(join(home, '.claude/settings.json'), '{"hooks": {}}')
  expect(settingsFor({})).toMatchObject({ disableAllHooks: true })
  writeFileSync(join(home, '.claude/settings.json'), '{"hooks": {"PreToolUse": []}}')
  expect(settingsFor({})).toEqual({ permissions: { deny } })
})

const askedFor = (given: Partial<Turn>, tool: string, input: Json = {}) => {
  const said: Json[] = []
  const asks = openAsks(turn({ askTools: ['Bash'], ...given }), (_, response) => said.push(response))
  const events = asks.asked('r1', { id: 'use-1', tool, input }, 'the plan')
  return { said, events, asks }
}

test("tools of the user's own MCP servers run unasked where permissions are bypassed, unless they are to be asked for", () => {
  const bypass = { permissionMode: 'bypassPermissions' } as const
  expect(askedFor(bypass, 'mcp__own__ping', { a: 1 }).said).toEqual([{ behavior: 'allow', updatedInput: { a: 1 } }])
  expect(askedFor({ ...bypass, askTools: ['mcp__own'] }, 'mcp__own__ping').events).toMatchObject([{ type: 'asks' }])
  expect(askedFor({}, 'mcp__own__ping').events).toMatchObject([{ type: 'asks' }])
})

test('what is still asked when a turn ends is refused, and what cannot be shown at once', () => {
  const open = askedFor({}, 'Bash', { command: 'ls' })
  open.asks.close()
  expect(open.said).toMatchObject([{ behavior: 'deny', message: expect.stringContaining('ended') }])
  let deep: Json = {}
  for (let i = 0; i < 50_000; i++) deep = { deep }
  expect(askedFor({}, 'x', deep)).toMatchObject({ events: [], said: [{ behavior: 'deny' }] })
})

test('its list of tasks is shown as a whole, although it changes it one by one', () => {
  const read = createReading()()
  const use = (id: string, name: string, input: Json) => ({
    type: 'assistant',
    message: { content: [{ type: 'tool_use', id, name, input }] },
  })
  const done = (id: string, details: Json) => ({
    type: 'user',
    message: { content: [{ type: 'tool_result', tool_use_id: id, content: 'ok' }] },
    tool_use_result: details,
  })
  const lists = hear(
    read,
    use('1', 'TaskCreate', { subject: 'Boil water' }),
    done('1', { task: { id: '1', subject: 'Boil water' } }),
    use('2', 'TaskCreate', { subject: 'Make tea' }),
    use('3', 'TaskUpdate', { taskId: '1', status: 'completed' }),
  ).flatMap(event => (event.type === 'action' && event.use?.work.kind === 'todo' ? [event.use.work.items] : []))
  expect(lists.map(items => items.map(({ text, state }) => `${text} ${state}`))).toEqual([
    ['Boil water open'],
    ['Boil water open', 'Make tea open'],
    ['Boil water done', 'Make tea open'],
  ])
})
