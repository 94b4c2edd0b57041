// Properties of splitting, checked with a fence parser and a piece matcher written only for this test.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type SplitLimits, split } from './split.ts'

const measures = {
  'UTF-16 units': (text: string) => text.length,
  'code points': (text: string) => [...text].length,
  'escaped markup': (text: string) => text.replace(/[&<>*_]/g, '&amp;').length,
  'markup left out': (text: string) => text.replace(/\*\*([^*]+)\*\*/g, '$1').length,
  'links by their words': (text: string) => text.replace(/\[([^\]]+)\]\([^)]+\)/g, '$1').length,
}
const limitsOf = (length: number, measure: (text: string) => number = measures['UTF-16 units']): SplitLimits => ({
  length,
  measure,
})

// ---- texts: info strings and languages are in capitals, content never is, so that repeated languages are recognized ----

const zalgo = `z${'\u0301'.repeat(90)}`
const atom = fc.oneof(
  { weight: 4, arbitrary: fc.stringMatching(/^[a-z]{1,9}$/) },
  { weight: 4, arbitrary: fc.constantFrom(' ', ' ', ' ', '\n', '\n\n', '. ', '\r\n', '\t', '    ', '\u00a0', '\r') },
  fc.constantFrom(
    '👨‍👩‍👧‍👦',
    '🇩🇪',
    '🇫🇷🇯🇵',
    'e\u0301',
    ' \u0301',
    '👍🏽',
    'क्षि',
    '\ud83d',
    '\udc68',
    '漢字。',
    zalgo,
    '9'.repeat(130),
  ),
  fc.constantFrom(
    '```',
    '`',
    '``',
    '~~~',
    '~~~~~',
    '` ```',
    '```a`',
    '> ```\n> q\n> ```\n',
    '&',
    '<b>',
    '**',
    '**q**',
    '&'.repeat(40),
    '\n   ',
    '\n    ```',
  ),
  fc.constantFrom(
    '`'.repeat(45),
    '~'.repeat(45),
    `x${'`'.repeat(90)}`,
    `[w](${'u '.repeat(60)})${'v'.repeat(60)}`,
    ' '.repeat(70),
    '\n'.repeat(70),
  ),
)
const prose = fc.array(atom, { maxLength: 40 }).map(parts => parts.join(''))
const block = fc
  .record({
    indent: fc.nat(3),
    mark: fc.constantFrom('`', '~'),
    count: fc.integer({ min: 3, max: 6 }),
    info: fc.constantFrom('', 'JS', ' TS', 'C++ T="A B"', 'JSON  '),
    body: fc.array(fc.oneof(prose, fc.constantFrom('```', '~~~', '````', '```JS', '  ```', 'a();', '')), {
      maxLength: 12,
    }),
    newline: fc.constantFrom('\n', '\n', '\r\n'),
    close: fc.option(fc.record({ more: fc.nat(2), behind: fc.constantFrom('', ' ', '\t') }), { freq: 6 }),
  })
  .map(({ indent, mark, count, info, body, newline, close }) => {
    const lines = [' '.repeat(indent) + mark.repeat(count) + info, ...body]
    if (close) lines.push(mark.repeat(count + close.more) + close.behind)
    return lines.join(newline)
  })
const markdown = fc
  .array(fc.oneof(prose, block), { maxLength: 6 })
  .chain(parts => fc.constantFrom('\n', '\n\n', '').map(glue => parts.join(glue)))
const measure = fc.constantFrom(...Object.values(measures))

// ---- an independent reader of fences ----

interface Seen {
  /** The end of the opening line; the code begins after its newline. */
  opened: number
  body: number
  bodyEnd: number
  to: number
  marker: string
  language: string
}

