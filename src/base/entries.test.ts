// Entries are read back as they were printed, and an edit touches nothing but its entry.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type EntryShape, printEntry, readEntries, withEntry, withField } from './entries.ts'

const plain: EntryShape = { section: null, keys: ['when', 'do'], single: ['when'] }
const nested: EntryShape = { ...plain, section: 'Jobs' }
const shapes = fc.constantFrom(plain, nested)

const fence = '```'
const tame = [
  '',
  'some text',
  '- a list',
  '  - of *two*',
  '#no heading',
  'Other: word',
  '#### deep',
  '\tx\\',
  '\u202eRTL \u0007',
]
const blocks = [
  `${fence}js\n## in a fence\nDo: not\n${fence}`,
  '~~~\n```\n# x\n~~~',
  '<!-- ## off\nWhen: never -->',
  '    ```',
  '```one```',
]
const wild = [
  '```',
  '~~~~',
  '````',
  '<!--',
  '-->',
  '## Jobs',
  '# top',
  '### job',
  '## job',
  'Do: that',
  '**When**: x',
  '- Do:',
  '\\## x',
  '\\\\Do: x',
  '\\ Do: y',
  '\\```',
  '\uFEFF## b',
]
const textOf = (pieces: readonly string[]) =>
  fc
    .array(fc.oneof(fc.constantFrom(...pieces), fc.string({ unit: 'grapheme' })), { maxLength: 8 })
    .map(lines => lines.join('\n'))
const quiet = fc
  .array(fc.constantFrom(...tame, ...blocks), { maxLength: 5 })
  .map(lines => lines.map(line => `${line}\n`).join(''))
const anything = textOf([...tame, ...blocks, ...wild])
const value = anything.map(text => text.replaceAll('\r\n', '\n').trim())
const name = fc.constantFrom('job', 'Job', 'check-email', 'Überprüfung 2', 'every morning (9:00 AM)')
const crlf = (text: string) => text.replaceAll(/\r?\n/g, '\r\n')
const withoutLines = (markdown: string, shape: EntryShape) =>
  readEntries(markdown, shape).map(({ name, fields, text }) => ({ name, fields: Object.fromEntries(fields), text }))

describe('an entry', () => {
  test('is a heading with fields; a value may span lines, a single one may not, the rest is its text', () => {
    const markdown = `# Title\nintro\n\n## one\nhello\nWhen: now\nand then\n- **Do:** this\n  and\nOther: that\n\n## two ##\nDO:\n- a\n- b\n`
    expect(readEntries(markdown, plain)).toEqual([
      {
        name: 'one',
        line: 4,
        fields: new Map([
          ['when', 'now'],
          ['do', 'this\n  and\nOther: that'],
        ]),
        text: 'hello\nand then',
      },
      { name: 'two', line: 12, fields: new Map([['do', '- a\n- b']]), text: '' },
    ])
  })

  test('has the first value of a key; a second one is part of the surrounding text', () => {
    expect(withoutLines('## a\nDo: 1\nDo: 2\nWhen: x\nDo: 3\n', plain)).toEqual([
      { name: 'a', fields: { do: '1\nDo: 2', when: 'x' }, text: 'Do: 3' },
    ])
  })

  test('of a section is below its heading and ends with the section', () => {
    const markdown =
      '### before\nDo: 1\n## jobs\ntext\n### a\nDo: 2\n#### deeper\n## Other\n### b\nDo: 3\n## Jobs\n### c\nDo: 4\n# End\n### d'
    expect(readEntries(markdown, nested).map(entry => [entry.name, entry.fields.get('do')])).toEqual([
      ['a', '2\n#### deeper'],
      ['c', '4'],
    ])
  })

  test('in a code fence or a comment is ignored', () => {
    const markdown = `## a\n${fence}\n## b\nDo: not\n${fence} no end\n## x\n${fence}~~~\n${fence}\n<!--\n## c\n-->\n\`\`\`inline\`\`\`\n## d\nDo: it`
    expect(readEntries(markdown, plain).map(entry => entry.name)).toEqual(['a', 'd'])
    expect(readEntries(markdown, plain)[0]?.fields.size).toBe(0)
  })

  test('is read from a file with a byte order mark and Windows line ends', () => {
    expect(withoutLines('\uFEFF## a\r\nWhen: x\r\nDo: 1\r\n2\r\n', plain)).toEqual([
      { name: 'a', fields: { when: 'x', do: '1\n2' }, text: '' },
    ])
  })
})

