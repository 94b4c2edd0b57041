// The names of tools as people are shown them.
import { expect, test } from 'vitest'
import { shownTool } from './tools.ts'

test('a tool of an MCP server is shown by its server and its name, whichever backend spells it', () => {
  expect(shownTool('mcp__files__read_all')).toBe('files: read_all')
  for (const spelling of ['mcp__aetheel__send_message', 'mcp_aetheel_send_message', 'aetheel-1a2b3c4d_send_message'])
    expect(shownTool(spelling)).toBe('aetheel: send_message')
})

test('any other name stays as it is, and none is still a tool', () => {
  for (const name of ['Read', 'mcp__', 'mcp__x', 'run_shell_command', 'aetheel']) expect(shownTool(name)).toBe(name)
  expect(shownTool('')).toBe('tool')
})
