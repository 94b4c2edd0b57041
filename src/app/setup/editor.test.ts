// How the name of an editor is split.
import { spawnSync } from 'node:child_process'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { shellWords } from './editor.ts'

test.each([
  ['vi', ['vi']],
  ['  code   --wait ', ['code', '--wait']],
  ['"/opt/my editor/ed" -x \'a b\'', ['/opt/my editor/ed', '-x', 'a b']],
  ['a\\ b c"d e"f \'\'', ['a b', 'cd ef', '']],
  ["a \"b\\\"c\" 'it'\\''s'", ['a', 'b"c', "it's"]],
  ['', []],
])('%j', (text, words) => expect(shellWords(text)).toEqual(words))

test('words are split as a shell splits them', () => {
  const quoted = fc
    .string({ unit: fc.constantFrom('a', ' ', '"', "'", '-', '/', '\\') })
    .map(word => `'${word.replaceAll("'", "'\\''")}'`)
  fc.assert(
    fc.property(fc.array(quoted, { minLength: 1, maxLength: 5 }), words => {
      const said = spawnSync('/bin/sh', ['-c', `printf '%s\\0' ${words.join(' ')}`], { encoding: 'utf8' }).stdout
      expect(shellWords(words.join(' '))).toEqual(said.split('\0').slice(0, -1))
    }),
    { numRuns: 100 },
  )
})