test('a printed entry is read back whatever its value contains, and the entries around it are unchanged', () => {
  fc.assert(
    fc.property(shapes, name, value, fc.boolean(), (shape, name, value, windows) => {
      const around = (middle: string) =>
        `## Jobs\n\n## x\n${shape.section === null ? '' : '## Jobs\n### x\n'}Do: a\n\n${middle}\n${shape.section === null ? '##' : '###'} y\nDo: b\n`
      const written = around(printEntry(shape, name, { When: 'now', Do: value }))
      expect(withoutLines(windows ? crlf(written) : written, shape).slice(-3)).toEqual([
        { name: 'x', fields: { do: 'a' }, text: '' },
        { name, fields: { when: 'now', do: value }, text: '' },
        { name: 'y', fields: { do: 'b' }, text: '' },
      ])
    }),
    { numRuns: 1000 },
  )
})

test('adding an entry keeps all others and every byte of the text', () => {
  fc.assert(
    fc.property(shapes, anything, value, fc.boolean(), (shape, markdown, value, windows) => {
      const before = windows ? crlf(markdown) : markdown
      const after = withEntry(before, shape, 'new', printEntry(shape, 'new', { Do: value }))
      expect(withoutLines(after, shape).filter(entry => entry.name === 'new')).toEqual([
        { name: 'new', fields: { do: value }, text: '' },
      ])
      const names = (text: string) => readEntries(text, shape).map(entry => entry.name)
      expect(names(after).filter(name => name !== 'new')).toEqual(names(before))
      expect(isInsertion(before, after)).toBe(true)
    }),
    { numRuns: 1000 },
  )
})

test('a change replaces only the bytes of its entry, and a removal deletes only those', () => {
  fc.assert(
    fc.property(shapes, quiet, quiet, value, value, fc.boolean(), (shape, above, below, old, next, windows) => {
      const sign = shape.section === null ? '##' : '###'
      const written = (text: string) => (windows ? crlf(text) : text)
      const head = written(`${shape.section === null ? '' : '## Jobs\n'}${sign} first\n${above}`)
      const tail = written(`${sign} last\n${below}`)
      const entry = (text: string) => written(printEntry(shape, 'it', { Do: text }))
      const markdown = head + entry(old) + tail
      expect(withEntry(markdown, shape, 'IT', null)).toBe(head + tail)
      expect(withEntry(markdown, shape, 'it', printEntry(shape, 'it', { Do: next }))).toBe(
        head + entry(next) + written('\n') + tail,
      )
      const set = withField(markdown, shape, 'it', 'When', 'now')
      expect(set).toBe(head + entry(old).replace('it', written('it\nWhen: now').replaceAll('$', '$$$$')) + tail)
      expect(withField(set, shape, 'it', 'When', null)).toBe(markdown)
      expect(withField(set, shape, 'it', 'When', 'x')).toBe(withField(markdown, shape, 'it', 'When', 'x'))
    }),
    { numRuns: 500 },
  )
})

test('a removal removes both entries of the same name, and removing a missing one changes nothing', () => {
  const markdown = '## a\nDo: 1\n## b\nDo: 2\n## A\nDo: 3\n'
  expect(withEntry(markdown, plain, 'a', null)).toBe('## b\nDo: 2\n')
  expect(withEntry(markdown, plain, 'c', null)).toBe(markdown)
  expect(withField(markdown, plain, 'c', 'When', 'x')).toBe(markdown)
  expect(withField(markdown, plain, 'b', 'When', null)).toBe(markdown)
})

test('a new entry goes to the end of its section, or creates the section', () => {
  const written = printEntry(nested, 'n', { Do: 'x' })
  expect(withEntry('', nested, 'n', written)).toBe('## Jobs\n\n### n\nDo: x\n')
  expect(withEntry('# A\n\n## Jobs\n\n### a\nDo: y\n\n## Z\n', nested, 'n', written)).toBe(
    '# A\n\n## Jobs\n\n### a\nDo: y\n\n### n\nDo: x\n\n## Z\n',
  )
  expect(withEntry('text', plain, 'n', printEntry(plain, 'n', { Do: null }))).toBe('text\n\n## n\n')
})

test('a long and hostile text is parsed quickly', () => {
  const many = 100_000
  const texts = [
    '## a\n',
    '#',
    '# \t',
    '\n',
    ' ',
    '```\n',
    '<!--',
    '\\',
    '* ',
    'Do:',
    '**',
    '\r',
    '- - ',
    '## a #\n',
  ].flatMap(piece => [
    piece.repeat(many / piece.length),
    `## ${piece.repeat(many / piece.length)}x`,
    `## a\nDo: x\n${piece.repeat(many / piece.length)}x`,
  ])
  for (const text of texts) {
    for (const shape of [plain, nested]) {
      expect(Array.isArray(readEntries(text, shape))).toBe(true)
      expect(withEntry(text, shape, 'zz', printEntry(shape, 'zz', { Do: text }))).toContain('zz')
    }
  }
})

/** Whether `after` is `before` with one insertion. */
function isInsertion(before: string, after: string): boolean {
  let same = 0
  while (same < before.length && before[same] === after[same]) same++
  return after.endsWith(before.slice(same))
}
