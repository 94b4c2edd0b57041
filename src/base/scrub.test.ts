// Secrets, paths and stack traces are removed, and what people need to understand the text stays.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createKnownSecrets, excerpt, revealed, scrubber, secretHider } from './scrub.ts'

const scrub = scrubber([])
const deliveries = (text: string, count: number) => text.repeat(Math.ceil(count / text.length)).slice(0, count)

describe('things that look like secrets', () => {
  const secrets = {
    'an Anthropic key': `sk-ant-api03-${deliveries('aB3_x-', 40)}`,
    'an OpenAI key': `sk-proj-${deliveries('Zx9', 30)}`,
    'a short key': 'sk-12345678',
    'a GitHub token': `ghp_${deliveries('aB3', 36)}`,
    'a GitHub OAuth token': `gho_${deliveries('aB3', 36)}`,
    'a fine-grained GitHub token': `github_pat_${deliveries('aB3_', 50)}`,
    'a Slack bot token': 'xoxb-123456789012-abcdefghijkl',
    'a Slack app token': 'xapp-1-A0123-456-abcdef',
    'a Discord token': `${deliveries('MTk4', 24)}.Cl2FMQ.${deliveries('ZnCjm1', 27)}`,
    'a Telegram token': `123456789:${deliveries('AAh_b-', 35)}`,
    'a Google key': `AIza${deliveries('Sy_D-3', 35)}`,
    'an AWS key id': 'AKIAIOSFODNN7EXAMPLE',
    'a JSON web token': 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-def_123',
  }
  for (const [what, secret] of Object.entries(secrets)) {
    test(`${what} is removed, wherever it is`, () => {
      for (const text of [
        secret,
        `bad key ${secret}!`,
        `"${secret}"`,
        `(${secret})`,
        `x=${secret}&y=1`,
        `key_${secret}`,
      ]) {
        expect(scrub(text)).not.toContain(secret)
        expect(scrub(text)).not.toContain(secret.slice(-8))
      }
      expect(scrub(`bad key ${secret} given`)).toBe('bad key … given')
    })
  }

  test('the value of a variable whose name says secret is removed, and the name stays', () => {
    expect(scrub('ANTHROPIC_API_KEY=hunter22 next')).toBe('ANTHROPIC_API_KEY=… next')
    expect(scrub('{"api_key": "hun ter","b":1}')).toBe('{"api_key": …,"b":1}')
    expect(scrub('{\\"access_token\\":\\"hunter\\",\\"b\\":1}')).toBe('{\\"access_token\\":…,\\"b\\":1}')
    expect(scrub("client-secret: 'hunter'")).toBe('client-secret: …')
    expect(scrub('PASSWORD=hun,ter;2) next (token=abc)')).toBe('PASSWORD=…) next (token=…)')
    expect(scrub('DbPassword = hunter; x')).toBe('DbPassword = …; x')
    expect(scrub('tool --auth-token hunter --verbose')).toBe('tool --auth-token … --verbose')
    expect(scrub('Authorization: Bearer abcdef123456')).not.toContain('abcdef')
    expect(scrub('authorization: Basic dXNlcjpwYXNz')).not.toContain('dXNl')
    expect(scrub('sent "Bearer abc.def-ghi" there')).toBe('sent "Bearer …" there')
  })

  test('user and password in a URL are removed, and the host stays', () => {
    expect(scrub('postgres://me:p@ss@db.example:5432/x failed')).toBe('postgres://…@db.example:5432/x failed')
    expect(scrub('postgres://me:p/s:s@db.example failed')).toBe('postgres://…@db.example failed')
  })

  test('a private key is removed completely', () => {
    expect(scrub('a -----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY----- b')).toBe('a … b')
  })
})

describe('known secrets', () => {
  test('are removed from any text, also when encoded in a URL or in JSON', () => {
    fc.assert(
      fc.property(fc.string(), fc.string({ minLength: 6 }), fc.string(), (before, secret, after) => {
        const text = before + secret + after
        fc.pre(!secret.includes('…'))
        expect(scrubber([secret])(text)).not.toContain(secret)
        expect(scrubber([secret])(JSON.stringify({ text }))).not.toContain(JSON.stringify(secret).slice(1, -1))
        if (secret.isWellFormed()) {
          expect(scrubber([secret])(`?q=${encodeURIComponent(secret)}`)).not.toContain(encodeURIComponent(secret))
        }
      }),
      { numRuns: 300 },
    )
  })

  test('are removed completely when one is part of another', () => {
    expect(scrubber(['abcdef', 'abcdefgh'])('x abcdefgh y')).toBe('x … y')
  })

  test('with fewer than six characters stay, because removing them would remove ordinary words', () => {
    expect(scrubber(['', 'a', 'the'])('the cat')).toBe('the cat')
  })
})

