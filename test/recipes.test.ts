// The examples of the docs work: each code block of docs/recipes.md and README.md goes through its parser.
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readHeartbeats } from '../src/clock/heartbeat-file.ts'
import { readSchedule } from '../src/clock/schedule.ts'
import { loadConfig } from '../src/config/index.ts'
import { readWebhooks } from '../src/hooks/index.ts'

const page = ['docs/recipes.md', 'README.md']
  .map(file => readFileSync(join(import.meta.dirname, '..', file), 'utf8'))
  .join('\n')
const boxes = (language: string): readonly string[] =>
  [...page.matchAll(new RegExp(`^( *)\`\`\`${language}\\n([\\s\\S]*?)^ *\`\`\`$`, 'gm'))].map(
    ([, indent = '', text = '']) => text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  )

test('the Markdown is accepted without problems', async () => {
  const [webhooks, heartbeats] = [true, false].map(wanted =>
    boxes('markdown').filter(text => text.includes('## Webhooks') === wanted),
  )
  expect(heartbeats?.length).toBeGreaterThan(1)
  for (const text of heartbeats ?? []) {
    const { jobs, troubles } = await readHeartbeats(text)
    expect([jobs.length > 0, troubles]).toEqual([true, []])
    // Otherwise its problems would go unnoticed.
    for (const { channel } of jobs) expect(channel).toBe('webchat:home')
  }
  expect(webhooks?.length).toBeGreaterThan(1)
  for (const text of webhooks ?? []) {
    const read = readWebhooks(text)
    expect([read.webhooks.length > 0, read.troubles]).toEqual([true, []])
  }
})

test('the settings load without problems', async () => {
  expect(boxes('jsonc').length).toBeGreaterThan(1)
  for (const configText of boxes('jsonc')) {
    const env = configText.includes('"discord"') ? { DISCORD_BOT_TOKEN: 'x'.repeat(60) } : {}
    const loaded = await loadConfig({ flags: {}, env, cwd: tmpdir(), instead: { 'config.json': configText } })
    expect([loaded.ok ? [] : loaded.problems, loaded.warnings]).toEqual([[], []])
  }
})

test('the schedules are understood', async () => {
  const schedules = [...page.matchAll(/cron add \S+ "([^"]+)"/g)].map(([, words = '']) => words)
  expect(schedules.length).toBeGreaterThan(0)
  for (const words of schedules) expect(await readSchedule(words)).toMatchObject({ ok: true })
})
