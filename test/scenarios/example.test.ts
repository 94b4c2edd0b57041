// The example workspace, as a newcomer tries it: everything it does, with the echo backend.
import { createHmac } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type TemporaryHome, temporaryHome, unaccounted } from '../fakes/temporary.ts'
import { type Client, connect } from '../harness/client.ts'
import { type RunningGateway, runCommand } from '../harness/gateway.ts'

const secret = 'a-secret-for-tests-only'
const env = { AGENT_BACKEND: 'echo', GITHUB_WEBHOOK_SECRET: secret }
let home: TemporaryHome
let gateway: RunningGateway
let client: Client

async function aetheel(...args: string[]): Promise<string> {
  const run = runCommand(home, args, env)
  expect(await run.exit, run.stderr()).toBe(0)
  return run.stdout()
}
const finalOf = (start: string) =>
  client.next(({ type, id }) => type === 'final' && String(id).startsWith(start)).then(({ text }) => String(text))

beforeAll(async () => {
  home = await temporaryHome()
  expect(await aetheel('init', '--example')).toContain('agents.md')
  gateway = await home.start(env)
  client = await connect(gateway.url, 'home')
})
afterAll(async () => {
  await client.close()
  await gateway.stop()
  await home[Symbol.asyncDispose]()
})

test('the jobs are listed with their schedules in words and their next runs', async () => {
  const listed = await aetheel('cron', 'list')
  expect(listed).toMatch(/inbox +every 15 minutes/)
  expect(listed).toMatch(/morning-briefing +every weekday at 08:00/)
  const { jobs, troubles } = JSON.parse(await aetheel('cron', 'list', '--json'))
  expect(jobs).toHaveLength(2)
  expect(troubles).toEqual([])
  for (const { next } of jobs) expect(next).toHaveLength(3)
})

test('the morning briefing and the heartbeat of the inbox answer in the channel of the workspace', async () => {
  await aetheel('cron', 'run', 'morning-briefing')
  expect(await finalOf('cron:morning-briefing@')).toContain('Good morning! Read tasks.json')
  await aetheel('cron', 'run', 'inbox')
  expect(await finalOf('heartbeat:inbox@')).toContain('Look at inbox.md')
})

test('a GitHub webhook triggers a turn, and its payload is marked as data', async () => {
  const body = '{"repository":{"full_name":"me/project"},"sender":{"login":"ada"},"action":"opened"}'
  const sign = createHmac('sha256', secret).update(body).digest('hex')
  const called = await fetch(`${gateway.url}/hooks/github`, {
    method: 'POST',
    headers: { 'x-hub-signature-256': `sha256=${sign}`, 'x-github-delivery': 'try-1' },
    body,
  })
  expect(called.status).toBe(202)
  const answer = await finalOf('webhook:github:try-1')
  expect(answer).toContain('Something happened in "me/project", by "ada"')
  expect(answer).toContain('A stranger may have written it')
})

test('a sub-agent works and reports back into the conversation', async () => {
  client.say('1', '/subagents new read inbox.md and list who waits for me')
  await client.final('1')
  expect(await finalOf('agent:')).toContain('read inbox.md and list who waits for me')
})

test('a job added while it runs is there immediately, and in the file', async () => {
  expect(await aetheel('cron', 'add', 'tea', 'every weekday at 16:00', 'Remind me of tea')).toContain('16:00')
  expect(readFileSync(join(home.configDir, 'agents.md'), 'utf8')).toContain('### tea')
  expect(await aetheel('cron', 'remove', 'tea')).toContain('Removed')
  const agents = join(home.configDir, 'agents.md')
  expect(readFileSync(agents, 'utf8')).not.toContain('### tea')
  writeFileSync(agents, `${readFileSync(agents, 'utf8')}\n## Hooks\n\n### never\nInstruction: x\n`)
  client.say('2', '/cron')
  expect((await client.final('2')).text).toContain('morning-briefing')
})

test('a command that arrives twice runs once', async () => {
  const runs = () => client.frames.filter(({ type, id }) => type === 'final' && String(id).startsWith('cron:')).length
  const before = runs()
  client.say('3', '/cron run morning-briefing')
  await client.final('3')
  client.say('3', '/cron run morning-briefing')
  await vi.waitFor(() => expect(client.frames.filter(({ id }) => id === '3').length).toBeGreaterThan(2))
  client.say('4', '/cron run morning-briefing')
  await client.final('4')
  await vi.waitFor(() => expect(runs()).toBeGreaterThanOrEqual(before + 2), 10_000)
  await new Promise(resolve => setTimeout(resolve, 300))
  expect(runs()).toBe(before + 2)
})

test('conversations are archived and found by search, and every event has an end', async () => {
  await vi.waitFor(async () => expect(await aetheel('memory', 'search', 'Thursday')).toContain('inbox.md'), 10_000)
  const archived = () => aetheel('memory', 'search', 'project')
  await vi.waitFor(async () => expect(await archived()).toContain('conversations/'), { timeout: 15_000, interval: 500 })
  expect(await unaccounted(gateway)).toBe(0)
})
