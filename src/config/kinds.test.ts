// Which values an option accepts, as text and in JSON.
import fc from 'fast-check'
import * as v from 'valibot'
import { expect, test } from 'vitest'
import { backendNames, resolveBackendName } from '../base/agent.ts'
import * as kinds from './kinds.ts'

const refused = Symbol('refused')
function read(kind: kinds.Kind<unknown>, value: unknown): unknown {
  const parsed = v.safeParse(kind.schema, value)
  return parsed.success ? parsed.output : refused
}

// Feature: multi-cli-backend, Property 7: Backend name resolution
test('a backend name resolves to itself, nothing to claude, anything else to an error that lists the names', () => {
  const almost = fc.constantFrom(...backendNames).map(name => `${name} `)
  const raw = fc.oneof(
    fc.constantFrom(...backendNames),
    fc.constant(undefined),
    fc.string(),
    almost,
    fc.constant('__proto__'),
  )
  fc.assert(
    fc.property(raw, name => {
      const known = backendNames.find(valid => valid === name)
      if (name === undefined) expect(resolveBackendName(name)).toBe('claude')
      else if (known !== undefined) expect(resolveBackendName(name)).toBe(known)
      else for (const valid of backendNames) expect(() => resolveBackendName(name)).toThrow(valid)
      if (name !== undefined) expect(read(kinds.backendName, name)).toBe(known ?? refused)
    }),
    { numRuns: 300 },
  )
})

test('the four backends of the first design are supported', () => {
  expect(backendNames).toEqual(expect.arrayContaining(['claude', 'codex', 'gemini', 'opencode']))
})

test('numbers are whole numbers within their bounds', () => {
  const port = kinds.wholeNumber(0, 65_535)
  for (const [value, result] of [
    ['0', 0],
    ['65535', 65_535],
    [8080, 8080],
  ] as const)
    expect(read(port, value)).toBe(result)
  for (const value of ['65536', '-1', '12x', '1e3', '1.0', '0x10', '+1', '1 2', 1.5, -1, Number.NaN, true, null, [1]]) {
    expect(read(port, value), String(value)).toBe(refused)
  }
})

test('an age is given in hours, with a unit, or in milliseconds', () => {
  const month = 30 * 86_400_000
  const age = (value: unknown) => read(kinds.age(month), value)
  expect([age('24'), age(24), age('90m'), age('1.5h'), age('500ms'), age('86400000'), age('0')]).toEqual([
    ...[86_400_000, 86_400_000, 5_400_000, 5_400_000, 500, 86_400_000, 0],
  ])
  expect([age('31d'), age('-1'), age('1 week'), age('h'), age('999')]).toEqual(Array(5).fill(refused))
})

test('an address is an http or https URL, without a trailing slash', () => {
  expect(read(kinds.address, 'https://discord.com/api/')).toBe('https://discord.com/api')
  expect(read(kinds.address, 'http://127.0.0.1:80')).toBe('http://127.0.0.1:80')
  for (const bad of ['discord.com', 'ftp://x/y', 'https://', 'https://x/?a=b', 'https://x y'])
    expect(read(kinds.address, bad)).toBe(refused)
})

test('milliseconds are limited to what timers support', () => {
  expect(read(kinds.milliseconds(1), '2147483647')).toBe(2_147_483_647)
  expect(read(kinds.milliseconds(1), '2147483648')).toBe(refused)
  expect(read(kinds.milliseconds(1), '0')).toBe(refused)
})

test('yes and no have many spellings', () => {
  for (const value of ['true', '1', 'yes', 'on', 'TRUE', true]) expect(read(kinds.yesOrNo, value)).toBe(true)
  for (const value of ['false', '0', 'no', 'off', 'Off', false]) expect(read(kinds.yesOrNo, value)).toBe(false)
  for (const value of ['maybe', 'y', 1, 0, null]) expect(read(kinds.yesOrNo, value)).toBe(refused)
})

test('a list of tools splits at commas, but not inside parentheses', () => {
  expect(read(kinds.toolList, 'Read, Bash(echo a,b:*),,mcp__x__y ')).toEqual(['Read', 'Bash(echo a,b:*)', 'mcp__x__y'])
  expect(read(kinds.toolList, ['Read', 'Grep'])).toEqual(['Read', 'Grep'])
  expect(read(kinds.toolList, [])).toEqual([])
  expect(read(kinds.toolList, 'none')).toEqual([])
  for (const value of ['Read Write', ['Read', 1], ['Read,Grep'], [''], 5])
    expect(read(kinds.toolList, value)).toBe(refused)
})

