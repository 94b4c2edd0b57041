// The links of the probe.
import { expect, test } from 'vitest'
import { inviteLink } from './probe.ts'

test.each([
  ['https://discord.com/api', 'https://discord.com'],
  ['https://canary.discord.com/api', 'https://discord.com'],
  ['https://chat.example:8443/api', 'https://chat.example:8443'],
  ['http://127.0.0.1:3001/api', 'http://127.0.0.1:3001'],
])('for the API at %s it opens %s', (api, site) => {
  expect(inviteLink('42', api)).toMatch(`${site}/oauth2/authorize?client_id=42&`)
})