function blocksOf(text: string): { blocks: Seen[]; open: boolean } {
  const blocks: Seen[] = []
  let open: Seen | null = null
  let at = 0
  for (const line of text.split('\n')) {
    const next = at + line.length + 1
    const found = /^( {0,3})((`{3,})([^`]*)|(~{3,})(.*))$/s.exec(line)
    if (open) {
      const indent = (found?.[1] ?? '').length
      const marks = found?.[3] ?? found?.[5] ?? ''
      if (
        found &&
        marks.startsWith(open.marker.trim()) &&
        /^[ \t\r]*$/.test(found[4] ?? found[6] ?? '') &&
        indent <= 3
      ) {
        open.bodyEnd = at
        open.to = at + line.trimEnd().length
        open = null
      }
    } else if (found) {
      const info = found[4] ?? found[6] ?? ''
      open = {
        opened: at + line.replace(/\r$/, '').length,
        body: Math.min(next, text.length),
        bodyEnd: Infinity,
        to: Infinity,
        marker: `${found[1]}${found[3] ?? found[5]}`,
        language: info.trim().replace(/^~.*/s, '').split(/\s/)[0] ?? '',
      }
      blocks.push(open)
    }
    at = next
  }
  return { blocks, open: open !== null }
}

/** The part of a text that is not found, in order, in the pieces (which may repeat a language). */
function missingFrom(sent: string, text: string): string {
  let found = 0
  for (let i = 0; i < sent.length && found < text.length; i++) if (sent[i] === text[found]) found++
  return text.slice(found)
}

// ---- matches the pieces with the text: the gaps between them, and where they begin and end; null if they do not match ----

interface Laid {
  start: number
  end: number
}

function layOver(text: string, pieces: readonly string[]): Laid[] | null {
  const { blocks } = blocksOf(text)
  const inCode = (position: number) => blocks.find(one => position >= one.opened && position < one.to)
  const blanks = (from: number) => {
    const all = [from]
    for (let at = from; at < text.length && /\s/.test(text.charAt(at)); at++) all.push(at + 1)
    return all
  }
  const startsAfter = (end: number): number[] => {
    const code = inCode(end)
    if (!code) return blanks(end)
    const shown = text.slice(end, code.bodyEnd).trim() === '' ? blanks(Math.min(code.to, text.length)) : []
    const newline = text.startsWith('\n', end) ? 1 : text.startsWith('\r\n', end) ? 2 : 0
    return [...new Set([end, end + newline, ...shown])]
  }
  const dead = new Set<string>()
  const go = (index: number, after: number): Laid[] | null => {
    const starts = index === 0 ? blanks(0) : startsAfter(after)
    const piece = pieces[index]
    if (piece === undefined) return starts.includes(text.length) ? [] : null
    if (dead.has(`${index} ${after}`)) return null
    for (const start of starts) {
      const code = blocks.find(one => start >= one.body && start < one.bodyEnd)
      const head = code ? `${code.marker}${code.language}\n` : ''
      if (!piece.startsWith(head)) continue
      const whole = piece.slice(head.length)
      const last = whole.lastIndexOf('\n')
      const tail = whole.slice(last + 1)
      for (const [content, closing] of [
        [whole, null],
        [whole.slice(0, Math.max(0, last)).replace(/\r$/, ''), tail],
        [whole.slice(0, Math.max(0, last)), tail],
      ] as const) {
        const end = start + content.length
        const within = inCode(end)
        if (
          !text.startsWith(content, start) ||
          (closing === null) !== (within === undefined) ||
          (closing !== null && closing !== within?.marker)
        )
          continue
        const rest = go(index + 1, end)
        if (rest) return [{ start, end }, ...rest]
      }
    }
    dead.add(`${index} ${after}`)
    return null
  }
  return go(0, 0)
}

