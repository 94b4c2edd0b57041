// Slash commands, from the table and back to text.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { CommandShape } from '../../base/chat-module.ts'
import { asTyped, choicesFor, definitionsOf, hashOf, slashFiles, slashPrompt } from './commands.ts'

const table: readonly CommandShape[] = [
  { names: ['ask', 'claude'], takes: 'PROMPT', about: 'Ask the agent.', asks: true },
  { names: ['model'], takes: '[NAME | default]', about: 'Choose the model.', asks: false },
  { names: ['stop'], takes: null, about: 'Stop.', asks: false },
  { names: ['subagents'], takes: '[stop ID | new TASK]', about: 'Sub-agents.', asks: false },
]

test('the prompt of a slash command is exactly what was typed into it', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), fc.boolean(), (value, withFile) => {
      const file = { name: 'file', type: 11, value: '42' }
      const options = [...(withFile ? [file] : []), { name: 'prompt', type: 3, value }]
      expect(slashPrompt(options)).toBe(value)
      expect(slashFiles(options)).toEqual(withFile ? ['42'] : [])
    }),
    { numRuns: 300 },
  )
})

test('a slash command reads as it would be typed in another chat', () => {
  expect(asTyped('ask', [{ name: 'prompt', type: 3, value: 'why?' }])).toBe('/ask why?')
  expect(asTyped('stop')).toBe('/stop')
})

test('every name of the table is a command, with what it takes', () => {
  const definitions = definitionsOf(table, ['model'])
  expect(definitions.map(({ name }) => name)).toEqual(['ask', 'claude', 'model', 'stop', 'subagents'])
  expect(definitions[0]?.options).toMatchObject([
    { name: 'prompt', type: 3, required: true },
    { name: 'file', type: 11, required: false },
  ])
  expect(definitions[2]?.options).toMatchObject([{ name: 'name', required: false, autocomplete: true }])
  expect(definitions[3]?.options).toEqual([])
  expect(definitions[4]?.options).toMatchObject([{ name: 'what', required: false }])
})

test('the hash changes with any word of the definitions, and only then', () => {
  const [first, second] = [definitionsOf(table, []), definitionsOf(table, [])]
  expect(hashOf(first)).toBe(hashOf(second))
  expect(hashOf(definitionsOf(table, ['model']))).not.toBe(hashOf(first))
})

test('suggestions are few, short and to the point', () => {
  expect(choicesFor(['opus', 'claude/opus', 'haiku'], 'OP').map(({ value }) => value)).toEqual(['opus', 'claude/opus'])
  fc.assert(
    fc.property(fc.array(fc.string({ maxLength: 150 }), { maxLength: 60 }), fc.string(), (known, typed) => {
      const choices = choicesFor(known, typed)
      expect(choices.length).toBeLessThanOrEqual(25)
      expect(choices.every(({ name }) => name.length <= 100)).toBe(true)
    }),
  )
})
