// What people write is passed on as text.
import { expect, test } from 'vitest'
import { withoutCommands, withoutReferences } from './stdio.ts'

test.each([
  ['@memory.md', '@\u2060memory.md'],
  ['look at @/etc/passwd, please', 'look at @\u2060/etc/passwd, please'],
  ['(@a) "@b" @"c d"', '(@\u2060a) "@\u2060b" @\u2060"c d"'],
  ['line\n@next', 'line\n@\u2060next'],
])('%j does not include a file', (text, plain) => {
  expect(withoutReferences(text)).toBe(plain)
})

test.each(['me@example.org', 'five @ noon', 'nothing here', '@'])('%j stays as it is', text => {
  expect(withoutReferences(text)).toBe(text)
})

test.each(['/help', '  /skill:weather now', '$about', '\n/x'])(
  '%j is made harmless as a command, and reads the same',
  text => {
    const plain = withoutCommands(text)
    expect(plain.trim()).not.toMatch(/^[/$]/)
    expect(plain.replaceAll('\u2060', '')).toBe(text)
  },
)

test.each(['hello', 'a /path', '1 $', ''])('%j is left alone', text => expect(withoutCommands(text)).toBe(text))
