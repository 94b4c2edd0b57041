// Recognizing objects among all JSON values.
import { expect, test } from 'vitest'
import { isObject } from './is-object.ts'

test('neither null nor a list is an object', () => {
  expect(['{}', '{"a":1}', '[]', 'null', '"a"', '1', 'true'].map(text => isObject(JSON.parse(text)))).toEqual([
    ...[true, true, false, false, false, false, false],
  ])
})