describe('the machine', () => {
  test('absolute paths are removed, and the sentence around them stays', () => {
    expect(scrub('cannot open /home/ann/.aetheel/token: permission denied')).toBe('cannot open …: permission denied')
    expect(scrub("ENOENT: no such file, open '/Users/Ann B/x y.json'")).toBe("ENOENT: no such file, open '…'")
    expect(scrub('in C:\\Program Files\\App\\run.js there')).toBe('in … there')
    expect(scrub('in C:/Users/ann/run.js there')).toBe('in … there')
    expect(scrub('at \\\\server\\share\\x now')).toBe('at … now')
    expect(scrub('see file:///srv/app/x.ts now')).toBe('see … now')
    expect(scrub('see ~/.ssh/id_rsa now')).toBe('see … now')
    expect(scrub('path=/etc/passwd, /tmp/a')).toBe('path=…, …')
    expect(scrub('reading/etc/passwd')).toBe('reading…')
    expect(scrub('/nix')).toBe('…')
  })

  test('web addresses, fractions and relative paths stay', () => {
    for (const text of [
      'see https://example.com/docs/a?b=1#c.',
      '1/2 and/or 3/4',
      'src/app/main.ts',
      '<b>x</b>',
      'a / b',
    ]) {
      expect(scrub(text)).toBe(text)
    }
  })

  test('stack traces are removed, on separate lines and within a line', () => {
    const text =
      'TypeError: x\n    at read (/srv/a.js:1:2)\n    at async Promise.all (index 0)\n    at node:internal/x:3:4\nend'
    expect(scrub(text)).toBe('TypeError: x\nend')
    expect(scrub('TypeError: x at Object.read (a.js:1:2) at new B (node:fs:3:4)').trim()).toBe('TypeError: x')
    expect(scrub('Traceback:\n  File "x.py", line 3, in main\nValueError: y')).toBe('Traceback:\nValueError: y')
    expect(scrub('meet me at noon')).toBe('meet me at noon')
  })
})

test('scrubbing is idempotent', () => {
  const parts = fc.constantFrom(
    'key=',
    'Bearer ',
    'sk-abcdefghijk',
    '/etc/x',
    ' ',
    '"',
    ':',
    '\n',
    'at f (a:1:2)',
    'C:\\a b\\c',
    'http://u:p@h/x',
    'word',
  )
  fc.assert(
    fc.property(fc.array(parts, { maxLength: 12 }), all => {
      const once = scrub(all.join(' '))
      expect(scrub(once)).toBe(once)
    }),
    { numRuns: 300 },
  )
})

test('ten megabytes of any text take a bounded time, and no part of a secret at the cut is shown', () => {
  for (const part of [
    'a',
    '/a',
    'key',
    'key=',
    '"key":"',
    'at f (',
    '://',
    'x.',
    '-----BEGIN A-----',
    'C:\\a ',
    '\\\\a',
    ' ',
    '\n',
    'eyJ',
    "'/",
    'a-',
  ]) {
    expect(scrub(part.repeat(1e7 / part.length)).length).toBeLessThanOrEqual(20_000)
  }
  const secret = deliveries('S3cret!', 700)
  for (const room of [1, 100, 500, 699, 800]) {
    const text = `${deliveries('word ', 20_700 - room)}${secret}${deliveries('more ', 5000)}`
    expect(scrubber([secret])(text)).not.toContain('S3cret')
  }
  expect(scrubber([secret])(`${secret} `.repeat(100))).not.toContain('S3cret')
})

test('half a secret at the cut is not shown even if removals before it shift the cut', () => {
  const secret = deliveries('S3cret!', 700)
  const paths = '/etc/some/rather/long/path/of/the/machine '.repeat(100)
  for (const room of [1, 100, 350, 699]) {
    const words = deliveries('word ', 20_700 - paths.length - room)
    expect(scrubber([secret])(`${paths}${words}${secret} and more`.padEnd(30_000, '.'))).not.toContain('S3cret')
  }
})

test('an excerpt is never longer than asked for and never ends in half a character', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 60 }), fc.integer({ min: 1, max: 40 }), (text, max) => {
      const short = excerpt(text, max)
      expect(short.length).toBeLessThanOrEqual(max)
      expect(short.isWellFormed()).toBe(true)
      if (text.trim().length <= max) expect(short).toBe(text.trim())
      else expect(short).toMatch(/…$/)
    }),
    { numRuns: 300 },
  )
  expect(excerpt('x'.repeat(600))).toHaveLength(500)
})

test('a secret that is added later is hidden too, and known ones stay hidden; the log keeps paths and stacks', () => {
  const { scrub, hide, learn } = createKnownSecrets(['hunter-one'])
  const line = '{"why":"hunter-one and hunter-two in /srv/a.ts","stack":"at read (/srv/a.ts:1:2)"}'
  expect(hide(line)).toContain('hunter-two')
  learn(['hunter-two'])
  expect(hide(line)).toBe('{"why":"******** and ******** in /srv/a.ts","stack":"at read (/srv/a.ts:1:2)"}')
  expect(scrub(line)).not.toMatch(/hunter|srv/)
})

test('a secret that starts with another secret is hidden completely', () => {
  expect(secretHider(['secret', 'secret-tail'])('a secret-tail, a secret')).toBe('a ********, a ********')
})

test('a text that is to be allowed hides nothing: no invisible characters, no other order of reading', () => {
  expect(revealed('rm -rf x\n\techo \u202e# y \u2066z\u200b\r\u001b[2K\u2028')).toBe(
    'rm -rf x\n\techo \\u{202e}# y \\u{2066}z\\u{200b}\\u{d}\\u{1b}[2K\\u{2028}',
  )
  expect(revealed('grüße 日本語 👍')).toBe('grüße 日本語 👍')
})
