// How codex, gemini and opencode are told to ask, and what each of their requests becomes.
import { describe, expect, test } from 'vitest'
import type { AgentEvent } from '../../base/agent.ts'
import { createAsks } from '../asks.ts'
import type { Rpc } from '../rpc.ts'
import type { Json } from '../stdio.ts'
import { turnWith } from '../turn.fixture.ts'
import { codex } from './codex.ts'
import { askAbout, wantedBy } from './codex-asks.ts'
import { isAsking, mcpSettings, sandboxFor, settingsFor } from './codex-settings.ts'
import { gemini } from './gemini.ts'
import { useOf } from './gemini-asks.ts'
import { policyFor, toolFor } from './gemini-policy.ts'
import { opencode } from './opencode.ts'
import { openAsks } from './opencode-asks.ts'
import { toolFor as opencodeTool, rulesFor } from './opencode-rules.ts'

const turn = turnWith({ allowedTools: ['Read'], askTools: ['Bash'] })
const server = { name: 'notes', command: 'serve', args: [], env: {} }
const nobody: Rpc = {
  request: async () => ({ ok: true, result: {} }),
  notify: () => undefined,
  over: Promise.resolve(),
}
type Asking = Extract<AgentEvent, { type: 'asks' }>

describe('a turn in which nobody can be asked', () => {
  test.each([codex, gemini, opencode])('is the same as ever: $name', dialect => {
    const none = turn({ askTools: [] })
    expect(dialect.hosted?.(none, {})).toBe(false)
    expect(dialect.hosted?.(turn(), {})).toBe(true)
    // In plan mode nothing changes, so nothing is asked.
    expect(dialect.hosted?.(turn({ permissionMode: 'plan' }), {})).toBe(false)
    expect(dialect.ignores(turn({ askTools: ['Unknown'] })).join()).toContain('ASK_TOOLS')
  })
})

describe('codex', () => {
  test('has its shell and no sandbox when every command is asked for', () => {
    expect([isAsking(turn()), sandboxFor(turn())]).toEqual([true, 'danger-full-access'])
    expect(settingsFor(turn())).not.toHaveProperty('features.shell_tool')
    expect([isAsking(turn({ askTools: [] })), sandboxFor(turn({ askTools: [] }))]).toEqual([false, 'read-only'])
  })

  test('cannot ask before it searches the web, and says so', () => {
    const given = turn({ askTools: ['WebSearch'] })
    expect([isAsking(given), settingsFor(given).web_search]).toEqual([false, 'disabled'])
    expect(codex.ignores(given).join()).toContain('WebSearch')
  })

  test('asks for the tools of a server, or for one of them', () => {
    const of = (askTools: string[]) => mcpSettings(turn({ mcpServers: [server], askTools }), 'inline', '')
    expect(of(['mcp__notes'])).toMatchObject({ 'mcp_servers.notes': { default_tools_approval_mode: 'prompt' } })
    expect(of(['mcp__notes__ping'])).toMatchObject({
      'mcp_servers.notes': { default_tools_approval_mode: 'approve', tools: { ping: { approval_mode: 'prompt' } } },
    })
    expect(of(['Bash'])).toMatchObject({ 'mcp_servers.notes': { default_tools_approval_mode: 'approve' } })
    expect(of(['Bash'])).not.toHaveProperty(['mcp_servers.notes', 'tools'])
  })

  test('a command is Bash, and one that only reads a file is Read', () => {
    const of = (script: string) => {
      const params = { command: `/bin/bash -lc '${script}'`, cwd: '/space' }
      return wantedBy('item/commandExecution/requestApproval', params, () => ({}))?.uses
    }
    expect(of('rm -r x')).toEqual([{ tool: 'Bash', work: { kind: 'command', command: 'rm -r x' } }])
    expect(of('cat notes.md')).toEqual([{ tool: 'Read', work: { kind: 'read', path: '/space/notes.md' } }])
  })

  const changes = [
    { path: '/space/a', kind: { type: 'update', move_path: null }, diff: '@@ -1 +1 @@\n-one\n+two\n' },
    { path: '/space/b', kind: { type: 'add' }, diff: 'new\n' },
    { path: '/space/c', kind: { type: 'delete' }, diff: 'old\n' },
  ]
  /** The questions about a change of several files, and what codex is told. */
  function open() {
    const asked: Asking[] = []
    const others: AgentEvent[] = []
    const told: object[] = []
    const asks = createAsks(events => {
      for (const event of events)
        if (event.type === 'asks') asked.push(event)
        else others.push(event)
    })
    const wanted = wantedBy('item/fileChange/requestApproval', { itemId: 'i' }, () => ({ changes }))
    if (wanted) askAbout(wanted, {}, { id: 7, reply: answer => void told.push(answer) }, asks, nobody)
    return { asked, others, told }
  }

  test('a change of several files is asked for one by one, and done only if all are allowed', () => {
    const { asked, told } = open()
    expect(asked.map(({ ask }) => ask)).toMatchObject([
      { id: '7', use: { tool: 'Edit', work: { path: '/space/a', diff: '@@ -1 +1 @@\n-one\n+two' } } },
      { id: '7.1', use: { tool: 'Write', work: { path: '/space/b', diff: '+new' } } },
      { id: '7.2', use: { tool: 'Edit', work: { path: '/space/c', diff: '-old' } } },
    ])
    for (const { answer } of asked) {
      expect(told).toEqual([])
      answer({ allow: true })
    }
    expect(told).toEqual([{ result: { decision: 'accept' } }])
  })

  test('the first refusal takes the other questions back', async () => {
    const { asked, told, others } = open()
    asked[0]?.answer({ allow: true })
    asked[1]?.answer({ allow: false, message: 'no' })
    asked[2]?.answer({ allow: true })
    await expect.poll(() => told).toEqual([{ result: { decision: 'decline' } }])
    expect(others).toEqual([{ type: 'withdrawn', id: '7.2' }])
  })

  test('a tool of an MCP server is asked for by its name and parameters; a question of the server itself is not', () => {
    const params = {
      serverName: 'notes',
      message: 'Allow the notes MCP server to run tool "ping"?',
      _meta: { codex_approval_kind: 'mcp_tool_call', tool_params: { a: 1 } },
    }
    const of = (given: Json) => wantedBy('mcpServer/elicitation/request', given, () => ({}))
    expect(of(params)?.uses).toMatchObject([{ tool: 'mcp__notes__ping', work: { kind: 'other' } }])
    expect(of({ ...params, _meta: null })).toBeNull()
  })
})

