// What is specific to pi: its tools, its input besides the prompt, and its refusals.
import { expect, test } from 'vitest'
import type { Turn } from '../../base/agent.ts'
import { turnWith } from '../turn.fixture.ts'
import { pi } from './pi.ts'

const turn = turnWith({ allowedTools: ['Read', 'Write', 'Edit', 'Glob', 'Grep', 'WebSearch', 'WebFetch', 'Bash'] })

const toolsOf = (given: Partial<Turn>) => {
  const list = pi.arguments(turn(given), '/scratch')
  return list.includes('--no-tools') ? [] : list[list.indexOf('--tools') + 1]?.split(',').sort()
}

test('it gets the allowed tools under its own names, and no others', () => {
  expect(toolsOf({})).toEqual(['bash', 'edit', 'find', 'grep', 'ls', 'read', 'write'])
  expect(toolsOf({ allowedTools: ['Grep', 'WebSearch', 'Task', 'mcp__x__y'] })).toEqual(['grep'])
  expect(toolsOf({ allowedTools: [] })).toEqual([])
  expect(toolsOf({ allowedTools: ['WebFetch'] })).toEqual([])
  expect(toolsOf({ allowedTools: ['constructor', 'toString'] })).toEqual([])
})

test('it cannot ask, so tools that would need permission are left out', () => {
  expect(toolsOf({ permissionMode: 'plan' })).toEqual(['find', 'grep', 'ls', 'read'])
  expect(toolsOf({ permissionMode: 'default' })).toEqual(['find', 'grep', 'ls', 'read'])
  expect(toolsOf({ permissionMode: 'acceptEdits' })).toEqual(['edit', 'find', 'grep', 'ls', 'read', 'write'])
})

test('a tool allowed only in part is left out and reported; so are MCP servers', () => {
  expect(pi.ignores(turn())).toEqual([])
  const narrowed = { allowedTools: ['Read', 'Bash(git log:*)', 'WebFetch(domain:example.com)'] }
  expect(toolsOf(narrowed)).toEqual(['ls', 'read'])
  expect(pi.ignores(turn(narrowed))).toEqual([expect.stringContaining('Bash(git log:*)')])
  const server = { name: 'gw', command: 'x', args: [], env: { KEY: 'sesame' } }
  expect(pi.ignores(turn({ mcpServers: [server] }))).toEqual([expect.stringContaining('MCP')])
})

test('from 0.99 on it connects MCP servers, through an extension, and is offered their tools', () => {
  for (const old of ['0.87.1', '0.98.9', 'unknown']) expect(pi.forVersion?.(old), old).toBeNull()
  const server = { name: 'my-notes', command: 'x', args: [], env: { KEY: 'sesame' } }
  const given = turn({ allowedTools: ['Grep'], mcpServers: [server] })
  for (const version of ['0.99.0', '1.5.0', '2.0.0-rc.1']) {
    const later = pi.forVersion?.(version)
    expect(later?.ignores(given)).toEqual([])
    const list = later?.arguments(given, '/scratch') ?? []
    expect(list.join(' ')).toContain('-e builtin:mcp -e /scratch/mcp-servers.js')
    expect(list[list.indexOf('--tools') + 1]).toBe('grep,mcp__my_notes__*')
    expect(later?.files(given, {})['mcp-servers.js']).toContain('"my-notes", {"command":"x"')
    expect(list.join(' ')).not.toContain('sesame')
    expect(later?.arguments(turn(), '/scratch')).toEqual(pi.arguments(turn(), '/scratch'))
    // Another set of servers needs another process.
    expect(later?.warm?.fixed(given)).not.toEqual(later?.warm?.fixed({ ...given, mcpServers: [] }))
  }
})

test('a model is known by a part of its name or by an existing provider, but not by the beginning of a provider', () => {
  const list = pi.models?.read(['provider model', 'openai gpt-5 yes', 'anthropic claude-opus no']) ?? []
  expect(list).toEqual(['openai/gpt-5', 'anthropic/claude-opus'])
  const takes = (model: string) => pi.models?.takes(model, list)
  for (const model of ['gpt-5', 'OPUS', 'openai/gpt-5:high', 'openai/made-up']) expect(takes(model), model).toBe(true)
  for (const model of ['gpt-6', 'open/gpt-6', 'open/']) expect(takes(model), model).toBe(false)
})

test('a refused prompt ends the turn, and a missing key counts as a missing login', () => {
  const refusal = (error: string) =>
    pi.read(turn()).line(said({ type: 'response', command: 'prompt', success: false, error }))
  expect(refusal('No API key found for anthropic.')).toMatchObject([{ type: 'ended', ok: false, why: 'not-logged-in' }])
  expect(refusal('Something else')).toMatchObject([{ type: 'ended', ok: false, why: 'crashed' }])
})

test('a session of another folder counts as lost, because nobody can agree to a copy', () => {
  const stderr = 'Session found in different project: /elsewhere\nFork this session into current directory? [y/N] '
  expect(pi.read(turn()).end({ code: 0, signal: null, stderr, trouble: null, detail: '' })).toMatchObject({
    ok: false,
    why: 'session-lost',
  })
})

test('a turn that it retries itself has started once, and the usage of all tries is added up', () => {
  const reader = pi.read(turn())
  const message = {
    role: 'assistant',
    model: 'm',
    content: [{ type: 'text', text: 'x' }],
    usage: { input: 5, output: 2 },
  }
  const events = [
    { type: 'session', id: 's' },
    { type: 'agent_start' },
    { type: 'message_end', message: { ...message, stopReason: 'error', errorMessage: '500' } },
    { type: 'agent_start' },
    { type: 'message_end', message: { ...message, stopReason: 'stop' } },
    { type: 'agent_settled' },
  ].flatMap(line => reader.line(said(line)))
  expect(events).toEqual([
    { type: 'started', session: 's' },
    { type: 'usage', usage: { inputTokens: 5, outputTokens: 2, costUsd: 0 }, of: 'turn', model: 'm' },
    { type: 'usage', usage: { inputTokens: 10, outputTokens: 4, costUsd: 0 }, of: 'turn', model: 'm' },
    { type: 'ended', ok: true, text: 'x' },
  ])
})

const said = (line: object) => JSON.stringify(line)
