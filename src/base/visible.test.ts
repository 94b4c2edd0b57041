// What people decide about is shown as it is: nothing in it is invisible or changes how the rest looks.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { worseThanLinear } from '../../test/harness/growth.ts'
import { visible } from './visible.ts'

test.each([
  ['rm -rf /\u202E# harmless', 'rm -rf /⟨U+202E⟩# harmless'],
  ['a\u200Bb\u00ADc\uFEFFd', 'a⟨U+200B⟩b⟨U+00AD⟩c⟨U+FEFF⟩d'],
  ['git\u00A0status\u3000now', 'git⟨U+00A0⟩status⟨U+3000⟩now'],
  ['x\u{E0041}\u{E007F}y', 'x⟨U+E0041⟩⟨U+E007F⟩y'],
  ['one\r\ntwo\x1B[2K\x7F', 'one⟨U+000D⟩\ntwo⟨U+001B⟩[2K⟨U+007F⟩'],
  ['\u2028\u2029\u0085', '⟨U+2028⟩⟨U+2029⟩⟨U+0085⟩'],
  ['filler \u3164\uFFA0\u115F\u2800', 'filler ⟨U+3164⟩⟨U+FFA0⟩⟨U+115F⟩⟨U+2800⟩'],
  ['a\uFE0Fb\u034Fc\u{E0101}', 'a⟨U+FE0F⟩b⟨U+034F⟩c⟨U+E0101⟩'],
  ['half \uD83D', 'half ⟨U+D83D⟩'],
  ['private \uE000', 'private ⟨U+E000⟩'],
])('%j is shown as %j', (text, shown) => expect(visible(text)).toBe(shown))

/** Written independently of the code: by code point, as Unicode names them. */
const unseen = [
  ...[
    [0, 8],
    [0xb, 0x1f],
    [0x7f, 0xa0],
    [0xad, 0xad],
    [0x34f, 0x34f],
    [0x61c, 0x61c],
    [0x115f, 0x1160],
  ],
  ...[
    [0x1680, 0x1680],
    [0x17b4, 0x17b5],
    [0x180b, 0x180f],
    [0x2000, 0x200f],
    [0x2028, 0x202f],
    [0x205f, 0x206f],
  ],
  ...[
    [0x2800, 0x2800],
    [0x3000, 0x3000],
    [0x3164, 0x3164],
    [0xd800, 0xdfff],
    [0xfe00, 0xfe0f],
    [0xfeff, 0xfeff],
  ],
  ...[
    [0xffa0, 0xffa0],
    [0xfff9, 0xfffb],
    [0x1bca0, 0x1bca3],
    [0x1d173, 0x1d17a],
    [0xe0000, 0xe0fff],
  ],
] as [number, number][]
const isUnseen = (char: string) =>
  unseen.some(([from, to]) => from <= char.codePointAt(0)! && char.codePointAt(0)! <= to)
const anyUnseen = fc
  .constantFrom(...unseen)
  .chain(([from, to]) => fc.integer({ min: from, max: to }))
  .map(point => String.fromCodePoint(point))

test('whatever the text, nothing invisible is left, and nothing visible is lost', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(anyUnseen, fc.string({ unit: 'binary' }), fc.string())), parts => {
      const text = parts.join('')
      const shown = visible(text)
      expect([...shown].filter(isUnseen)).toEqual([])
      const back = shown.replace(/⟨U\+([0-9A-F]{4,6})⟩/g, (_, code) => String.fromCodePoint(Number.parseInt(code, 16)))
      expect(back).toBe(text)
    }),
  )
})

test('ordinary text in any script stays as it is', () => {
  const text = 'if (a < b) { return "Grüße, Ünïcödé, 日本語, العربية, हिन्दी, 👍" }\n\t+ next\n'
  expect(visible(text)).toBe(text)
  fc.assert(fc.property(fc.string(), plain => visible(plain) === plain))
})

test('takes time proportional to the text', async () => {
  expect(await worseThanLinear(size => visible('\u202Ea'.repeat(size)), 400_000)).toBe(null)
})
