// Markdown as text and entities.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { renderMarkdown } from './markdown.ts'

/** The text with each entity around its part, so that a mistake by one character is seen. */
function shown(markdown: string): string {
  const { text, entities } = renderMarkdown(markdown)
  const cuts = entities.flatMap((one, i) => [
    {
      at: one.offset,
      order: i,
      mark: `<${one.type}${'url' in one ? ` ${one.url}` : 'language' in one ? ` ${one.language}` : ''}>`,
    },
    { at: one.offset + one.length, order: -i - 1, mark: '</>' },
  ])
  return cuts
    .sort((a, b) => b.at - a.at || b.order - a.order)
    .reduce((so, { at, mark }) => so.slice(0, at) + mark + so.slice(at), text)
}

test.each([
  ['plain', 'plain'],
  ['**bold** and *italic* and ~~gone~~', '<bold>bold</> and <italic>italic</> and <strikethrough>gone</>'],
  ['**a *b* c**', '<bold>a <italic>b</> c</>'],
  ['`x < y` 👍 **b**', '<code>x < y</> 👍 <bold>b</>'],
  ['# Title\n\ntext', '<bold>Title</>\n\ntext'],
  ['```ts\nconst a = 1\n```\nafter', '<pre ts>const a = 1</>\nafter'],
  ['[site](https://example.com)', '<text_link https://example.com/>site</>'.replace('/>', '>')],
  ['[file](notes.md) https://example.com', 'file https://example.com'],
  ['- one\n- two\n  - deep\n1. first', '• one\n• two\n  • deep\n1. first'],
  ['- [x] done\n- [ ] open', '☑ done\n☐ open'],
  ['> said\n> so\n\nme', '<blockquote>said\nso</>\n\nme'],
  ['| a | b |\n|---|---|\n| 1 | 2 |', '<pre>| a | b |\n|---|---|\n| 1 | 2 |</>'],
  ['a & b &amp; c <b>x</b>', 'a & b & c <b>x</b>'],
  ['one\n\n\n\ntwo\nthree', 'one\n\ntwo\nthree'],
  ['snake_case_name and 2*3*4', 'snake_case_name and 2<italic>3</>4'],
  ['***', '———'],
])('%j', (markdown, expected) => {
  expect(shown(markdown)).toBe(expected)
})

test('whatever it is: never longer, entities inside the text, nested and never around whitespace', () => {
  const piece = fc.constantFrom(
    '**',
    '*',
    '`',
    '```',
    '\n',
    '\n\n',
    '- ',
    '> ',
    '#',
    '[a](http://b)',
    '|',
    'x',
    ' ',
    '👍',
    '&amp;',
    '1. ',
    '~~',
    '---',
    '<',
    '\\',
    '![](y)',
  )
  fc.assert(
    fc.property(
      fc.array(piece, { maxLength: 40 }).map(all => all.join('')),
      markdown => {
        const { text, entities } = renderMarkdown(markdown)
        expect(text.length).toBeLessThanOrEqual(markdown.length)
        expect(text).toBe(text.trim())
        if (markdown.trim() !== '') expect(text).not.toBe('')
        let open: number[] = []
        for (const { offset, length } of entities) {
          const end = offset + length
          expect(length).toBeGreaterThan(0)
          expect(end).toBeLessThanOrEqual(text.length)
          const inside = text.slice(offset, end)
          expect(inside).toBe(inside.trim())
          open = open.filter(one => one > offset)
          for (const one of open) expect(end).toBeLessThanOrEqual(one)
          open.push(end)
        }
      },
    ),
    { numRuns: 2000 },
  )
})
