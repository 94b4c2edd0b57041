// A shell line is taken apart only where its meaning is beyond doubt: checked against the real shells.
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { worseThanLinear } from '../../../test/harness/growth.ts'
import { commandsIn, commandText, wordsOf } from './shell.ts'

test.each([
  ['git status', ['git status']],
  ['  git   status\t--short ', ['git status --short']],
  ['git status && npm test', ['git status', 'npm test']],
  ['a || b; c | d', ['a', 'b', 'c', 'd']],
  ['a\nb\n', ['a', 'b']],
  ['a &&\n  b', ['a', 'b']],
  ['a;', ['a']],
  [`"git" 'status'`, ['git status']],
  [`g"i"t sta'tu's`, ['git status']],
  [`git commit -m "it's; rm -rf x"`, [`git commit -m 'it'\\''s; rm -rf x'`]],
  [`echo "a\\"b" 'c"d' e\\ f`, [`echo 'a"b' 'c"d' 'e f'`]],
  ['npm test 2>&1 | tail -5', ['npm test', 'tail -5']],
  ['npm test >/dev/null 2> /dev/null', ['npm test']],
  ['ls src/*.ts ~/x HEAD~1', ['ls src/*.ts ~/x HEAD~1']],
  [`ls 'src/*.ts'`, [`ls 'src/*.ts'`]],
  ["git commit -m 'first\nsecond'", ["git commit -m 'first\nsecond'"]],
  ["echo ''", ["echo ''"]],
])('%j runs %j', (line, commands) => expect(commandsIn(line)).toEqual(commands))

test.each([
  ...['', ' ', '\n', 'a $(b)', 'a `b`', 'a "$(b)"', 'a "`b`"', 'a <(b)', 'a >(b)', 'a > f', 'a >> f', 'a < f', 'a 2>f'],
  ...[
    'a <<X\nb\nX',
    'a <<< b',
    'a & b',
    'a &',
    'a |& b',
    'a &> f',
    'eval b',
    'exec b',
    'env X=1 b',
    'env b',
    'source b',
    '. b',
  ],
  ...[
    '$x',
    '${x}',
    'a $x',
    'a "${x}"',
    '"$x" b',
    'alias a=b',
    'a "b',
    "a 'b",
    'a\\',
    'a \\\nb',
    'a\rb',
    'a \u0007',
    'a\u0000b',
  ],
  ...[
    '(a)',
    '{ a; }',
    'a() { b; }',
    'function a { b; }',
    '*a b',
    'a? b',
    '[ab] c',
    'LD_PRELOAD=x git status',
    'X=1',
    'a=b c',
  ],
  ...[
    'if a; then b; fi',
    'for x in y; do a; done',
    '! a',
    'a # b',
    '#a',
    'a {b,c}',
    'a ;; b',
    'a ; ; b',
    '&& a',
    'a &&',
    'a |',
  ],
  ...[
    'a && && b',
    '; a',
    'time a',
    'command a',
    'builtin a',
    'coproc a',
    'trap b EXIT',
    'export PATH=x; a',
    'hash -p b a; a',
  ],
  ...[
    '[[ a ]]',
    '((a))',
    'let a',
    'printf -v x y',
    "test -v 'a[$(b)]'",
    "read 'a[$(b)]'",
    'unset x',
    'set -x',
    'a $((1))',
  ],
  ...[
    "a $'b'",
    'a $"b"',
    'a !b',
    'a =b',
    '=a',
    '~/a',
    '~a',
    'a ~b',
    'a *',
    'a --out*',
    'a\u00A0b',
    'a \u202E',
    'a \uD800',
    'a 12>&1',
  ],
  ...["a 'b\\'' ; c '", 'a r\\x41', '> /dev/null a', '%1', '- a', 'a 2>&1x', "a '*'*"],
])('%j is unsure', line => expect(commandsIn(line)).toBe(null))

/** Programs that only write down their name and arguments. */
const stubs = ['a', 'b', 'c', 'git']
const shells = ['bash', 'dash', 'zsh'].filter(name => spawnSync(name, ['-c', ':']).status === 0)
let root: string
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'aetheel-shell-'))
  for (const folder of ['bin', 'cwd']) mkdirSync(join(root, folder))
  for (const stub of stubs) {
    const path = join(root, 'bin', stub)
    writeFileSync(path, `#!/bin/sh\nprintf '%s\\0' "\${0##*/}" "$@" END >>"$RAN"\n`)
    chmodSync(path, 0o755)
  }
})
afterAll(() => rmSync(root, { recursive: true, force: true }))

