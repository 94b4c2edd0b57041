// Secrets that become known while the gateway runs are hidden from then on, in what people are told and in the log.
import { expect, test } from 'vitest'
import { openKnownSecrets } from './known-secrets.ts'

test('a secret that comes later is hidden too, and one that was known stays so; the log keeps paths and stacks', () => {
  const { scrub, hide, learn } = openKnownSecrets(['hunter-one'])
  const line = '{"why":"hunter-one and hunter-two in /srv/a.ts","stack":"at read (/srv/a.ts:1:2)"}'
  expect(hide(line)).toContain('hunter-two')
  learn(['hunter-two'])
  expect(hide(line)).toBe('{"why":"******** and ******** in /srv/a.ts","stack":"at read (/srv/a.ts:1:2)"}')
  expect(scrub(line)).not.toMatch(/hunter|srv/)
})