/** A fence that measures this much may be changed to make it fit. */
const hasLongFence = (text: string, measure: (text: string) => number) =>
  text.split('\n').some(line => /^ {0,3}(?:```|~~~)/.test(line) && measure(line.trimStart()) >= 23)
const withoutGuards = (piece: string) => piece.replaceAll('\u200b', '')

// Feature: discord-claude-gateway, Property 9: Message splitting with code block preservation
describe('Property 9: a long text becomes pieces', () => {
  test('each piece fits, none is blank, every fence is closed, and no content is lost, whatever the text and the limit', () => {
    fc.assert(
      fc.property(
        markdown,
        fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 41, max: 400 })),
        measure,
        (text, length, measure) => {
          const pieces = split(text, { length, measure })
          for (const piece of pieces) {
            expect(measure(piece)).toBeLessThanOrEqual(length)
            expect(piece.trim()).not.toBe('')
          }
          if (measure(text) <= length) expect(pieces).toEqual(text.trim() === '' ? [] : [text])
          else for (const piece of pieces) expect({ piece, open: blocksOf(piece).open }).toEqual({ piece, open: false })
          const content = (part: string) =>
            [...part.replace(/[\sA-Z`~+="\u200b]/g, '')].filter(one => measure(one) <= length).join('')
          expect(missingFrom(content(pieces.join('')), content(text))).toBe('')
        },
      ),
      { numRuns: 600 },
    )
  })

  test('joined, the pieces are the text: only whitespace at cuts is gone, in code one newline, and cut blocks are reopened alike', () => {
    fc.assert(
      fc.property(markdown, fc.integer({ min: 72, max: 400 }), measure, (text, length, measure) => {
        const pieces = split(text, { length, measure })
        fc.pre(pieces.length > 1 && !hasLongFence(text, measure))
        expect({ pieces, laid: layOver(text, pieces.map(withoutGuards)) }).not.toEqual({ pieces, laid: null })
      }),
      { numRuns: 600 },
    )
  })

  test('no character that people see as one is cut, unless it alone is larger than a piece', () => {
    const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' })
    fc.assert(
      fc.property(markdown, fc.integer({ min: 72, max: 400 }), (text, length) => {
        const pieces = split(text, limitsOf(length))
        fc.pre(pieces.length > 1 && !hasLongFence(text, measures['UTF-16 units']))
        const segments = segmenter.segment(text)
        for (const { start, end } of layOver(text, pieces.map(withoutGuards)) ?? []) {
          for (const position of [start, end]) {
            const around = segments.containing(position)
            if (around && around.segment.length + 30 <= length) expect(around.index).toBe(position)
          }
        }
      }),
      { numRuns: 500 },
    )
  })

  test('a surrogate pair is never halved', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', minLength: 1, maxLength: 200 }),
        fc.integer({ min: 1, max: 12 }),
        (text, length) => {
          for (const piece of split(text, limitsOf(length))) expect(piece.isWellFormed()).toBe(true)
        },
      ),
      { numRuns: 300 },
    )
  })

  test('a piece is at least half full, so that an answer is not split into tiny pieces', () => {
    const sentence = fc
      .array(fc.stringMatching(/^[a-z]{1,12}$/), { minLength: 1, maxLength: 20 })
      .map(words => `${words.join(' ')}.`)
    const essay = fc
      .array(fc.tuple(sentence, fc.constantFrom(' ', '\n', '\n\n')), { minLength: 1, maxLength: 60 })
      .map(parts => parts.flat().join(''))
    fc.assert(
      fc.property(essay, fc.integer({ min: 30, max: 500 }), (text, length) => {
        const pieces = split(text, limitsOf(length))
        expect(pieces.length).toBeLessThanOrEqual(Math.ceil(text.length / (length / 2)))
        const laid = layOver(text, pieces) ?? []
        laid.slice(1).forEach(({ start }, i) => {
          expect(start - (laid[i]?.start ?? 0)).toBeGreaterThanOrEqual(Math.floor(length / 2))
        })
      }),
      { numRuns: 300 },
    )
  })
})

describe('where it cuts', () => {
  test('between paragraphs rather than lines, between lines rather than words', () => {
    expect(split('one two three\n\nfour\nfive', limitsOf(21))).toEqual(['one two three', 'four\nfive'])
    expect(split('one two three\nfour five six', limitsOf(20))).toEqual(['one two three', 'four five six'])
    expect(split('One two three. Four five six', limitsOf(22))).toEqual(['One two three.', 'Four five six'])
    expect(split('one two three four', limitsOf(10))).toEqual(['one two', 'three four'])
    expect(split('abcdefghij', limitsOf(4))).toEqual(['abcd', 'efgh', 'ij'])
  })

  test('before a code block rather than inside it', () => {
    const text = 'Some words to begin with, and more.\n```js\nlet a\nlet b\n```'
    expect(split(text, limitsOf(55))).toEqual(['Some words to begin with, and more.', '```js\nlet a\nlet b\n```'])
  })

  test('never through the line of a fence', () => {
    const text = `${'a'.repeat(28)}\n\`\`\`js title="some words"\n${'let a\n'.repeat(4)}\`\`\``
    expect(split(text, limitsOf(54))[0]).toBe('a'.repeat(28))
  })

  test('keeps the indentation of the line that begins a piece', () => {
    expect(split('- one two three\n  - four five six', limitsOf(20))).toEqual(['- one two three', '  - four five six'])
  })
})