/** The command texts that a real shell runs for this line. */
function ranBy(shell: string, line: string): readonly string[] {
  const ran = join(root, 'ran')
  writeFileSync(ran, '')
  const env = { PATH: join(root, 'bin'), HOME: '~', RAN: ran, LC_ALL: 'C.UTF-8' }
  const path = spawnSync('which', [shell], { encoding: 'utf8' }).stdout.trim()
  spawnSync(path, [...(shell === 'zsh' ? ['-f'] : []), '-c', line], { cwd: join(root, 'cwd'), env, timeout: 10_000 })
  const records = readFileSync(ran, 'utf8').split('END\0').slice(0, -1)
  return records.map(record => commandText(record.split('\0').slice(0, -1)))
}

const spaces = fc.constantFrom(' ', ' ', ' ', '\t', '  ')
const joins = fc.constantFrom(
  ' && ',
  ' || ',
  '; ',
  ' | ',
  '\n',
  '&&',
  '||',
  ';',
  '|',
  ' &&\n',
  ' & ',
  ' |& ',
  '\r\n',
  ' ;; ',
)
const safeWords = fc.constantFrom(
  'x',
  '-l',
  'b',
  `'b c'`,
  `"b; c"`,
  '"a && b"',
  `'$(b)'`,
  'x\\ y',
  '\\;',
  "'\n'",
  'd/*',
  '~/b',
  '2>&1',
  'a#b',
  'x=y',
)
const trickyWords = fc.constantFrom(
  ...[
    '$(b)',
    '`b`',
    '"$(b)"',
    '"`b`"',
    '<(b)',
    '$x',
    '${x:-b}',
    "$'\\nb'",
    '>f',
    '>/dev/null',
    '{b,c}',
    '*',
    '!',
    '#',
    '\\',
    "'",
    '"',
  ],
  ...[
    'eval',
    'exec',
    'env',
    'X=b',
    '(b)',
    '{',
    '}',
    '(',
    ')',
    'if',
    'then',
    'fi',
    'do',
    'done',
    'function',
    'a()',
    'trap',
    'alias',
  ],
  ...[
    'command',
    'builtin',
    'coproc',
    'time',
    'source',
    '.',
    '&',
    '\\\n',
    '<<X',
    '=b',
    '~b',
    '-v',
    'printf',
    'test',
    'cd',
    '2>',
    "\\'",
    '[',
    ']',
    '%',
    '^',
    '\u00A0',
    'é',
  ],
)
const trickyLines = fc
  .array(
    fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(...stubs) },
      { weight: 8, arbitrary: spaces },
      { weight: 3, arbitrary: safeWords },
      { weight: 2, arbitrary: joins },
      { weight: 2, arbitrary: trickyWords },
    ),
    { minLength: 2, maxLength: 16 },
  )
  .map(parts => parts.join(''))

test('a real shell runs nothing that is not listed, and writes no file, unless the line was called unsure', () => {
  expect(shells).toContain('bash')
  let runs = 0
  fc.assert(
    fc.property(trickyLines, fc.constantFrom(...shells), (line, shell) => {
      const listed = commandsIn(line)
      if (listed === null) return
      runs++
      // An unexpanded pattern stays as it is; in the list it is not in quotes.
      const plain = listed.flatMap(command => commandText(wordsOf(command)))
      for (const ran of ranBy(shell, line)) expect(plain, `${shell}: ${line}`).toContain(ran)
      expect(readdirSync(join(root, 'cwd'))).toEqual([])
    }),
    { numRuns: 1500 },
  )
  expect(runs).toBeGreaterThan(100)
}, 120_000)

test('a chain of simple commands is listed whole, and all of it runs in every shell', () => {
  const word = fc.oneof(
    fc.stringMatching(/^[a-z./-]{1,5}$/),
    fc.string({ maxLength: 8 }).filter(text => !/[\\\0]/.test(text)),
  )
  const command = fc.tuple(fc.constantFrom(...stubs), fc.array(word, { maxLength: 3 })).map(parts => parts.flat())
  fc.assert(
    fc.property(
      fc.array(command, { minLength: 1, maxLength: 3 }),
      fc.constantFrom(' && ', '; ', '\n', '&&'),
      fc.constantFrom(...shells),
      (commands, sign, shell) => {
        const line = commands.map(commandText).join(sign)
        expect(commandsIn(line)).toEqual(commands.map(commandText))
        expect(ranBy(shell, line)).toEqual(commands.map(commandText))
      },
    ),
    { numRuns: 100 },
  )
}, 120_000)

test('the words of a command are found again in its text', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.string({ unit: 'grapheme' }).filter(text => !text.includes('\\')),
        { minLength: 1 },
      ),
      words => {
        const command = commandText(['a', ...words])
        const listed = commandsIn(command)
        if (listed !== null) expect(wordsOf(command)).toEqual(['a', ...words])
      },
    ),
  )
})

test('takes time proportional to the line', async () => {
  for (const part of ["'a' ", '\\;', 'a|', '""', "'", '2>&1 '])
    expect(await worseThanLinear(size => commandsIn(`a ${part.repeat(size)}`), 60_000), part).toBe(null)
})
