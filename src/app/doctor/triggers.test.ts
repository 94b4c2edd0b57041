// The doctor’s checks of triggers, valid and invalid.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { triggerChecks } from './triggers.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'aetheel-waking-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const write = (file: string, text: string) => {
  mkdirSync(join(dir, file, '..'), { recursive: true })
  writeFileSync(join(dir, file), text)
}
const look = async (more: Partial<Parameters<typeof triggerChecks>[0]> = {}) => {
  const given = {
    ...{ configDir: dir, variable: () => null, defaultChannel: 'webchat:home', chats: ['webchat'] as const },
    heartbeat: { enabled: true, silent: false },
    check: async () => ({ type: 'writable' }) as const,
  }
  const all = await triggerChecks({ ...given, ...more })
  return all.map(
    ({ name, status, detail, fix }) => `${status} ${name}: ${detail}${fix === undefined ? '' : ` → ${fix}`}`,
  )
}

const agents = `# Rules

## Cron Jobs

### briefing
Cron: every weekday at 8:00
Instruction: Say good morning.

### odd
Cron: whenever it rains
Instruction: Look out.

## Hooks

### startup
Instruction: Look around.

### breakfast
Instruction: Eat.

## Webhooks

### github
Secret: HUB_SECRET
Instruction: Look.

### shop
Secret: SHOP_SECRET
Instruction: Look.

### open
Instruction: Look.
`

test('an empty workspace has no triggers, and that is not a problem', async () => {
  expect(await look()).toEqual(['off schedules: none', 'off hooks: none', 'off webhooks: none', 'off skills: none'])
  expect(await look({ configDir: join(dir, 'nowhere') })).toHaveLength(4)
})

test('valid entries are listed, and invalid ones are reported with what to do', async () => {
  write('agents.md', agents)
  write('heartbeat.md', '## often\nInterval: 5\nInstruction: Look.\n')
  write('skills/good/SKILL.md', '---\nname: good\ndescription: Does good.\n---\n')
  write('skills/bad/SKILL.md', 'no front matter')
  const found = await look({ variable: name => (name === 'HUB_SECRET' ? 'x' : ' ') })
  expect(found).toEqual([
    'ok schedules: 1 job',
    expect.stringMatching(/^warn schedules: often in heartbeat.md: .*60 seconds/),
    expect.stringMatching(/^warn schedules: odd in agents.md: .*every Monday at 8:00/),
    'ok hooks: startup',
    expect.stringMatching(/^warn hooks: breakfast in agents.md: .*startup, shutdown/),
    'ok webhooks: /hooks/github',
    expect.stringMatching(/^warn webhooks: open in agents.md: .*Secret: NAME/),
    expect.stringMatching(/^warn webhooks: shop is refused: the variable SHOP_SECRET is not set here → .*\.env/),
    'ok skills: good',
    expect.stringMatching(/^warn skills: skills\/bad\/SKILL.md .*left out/),
  ])
})

test('heartbeats that are silent or off need no channel', async () => {
  write('heartbeat.md', '## mail\nInterval: 600\nInstruction: Look.\n')
  const told = await look({ defaultChannel: null })
  expect(told.filter(line => line.includes('go nowhere'))).toHaveLength(1)
  const silent = await look({ defaultChannel: null, heartbeat: { enabled: true, silent: true } })
  expect(silent.filter(line => line.includes('go nowhere'))).toEqual([])
  const off = await look({ defaultChannel: null, heartbeat: { enabled: false, silent: false } })
  expect(off.join()).toMatch(/1 job; heartbeats are off/)
})

test('answers that nobody would see are warnings', async () => {
  write('agents.md', agents)
  const found = await look({ defaultChannel: null, variable: () => 'x' })
  expect(found.filter(line => line.includes('go nowhere'))).toEqual([
    expect.stringMatching(/^warn schedules: the answers of briefing .*Channel: webchat:home.*OUTPUT_CHANNEL_ID/),
    expect.stringMatching(/^warn hooks: the answers of startup /),
    expect.stringMatching(/^warn webhooks: the answers of github, shop /),
  ])
  const astray = await look({ defaultChannel: 'discord:1', variable: () => 'x' })
  expect(astray.filter(line => line.includes('not on'))).toHaveLength(3)
})

test('three hundred bad jobs are not three hundred lines, and a pipe in place of a file is not waited for', async () => {
  const bad = Array.from({ length: 300 }, (_, i) => `### job-${i}\nCron: whenever\nInstruction: Look.\n`)
  write('agents.md', `## Cron Jobs\n\n${bad.join('\n')}`)
  const found = await look()
  expect(found.filter(line => line.startsWith('warn'))).toHaveLength(6)
  expect(found).toContainEqual(expect.stringMatching(/^warn schedules: and \d+ more$/))
  rmSync(join(dir, 'agents.md'))
  mkdirSync(join(dir, 'skills/piped'), { recursive: true })
  for (const file of ['agents.md', 'skills/piped/SKILL.md']) spawnSync('mkfifo', [join(dir, file)])
  expect(await look()).toEqual([
    expect.stringMatching(/^warn schedules: agents.md: is not a regular file/),
    ...['off hooks: none', 'off webhooks: none'],
    expect.stringMatching(/^warn skills: .*is not a file; it is left out/),
  ])
})

test('a channel that nothing can be sent to is reported with everybody who uses it', async () => {
  write('agents.md', '# Rules\n\n## Cron Jobs\n\n### a\nCron: 0 8 * * *\nChannel: discord:404\nInstruction: Look.\n')
  const found = await look({
    ...{ chats: ['discord', 'webchat'], defaultChannel: 'discord:1' },
    check: async ({ conversation }) =>
      conversation === '404' ? { type: 'refused', why: 'it is gone' } : { type: 'unknown', why: 'no network' },
  })
  expect(found).toContain(
    'warn schedules: the answers of a cannot be sent to discord:404: it is gone → Name another channel, or let the bot write there.',
  )
  expect(found.filter(line => line.includes('cannot be sent'))).toHaveLength(1)
})