describe('a code block that is cut', () => {
  test('is closed, and opened again with its own marker and language', () => {
    expect(split('~~~~ts title="a"\nlet a = 1\nlet b = 2\nlet c = 3\n~~~~', limitsOf(44))).toEqual([
      '~~~~ts title="a"\nlet a = 1\nlet b = 2\n~~~~',
      '~~~~ts\nlet c = 3\n~~~~',
    ])
  })

  test('keeps blank lines and indentation of the code', () => {
    const code = Array.from({ length: 40 }, (_, i) => `${' '.repeat(i % 7)}line ${i}${i % 3 ? '' : '\n'}`).join('\n')
    const pieces = split(`\`\`\`py\n${code}\n\`\`\``, limitsOf(100))
    expect(pieces.map(piece => piece.replace(/^```py\n/, '').replace(/\n```$/, '')).join('\n')).toBe(code)
  })

  test('inside a list item, also indented deeper or on the line of the bullet', () => {
    const code = 'npm install something\n    npm run something'
    for (const lead of ['10. Do this:\n    ', '10. Do this:\n\n    ', '-   ']) {
      const [first, second] = split(`${lead}\`\`\`sh\n    ${code}\n    \`\`\`\nThat was it.`, limitsOf(60))
      expect(first).toMatch(/something\n {4}```$/)
      expect(second).toMatch(/^ {4}```sh\n {4}npm run/)
    }
  })

  test('is left alone inside a quotation', () => {
    expect(split('> ```\n> one two three\n> four five six\n> ```', limitsOf(30))).toEqual([
      '> ```\n> one two three',
      '> four five six\n> ```',
    ])
  })

  test('that was never closed is closed in every piece', () => {
    expect(split('```\naaaa\nbbbb\ncccc', limitsOf(17))).toEqual(['```\naaaa\nbbbb\n```', '```\ncccc\n```'])
  })

  test('keeps a long info string as text rather than losing it', () => {
    const pieces = split(`\`\`\`${'word '.repeat(30)}\nx\n\`\`\``, limitsOf(50))
    expect(pieces.join('\n').match(/word/g)).toHaveLength(30)
    for (const piece of pieces) expect(piece).toMatch(/^```\n[^`]+\n```$/)
  })

  test('gives up its fences when the limit leaves no room for them', () => {
    expect(split('```js\nabcdefgh\n```', limitsOf(5))).toEqual(['js', 'abcde', 'fgh'])
  })
})

test('marks in the middle of a line do not become a fence by being cut', () => {
  const pieces = split(`${'a'.repeat(36)} \`\`\`${'b'.repeat(30)}`, limitsOf(40))
  expect(pieces.map(withoutGuards)).toEqual(['a'.repeat(36), `\`\`\`${'b'.repeat(30)}`])
  expect(blocksOf(pieces[1] ?? '').open).toBe(false)
})

test('a character larger than the limit is dropped and the rest is still sent', () => {
  expect(split('a😀b', limitsOf(1))).toEqual(['a', 'b'])
})

test('it finishes in time even if a character counts almost nothing', { timeout: 20_000 }, () => {
  expect(
    split(
      'word '.repeat(2e5),
      limitsOf(2000, text => text.length / 100),
    ).length,
  ).toBe(5)
})

test('a megabyte of any text is split in time', { timeout: 20_000 }, () => {
  for (const part of [
    'Lorem ipsum dolor. ',
    'x',
    '👨‍👩‍👧',
    'नमस्ते दुनिया ',
    'a\n',
    '```\n',
    '```js\nfoo()\n```\n',
    '~~~ ',
    ' `',
  ]) {
    const text = `${part.repeat(1e6 / part.length)}end`
    expect(split(text, limitsOf(2000)).length).toBeGreaterThan(400)
  }
})