describe('gemini', () => {
  test('asks for every use, however harmless, and is in its default mode', () => {
    const rules = policyFor(turn()).split('[[rule]]')
    const asked = rules.filter(rule => rule.includes('ask_user'))
    expect(asked).toHaveLength(1)
    for (const part of ['run_shell_command', 'argsPattern', 'priority = 960']) expect(asked[0]).toContain(part)
    expect(policyFor(turn({ askTools: [] }))).not.toContain('ask_user')
    const files = gemini.files(turn(), {})
    expect(Object.keys(files)).toContain('gemini-asking-policy.toml')
    // For a process that cannot ask.
    expect(files['gemini-policy.toml']).not.toContain('ask_user')
    expect(gemini.arguments(turn(), '/run').join(' ')).toContain('--approval-mode default')
  })

  test('its calls have the names of ALLOWED_TOOLS', () => {
    expect(toolFor('replace', [])).toBe('Edit')
    expect(toolFor('mcp_my_notes_ping', ['my', 'my_notes'])).toBe('mcp__my_notes__ping')
    expect(toolFor('something_new', [])).toBe('something_new')
    const edit = { type: 'diff', path: '/space/a', oldText: 'one\n', newText: 'two\n' }
    expect(useOf({ toolCallId: 'replace__1', kind: 'edit', content: [edit] }, [])).toEqual({
      tool: 'Edit',
      work: { kind: 'edit', path: '/space/a', diff: '-one\n+two' },
    })
    expect(useOf({ toolCallId: 'replace__1', kind: 'edit', content: [] }, [])).toBeNull()
  })
})

describe('opencode', () => {
  test('asks for its tools and those of MCP servers', () => {
    expect(rulesFor(turn({ askTools: ['Bash', 'mcp__my.notes__ping', 'mcp__all'] }))).toMatchObject({
      bash: 'ask',
      edit: 'deny',
      my_notes_ping: 'ask',
      'all_*': 'ask',
    })
    expect(rulesFor(turn({ askTools: [] }))).toMatchObject({ bash: 'deny' })
    expect(opencodeTool('my_notes_ping', ['my.notes'])).toBe('mcp__my.notes__ping')
  })

  test('what it asks several times about one call is asked once', () => {
    const calls: string[] = []
    const asks = openAsks(
      {
        call: async (_, path, body) => {
          calls.push(`${path} ${JSON.stringify(body)}`)
          return { status: 200, body: {} }
        },
        listen: () => Promise.reject(new Error('not used')),
      },
      [],
    )
    const tool = { messageID: 'm', callID: 'c' }
    const ask = (id: string, permission: string) =>
      asks.take({
        type: 'permission.asked',
        properties: { id, sessionID: 's', permission, metadata: { command: 'cat /etc/x' }, tool },
      })
    const state = { status: 'running', input: { command: 'cat /etc/x', workdir: '/' } }
    expect(ask('per_1', 'external_directory')).toEqual([])
    const part = { type: 'tool', tool: 'bash', callID: 'c', sessionID: 's', state }
    const [event] = asks.take({ type: 'message.part.updated', properties: { part } })
    expect(event).toMatchObject({
      ask: { use: { tool: 'Bash' }, input: '{"input":{"command":"cat /etc/x","workdir":"/"},"tool":"bash"}' },
    })
    if (event?.type === 'asks') event.answer({ allow: true })
    expect(ask('per_2', 'bash')).toEqual([])
    expect(calls).toEqual(['/permission/per_1/reply {"reply":"once"}', '/permission/per_2/reply {"reply":"once"}'])
  })

  test('a question has the words of a refusal as its answer', () => {
    const calls: object[] = []
    const loopback = {
      call: async (_: string, path: string, body?: Json) => {
        calls.push([path, body])
        return { status: 200, body: {} }
      },
      listen: () => Promise.reject(new Error('not used')),
    }
    const asks = openAsks(loopback, [])
    const questions = [{ question: 'Which?', header: 'Colour', options: [{ label: 'red', description: 'r' }] }]
    const ask = (id: string) => asks.take({ type: 'question.asked', properties: { id, sessionID: 's', questions } })[0]
    const [one, two] = [ask('que_1'), ask('que_2')]
    expect(one).toMatchObject({ ask: { kind: 'question', questions: [{ question: 'Which?', multiple: false }] } })
    if (one?.type === 'asks') one.answer({ allow: true, answers: { 'Which?': 'blue' } })
    if (two?.type === 'asks') two.answer({ allow: false, message: 'Decide yourself.' })
    expect(calls).toEqual([
      ['/question/que_1/reply', { answers: [['blue']] }],
      ['/question/que_2/reply', { answers: [['Decide yourself.']] }],
    ])
  })
})
