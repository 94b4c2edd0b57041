// One gemini holds all conversations, each with its own MCP servers: together they stay within the memory limit of the pool.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { Turn } from '../../base/agent.ts'
import type { Clock } from '../../base/time.ts'
import { createCliBackend } from '../cli.ts'
import { openPool } from '../pool.ts'
import { treeMemory } from '../process-table.ts'
import { createTempDirs } from '../temp-dirs.ts'
import { turnWith } from '../turn.fixture.ts'
import { gemini } from './gemini.ts'

const home = mkdtempSync(join(tmpdir(), 'aetheel-gemini-'))
afterAll(() => rmSync(home, { recursive: true, force: true }))
const turn = turnWith({ workingDir: home })
const megabytes = 2 ** 20

/** Nothing waits for the clock here: memory must be freed when the next turn comes. */
const clock: Clock = {
  now: () => Date.now(),
  sleep: (_, signal) => new Promise(resolve => signal.addEventListener('abort', () => resolve())),
}

/** Holds 40 MB besides itself until its input ends. */
const large = 'const held = Buffer.alloc(4e7, 1); process.stdin.on("end", () => process.exit(held.length * 0)).resume()'
const mcpServers = [{ name: 'notes', command: process.execPath, args: ['-e', large], env: {} }]

test('one conversation too many frees the unused ones, even while another one is busy', async () => {
  const memoryBytes = 420 * megabytes
  const pool = openPool({
    rules: { most: 2, memoryBytes, idleMs: 60_000 },
    ...{ clock, emit: () => undefined, memoryOf: treeMemory },
  })
  const backend = createCliBackend(gemini, {
    program: join(import.meta.dirname, '../../../test/fakes/gemini.mjs'),
    environment: { PATH: process.env.PATH, HOME: home },
    ...{ handOn: [], extra: {}, scrub: (text: string) => text, tempDirs: createTempDirs(join(home, 'runs')), pool },
  })
  const stop = new AbortController()
  const say = async (prompt: string, session: Turn['session']) => {
    let id = ''
    for await (const event of backend.run(turn({ prompt, session, mcpServers }), stop.signal)) {
      if (event.type === 'started') id = event.session ?? id
      if (event.type === 'ended' && event.ok) return { id, text: event.text }
    }
    return { id, text: '' }
  }
  const busy = say('[[hang]]', null)
  const used = () => (treeMemory(process.pid) - process.memoryUsage().rss) / megabytes
  const before = used()
  const measured: number[] = []
  const said: string[] = []
  for (let i = 0; i < 9; i++) {
    const { id } = await say(`one ${i}`, null)
    said.push(id)
    // The servers start in parallel to the turn.
    await new Promise(resolve => setTimeout(resolve, 300))
    measured.push(used() - before)
  }
  expect(Math.max(...measured)).toBeLessThan(420 + 100)
  // A freed conversation comes back with its whole history.
  for (const [i, id] of said.entries())
    expect((await say(`two ${i}`, { id, resume: true })).text).toBe(`turn 2: two ${i}`)
  expect(used() - before).toBeLessThan(420 + 100)
  stop.abort()
  await busy
  await pool.close()
}, 60_000)
