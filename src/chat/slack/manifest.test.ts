// The manifest that people paste is the one of the code.
import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { manifest } from './manifest.ts'

test('templates/slack-manifest.json is up to date', async () => {
  const file = new URL('../../../templates/slack-manifest.json', import.meta.url)
  expect(JSON.parse(await readFile(file, 'utf8'))).toEqual(manifest)
})

test('it has what Slack requires: short names, and scopes for every event', () => {
  const { display_information: shown, features, oauth_config, settings } = manifest
  expect(shown.name.length).toBeLessThanOrEqual(35)
  expect(shown.description.length).toBeLessThanOrEqual(140)
  for (const { command, description } of features.slash_commands) {
    expect(command).toMatch(/^\/[a-z-]{1,31}$/)
    expect(description.length).toBeLessThanOrEqual(2000)
  }
  const { bot } = oauth_config.scopes
  expect(new Set(bot).size).toBe(bot.length)
  for (const event of settings.event_subscriptions.bot_events) {
    const [, kind] = /^message\.(\w+)$/.exec(event) ?? []
    if (kind) expect(bot).toContain(`${kind}:history`)
  }
})
