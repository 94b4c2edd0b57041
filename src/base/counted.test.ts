// Numbers with their noun.
import { expect, test } from 'vitest'
import { counted } from './counted.ts'

test('one is singular, everything else plural', () => {
  expect([0, 1, 2, 21].map(n => counted(n, 'job'))).toEqual(['0 jobs', '1 job', '2 jobs', '21 jobs'])
})
