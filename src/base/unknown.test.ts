// The message and the code of a thrown value.
import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { errorCode, errorText, isMissing, isObject } from './unknown.ts'

test('an error is shown by its message, anything else as it is', () => {
  expect(errorText(new TypeError('no such thing'))).toBe('no such thing')
  expect(errorText('a word')).toBe('a word')
  expect(errorText(undefined)).toBe('undefined')
})

test('only errors of the system have a code', async () => {
  const missing = await readFile('/there/is/no/such/file').catch((error: unknown) => error)
  expect(errorCode(missing)).toBe('ENOENT')
  expect(isMissing(missing)).toBe(true)
  const aborted = new DOMException('aborted', 'AbortError') // its code is a number
  for (const other of [new Error('ENOENT'), aborted, { code: 'ENOENT' }, null, undefined])
    expect(errorCode(other)).toBeNull()
})

test('neither null nor a list is an object', () => {
  expect(['{}', '{"a":1}', '[]', 'null', '"a"', '1', 'true'].map(text => isObject(JSON.parse(text)))).toEqual([
    ...[true, true, false, false, false, false, false],
  ])
})
