// Fences of code blocks.
import fc from 'fast-check'
import { Lexer } from 'marked'
import { expect, test } from 'vitest'
import { type Fence, fenceAfter } from './fence.ts'

const createAfter = (text: string): Fence | null =>
  text.split('\n').reduce<Fence | null>((open, line) => fenceAfter(line, open), null)

test('a block is closed by at least as many of the same marks, alone on their line', () => {
  expect(createAfter('```ts\ncode')).toEqual({ marks: '```', line: '```ts' })
  expect(createAfter('```ts\ncode\n```')).toBeNull()
  expect(createAfter('```ts\ncode\n`````  ')).toBeNull()
  expect(createAfter('````\n```')).toMatchObject({ marks: '````' })
  expect(createAfter('```\n~~~')).toMatchObject({ marks: '```' })
  expect(createAfter('```\n``` more')).toMatchObject({ marks: '```' })
  expect(createAfter('   ~~~ ```\ncode')).toMatchObject({ marks: '~~~' })
})

test('inline code and deeply indented fences do not open a block', () => {
  expect(createAfter('```code``` and words')).toBeNull()
  expect(createAfter('    ```')).toBeNull()
  expect(createAfter('words ```')).toBeNull()
})

// Compared with a markdown parser: what follows a text is code exactly if the text ends in an open block.
test('it agrees with a markdown parser', () => {
  const marks = fc.constantFrom('```', '````', '~~~', '~~~~~', '``', '')
  const line = fc
    .tuple(fc.constantFrom('', ' ', '   '), marks, fc.constantFrom('', '  ', 'ts', ' word', 'x`y', '`'))
    .map(parts => parts.join(''))
  fc.assert(
    fc.property(fc.array(line, { maxLength: 8 }), lines => {
      const text = lines.join('\n')
      const last = new Lexer().blockTokens(`${text}\nEND`).at(-1)
      const isCode = last?.type === 'code' && last.codeBlockStyle !== 'indented' && last.raw.endsWith('END')
      expect(createAfter(text) !== null).toBe(isCode)
    }),
  )
})
