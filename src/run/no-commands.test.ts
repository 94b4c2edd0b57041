import { expect, test } from 'vitest'
import { withoutCommands } from './no-commands.ts'

test.each(['/help', '  /skill:weather now', '$about', '\n/x'])(
  '%j is no command any more, and reads the same',
  text => {
    const plain = withoutCommands(text)
    expect(plain.trim()).not.toMatch(/^[/$]/)
    expect(plain.replaceAll('\u2060', '')).toBe(text)
  },
)

test.each(['hello', 'a /path', '1 $', ''])('%j is left alone', text => expect(withoutCommands(text)).toBe(text))
