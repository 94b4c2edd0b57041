// Hooks as they are read from agents.md.
import { expect, test } from 'vitest'
import { readHooks } from './lifecycle.ts'

test('the hooks of the process flow are read as they are written there', () => {
  const markdown = `# Rules
Be kind.

## Hooks

### startup
Instruction: Say hello, you just came online.

### Shutdown
Instruction: Save important context
to memory.md: before shutting down.
Channel: discord:1
Model: claude/haiku

## Other
### agent_begin
Instruction: not a hook, it stands elsewhere
`
  expect(readHooks(markdown)).toEqual({
    hooks: {
      startup: { instruction: 'Say hello, you just came online.', channel: null, model: null },
      shutdown: {
        instruction: 'Save important context\nto memory.md: before shutting down.',
        channel: 'discord:1',
        model: 'claude/haiku',
      },
    },
    troubles: [],
  })
  expect(readHooks('')).toEqual({ hooks: {}, troubles: [] })
})

test('unknown, empty or duplicate hooks are problems, and the others are in effect', () => {
  const markdown = `## Hooks
### start-up
Instruction: x
### agent_begin
### agent_stop
Just text.
### shutdown
Instruction: first
### SHUTDOWN
Instruction: second
### __proto__
Instruction: x
`
  const { hooks, troubles } = readHooks(markdown)
  expect(Object.entries(hooks)).toEqual([['shutdown', { instruction: 'first', channel: null, model: null }]])
  expect(troubles).toEqual([
    {
      file: 'agents.md',
      name: 'start-up',
      why: 'There is no such hook. The hooks are startup, shutdown, agent_begin, agent_stop.',
    },
    { file: 'agents.md', name: 'agent_begin', why: expect.stringContaining('Instruction: …') },
    { file: 'agents.md', name: 'agent_stop', why: expect.stringContaining('no "Instruction:" before it') },
    { file: 'agents.md', name: 'SHUTDOWN', why: expect.stringContaining('twice') },
    { file: 'agents.md', name: '__proto__', why: expect.stringContaining('no such hook') },
  ])
})
