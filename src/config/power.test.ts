// Which edits of the configuration an agent may make by itself.
import { expect, test } from 'vitest'
import { widensPower } from './power.ts'

const json = (value: unknown) => JSON.stringify(value)

test('options that give no power may change, whether they are nested or not', () => {
  expect(widensPower(null, json({ agent: { model: 'haiku', max_turns: 3 } }))).toBe(false)
  expect(widensPower(json({ 'agent.model': 'haiku' }), '{}')).toBe(false)
  expect(
    widensPower(json({ allowed_tools: ['Read'], timezone: 'UTC' }), '{ "allowed_tools": ["Read"] /* same */ }'),
  ).toBe(false)
  expect(widensPower('{}', null)).toBe(false)
})

test.each([
  { allowed_tools: ['Bash'] },
  { permission_mode: 'plan' },
  { mcp: { servers: { evil: { command: 'sh' } } } },
  { owner: { users: ['1'] } },
  { gate: { users: ['1'] } },
  { gate: { rate_limit: 0 } },
  { env: { vars: { PATH: '/tmp' } } },
  { agent: { env: ['SECRET'] } },
  { agent: { cli_path: '/tmp/claude' } },
  { agent: { model: { nested: 'no text' }, fallback: ['pi'] } },
  { models: { default: 'codex/x' } },
  { http: { host: '0.0.0.0' } },
  { budget: { daily_usd: 1000 } },
  { discord: { api: 'https://example.org' } },
  { heartbeat: { default_channel: 'discord:1' } },
  { an_option_of_tomorrow: true },
])('%j waits, and so does its removal', value => {
  expect(widensPower('{}', json(value))).toBe(true)
  expect(widensPower(json(value), '{}')).toBe(true)
  expect(widensPower(json(value), null)).toBe(true)
})

test('a text that cannot be read waits', () => {
  expect(widensPower('{}', '{')).toBe(true)
  expect(widensPower('{}', '[]')).toBe(true)
})
