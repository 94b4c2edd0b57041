// What an answer may do to the page that shows it: which part of it is drawn as Markdown.
import { expect, test } from 'vitest'
import { worseThanLinear } from '../harness/growth.ts'

/** JavaScript for the browser, without types. */
const { bounded } = (await import(new URL('../../web/chat/bounded.js', import.meta.url).href)) as {
  bounded(text: string): { readonly rich: string; readonly plain: string }
}

test('an ordinary answer is drawn as a whole', () => {
  const text =
    '# Title\n\n> quoted\n> > twice\n\n- a\n  - b\n    1. c [link](https://example.org)\n\n```js\nconst a = [1]\n```\n'
  expect(bounded(text)).toEqual({ rich: text, plain: '' })
  expect(bounded('')).toEqual({ rich: '', plain: '' })
})

test.each([
  ['quotations', '>'.repeat(21)],
  ['quotations with blanks', '> '.repeat(30)],
  ['lists on one line', '- '.repeat(21)],
  ['numbered lists', '1. '.repeat(21)],
  ['lists by indentation', `${' '.repeat(60)}- x`],
])('text after too deep %s stays text', (_, line) => {
  expect(bounded(`before\n${line} deep\nafter`)).toEqual({ rich: 'before\n', plain: `${line} deep\nafter` })
})

test('an indented line of code is no nesting', () => {
  const text = `    ${' '.repeat(100)}return x\n`
  expect(bounded(text).plain).toBe('')
})

test('of very many links only the first ones are drawn', () => {
  const text = '[x](https://example.org)\n'.repeat(250_000)
  const { rich, plain } = bounded(text)
  expect(rich + plain).toBe(text)
  expect(rich.split('\n').length).toBeLessThan(2002)
})

test('much code is drawn as code, but nothing that only looks like it can hide very many links', () => {
  const code = `\`\`\`tsx\n${'<a href="x">@b[0]</a>\n'.repeat(3000)}\`\`\`\n`
  expect(bounded(code).plain).toBe('')
  expect(bounded(`<div>\n\`\`\`\n\n${'[x](y) '.repeat(250_000)}`).plain.length).toBeGreaterThan(1_000_000)
})

test.each(['[x](', '> ', '[', '*', '- ', ' ', 'www.', '\n'])('any text is split in linear time: %j', async part => {
  expect(await worseThanLinear(size => bounded(part.repeat(size / part.length)), 1_000_000)).toBeNull()
})
