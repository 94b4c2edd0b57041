// People learn what kind of problem there is and what they can do, and nothing about the machine.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { FailureReason } from '../base/agent.ts'
import type { RefusalReason } from '../base/event.ts'
import { scrubber } from '../base/scrub.ts'
import { explain, explainError, explainRefusal } from './explain.ts'

const failures: Record<FailureReason, true> = {
  'not-installed': true,
  'not-logged-in': true,
  'session-lost': true,
  'rate-limited': true,
  overloaded: true,
  refused: true,
  'unknown-model': true,
  'timed-out': true,
  'max-turns': true,
  crashed: true,
  unreadable: true,
  'no-room': true,
  stopped: true,
}
const reasons = Object.keys(failures) as FailureReason[]
const refusals: Record<RefusalReason, true> = {
  busy: true,
  full: true,
  stopping: true,
  'too-long': true,
  empty: true,
  'not-stored': true,
  'not-attached': true,
  stranger: true,
  'too-fast': true,
  'over-budget': true,
  'used-up': true,
  cancelled: true,
}

// ---- parts of errors that nobody may see ----

const secret = 'correct horse battery'
const word = fc.stringMatching(/^[a-z]{1,9}$/)
const name = fc.stringMatching(/^[A-Z][a-z]{2,9}Error$/)
const file = fc.array(word, { minLength: 1, maxLength: 4 }).map(parts => `${parts.join('/')}.ts`)
const path = fc.oneof(
  // As in compiler messages and stack traces: relative to the folder of the program.
  fc.tuple(file, fc.nat(999), fc.nat(99)).map(([name, line, column]) => `src/${name}:${line}:${column}`),
  fc.tuple(file, fc.nat(999)).map(([name, line]) => `./${name}:${line}`),
  fc.array(word, { minLength: 2, maxLength: 5 }).map(parts => `/${parts.join('/')}.ts`),
  fc.array(word, { minLength: 2, maxLength: 5 }).map(parts => `D:\\${parts.join('\\')}.ts`),
)
const key = fc.oneof(
  fc.stringMatching(/^sk-ant-[A-Za-z0-9]{20,40}$/),
  fc.stringMatching(/^ghp_[A-Za-z0-9]{36}$/),
  fc.stringMatching(/^xoxb-[0-9]{10}-[a-zA-Z]{12}$/),
  fc.stringMatching(/^[MN][A-Za-z0-9]{23}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27}$/),
  fc.stringMatching(/^(?:xai|gsk|pplx|whsec|tvly|r8|dop_v1|SG)[-_.][A-Za-z0-9]{20,28}$/),
  // No known prefix, but nobody writes such a word by hand.
  fc.stringMatching(/^[a-z]{4}[A-Z]{4}[0-9]{4}[A-Za-z0-9]{28,40}$/),
  fc.constant(secret),
)
const frame = fc.tuple(word, path).map(([fn, file]) => `    at ${fn} (${file}:10:5)`)
const hidden = fc.oneof(path, key, frame)
const trouble = fc
  .array(
    fc.tuple(fc.constantFrom('failed reading', 'with', 'bad value', ''), hidden, fc.constantFrom(' ', '\n', ': ')),
    { minLength: 1, maxLength: 6 },
  )
  .map(parts => ({
    message: parts
      .map(([words, what, gap]) => (what.startsWith('    at') ? `${words}\n${what}\n` : `${words} ${what}${gap}`))
      .join(''),
    hidden: parts.map(([, what]) => what.trim()),
  }))

// Feature: discord-claude-gateway, Property 12: Error message formatting
describe('Property 12: an error is shown by its type, without stack traces, keys or paths', () => {
  const scrub = scrubber([secret])

  test('when it was thrown', () => {
    fc.assert(
      fc.property(name, trouble, (name, { message, hidden }) => {
        const error = new Error(message)
        error.name = name
        const text = explainError(error, scrub)
        expect(text).toContain(name)
        for (const what of hidden) expect(text).not.toContain(what)
        expect(text).not.toMatch(/\bat \w+ \(|:\d+:\d+|explain\.test/)
      }),
      { numRuns: 500 },
    )
  })

  test('when a backend failed, whatever it wrote', () => {
    fc.assert(
      fc.property(fc.constantFrom(...reasons), trouble, (why, { message, hidden }) => {
        const text = explain({ why, detail: message, backend: 'claude' }, scrub)
        expect(text.toLowerCase()).toContain(why.replaceAll('-', ' '))
        expect(text).toContain('claude')
        for (const what of hidden) expect(text).not.toContain(what)
        expect(text.length).toBeLessThan(400)
        expect(text).not.toContain('\n')
      }),
      { numRuns: 500 },
    )
  })
})

describe('a failure', () => {
  const scrub = scrubber([])

  test('names its kind, and each kind has its own text', () => {
    const texts = reasons.map(why => explain({ why, detail: '', backend: 'codex' }, scrub))
    expect(new Set(texts).size).toBe(reasons.length)
    for (const text of texts) expect(text).toMatch(/^[A-Z][a-z ]+: .*codex.*\.$/)
  })

  test('gives the time of its end if known, formatted as requested', () => {
    const failure = { why: 'rate-limited', detail: '', until: Date.UTC(2030, 0, 2, 18, 5), backend: 'claude' } as const
    expect(explain(failure, scrub)).toContain('until 2030-01-02 18:05 UTC')
    expect(explain(failure, scrub, () => '18:05')).toContain('until 18:05.')
    for (const until of [Number.NaN, Number.POSITIVE_INFINITY, 1e300]) {
      expect(explain({ ...failure, until }, scrub)).toContain('later')
    }
  })

  test('quotes what the backend said, in one line', () => {
    const text = explain(
      { why: 'crashed', detail: '\n---\nCredit `balance` is too low.\nmore', backend: 'claude' },
      scrub,
    )
    expect(text).toContain('It said: Credit balance is too low.')
    expect(text).not.toContain('more\n')
  })
})

describe('a refusal', () => {
  test('names its reason and what to do', () => {
    const texts = (Object.keys(refusals) as RefusalReason[]).map(why => explainRefusal(why))
    expect(new Set(texts).size).toBe(texts.length)
    for (const text of texts) expect(text).toMatch(/^[A-Z][a-z ]+: .*[Pp]lease .*\.$/)
    expect(explainRefusal('busy')).toMatch(/try again later/)
  })

  test('gives the numbers if they are known', () => {
    expect(explainRefusal('full', { depth: 100, max: 100 })).toContain('(100 of 100)')
    expect(explainRefusal('full', { depth: 100 })).toContain('(100)')
    expect(explainRefusal('too-long', { max: 4000 })).toContain('4000 characters')
  })
})

describe('something thrown', () => {
  const scrub = scrubber([])

  test('that is not an Error still becomes a sentence', () => {
    const hostile = Object.defineProperty(new Error('x'), 'message', {
      get: () => {
        throw new Error('no')
      },
    })
    for (const thrown of [undefined, null, 7, 'oh no', {}, Symbol('s'), hostile]) {
      expect(explainError(thrown, scrub)).toMatch(/^Something went wrong \(\w+\).*\.$/)
    }
    expect(explainError('oh no', scrub)).toContain('(string): oh no.')
  })

  test('with an unusable name is called Error', () => {
    const error = new Error('x')
    for (const name of ['/etc/passwd', 'sk-ant-abcdefghijkl', '', 'a\nb']) {
      error.name = name
      expect(explainError(error, scrub)).toContain('(Error): x.')
    }
  })
})
