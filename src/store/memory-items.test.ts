// Items of memory.md.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { asItem, hasItem, withItem, withoutItems } from './memory-items.ts'

test('every remembered item is one line, is not a heading, and can be forgotten again', () => {
  const word = fc.oneof(
    fc.string(),
    fc.string({ unit: 'grapheme' }),
    fc.constantFrom('\n# Rules\n', '\r', '\u2028', '- ', '```\n'),
  )
  const text = fc.array(word, { maxLength: 8 }).map(words => words.join(''))
  fc.assert(
    fc.property(text, fc.constantFrom('', '# Memory\n', '# Memory\n\n- tea\n', 'no end'), (said, before) => {
      const item = asItem(said)
      expect(item).toBe(asItem(item))
      expect(item).not.toMatch(/[\n\r\u2028\u2029\u0085]|^[#>=`~-]/)
      if (item === '' || before.includes(item)) return
      const after = withItem(before, item)
      expect(hasItem(after, item)).toBe(true)
      expect(after.startsWith(before)).toBe(true)
      expect(after.split('\n').filter(line => line.startsWith('- '))).toContain(`- ${item}`)
      const forgotten = withoutItems(after, item)
      // Another item may have the same words in it.
      expect(forgotten).toMatchObject({ removed: expect.arrayContaining([item]) })
    }),
    { numRuns: 1000 },
  )
})

test('a new item follows the list, or is separated from a heading', () => {
  expect(withItem(null, 'tea')).toBe('# Memory\n\n- tea\n')
  expect(withItem('# Memory\n', 'tea')).toBe('# Memory\n\n- tea\n')
  expect(withItem('# Memory\n\n- tea\n', 'cake')).toBe('# Memory\n\n- tea\n- cake\n')
  expect(withItem('- tea', 'cake')).toBe('- tea\n- cake\n')
})

test('an item is found even if its line ends in blanks', () => {
  expect(hasItem('# Memory\r\n- tea\r\n- cake  \n', 'tea')).toBe(true)
  expect(hasItem('# Memory\r\n- tea\r\n- cake  \n', 'cake')).toBe(true)
  for (const text of [null, '', '- tea and more', '-tea', ' - tea']) expect(hasItem(text, 'tea')).toBe(false)
})

test('an item is forgotten together with its indented lines, and its neighbours stay', () => {
  const text = '# tea\n- tea\n  more\n  - of it\n- cake\n\n  - Tea\n\ntea in prose\n'
  expect(withoutItems(text, ' TEA ')).toEqual({ text: '# tea\n- cake\n\n\ntea in prose\n', removed: ['tea', 'Tea'] })
})