test('variable names must be valid names', () => {
  expect(read(kinds.variableNames, 'GH_TOKEN,_x1')).toEqual(['GH_TOKEN', '_x1'])
  for (const value of ['A=B', '1A', 'A B', 'sk-123']) expect(read(kinds.variableNames, value)).toBe(refused)
})

test('hosts are addresses or names, without scheme and port', () => {
  for (const host of ['127.0.0.1', '::1', 'localhost', 'my-host.lan', '0.0.0.0', '::']) {
    expect(read(kinds.hostName, host)).toBe(host)
  }
  for (const host of ['http://x', 'a:80', '999.1.1.1', 'a b', '-x', '[::1]']) {
    expect(read(kinds.hostName, host), host).toBe(refused)
  }
})

test('only addresses that cannot be reached from outside count as loopback', () => {
  for (const host of ['127.0.0.1', '127.9.9.9', '::1', 'localhost', 'LOCALHOST'])
    expect(kinds.isLoopback(host)).toBe(true)
  for (const host of [
    '0.0.0.0',
    '::',
    '192.168.1.2',
    '127.0.0.1.example.org',
    'localhost.example.org',
    '127.evil.org',
  ]) {
    expect(kinds.isLoopback(host), host).toBe(false)
  }
})

test('time zones are given by their IANA name', () => {
  for (const zone of ['Europe/Berlin', 'UTC', kinds.systemTimezone()]) expect(read(kinds.timezone, zone)).toBe(zone)
  for (const zone of ['Mars/Base', '+01:00', 'Berlin', '']) expect(read(kinds.timezone, zone), zone).toBe(refused)
})

test('credentials have no spaces and the required length', () => {
  expect(read(kinds.credential(16), 'abcdefghijklmnop')).toBe('abcdefghijklmnop')
  for (const value of ['abcdefghijklmno', 'abcdefgh ijklmnopq', 'abcdefghijklmnopé', 'abcdefghijklmnop\n', 1e20]) {
    expect(read(kinds.credential(16), value), String(value)).toBe(refused)
  }
})

test('a model override is a backend, a model, or both, as text and in JSON', () => {
  expect(read(kinds.route, 'codex')).toEqual({ backend: 'codex', model: null })
  expect(read(kinds.route, 'opencode/x/m')).toEqual({ backend: 'opencode', model: 'x/m' })
  expect(read(kinds.route, '/haiku')).toEqual({ backend: null, model: 'haiku' })
  expect(read(kinds.route, { backend: 'pi', model: 'm' })).toEqual({ backend: 'pi', model: 'm' })
  expect(read(kinds.route, 'gpt-5')).toEqual({ backend: null, model: 'gpt-5' })
  for (const bad of ['', ' ', '/', 'codex/', { backend: 'nobody' }, { backends: 'pi' }, 7])
    expect(read(kinds.route, bad)).toBe(refused)
  expect(read(kinds.backendList, 'codex, gemini')).toEqual(['codex', 'gemini'])
  expect(read(kinds.backendList, ['codex', 'nobody'])).toBe(refused)
})

test('MCP servers are programs and URLs by name, as JSON or as JSON text', () => {
  const servers = {
    notes: { command: 'notes', args: ['--all'], env: { KEY: 'x' } },
    far: { url: 'https://example.org/mcp', headers: { Authorization: 'Bearer x' } },
  }
  const expected = [
    { name: 'notes', command: 'notes', args: ['--all'], env: { KEY: 'x' } },
    { name: 'far', url: 'https://example.org/mcp', headers: { Authorization: 'Bearer x' } },
  ]
  expect(read(kinds.mcpServers, servers)).toEqual(expected)
  expect(read(kinds.mcpServers, JSON.stringify(servers))).toEqual(expected)
  expect(read(kinds.mcpServers, { a: { command: 'x' } })).toEqual([{ name: 'a', command: 'x', args: [], env: {} }])
  for (const bad of [
    '{',
    { 'a b': { command: 'x' } },
    { a: {} },
    { aetheel: { command: 'x' } },
    { a: { url: 'file:///x' } },
    { a: { command: 'x', cwd: '/' } },
  ])
    expect(read(kinds.mcpServers, bad)).toBe(refused)
})

test('ids are text, with or without their chat; names are refused', () => {
  expect(read(kinds.idList, '1234, discord:5678')).toEqual(['1234', 'discord:5678'])
  expect(read(kinds.idList, ['U0AB1', '-100123'])).toEqual(['U0AB1', '-100123'])
  for (const bad of ['<@1234>', '@ada', '#general', 'a b', 'discord:', [1234], 1234]) {
    expect(read(kinds.idList, bad), String(bad)).toBe(refused)
  }
})
