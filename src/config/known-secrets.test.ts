// Secrets that become known while the gateway runs are hidden from then on, in messages to people and in the log.
import { expect, test } from 'vitest'
import { createKnownSecrets } from './known-secrets.ts'

test('a secret that is added later is hidden too, and known ones stay hidden; the log keeps paths and stacks', () => {
  const { scrub, hide, learn } = createKnownSecrets(['hunter-one'])
  const line = '{"why":"hunter-one and hunter-two in /srv/a.ts","stack":"at read (/srv/a.ts:1:2)"}'
  expect(hide(line)).toContain('hunter-two')
  learn(['hunter-two'])
  expect(hide(line)).toBe('{"why":"******** and ******** in /srv/a.ts","stack":"at read (/srv/a.ts:1:2)"}')
  expect(scrub(line)).not.toMatch(/hunter|srv/)
})
