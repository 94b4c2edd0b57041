// Properties of the design documents that involve several folders: from what a person does to what the agent or the store gets.
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { gatewayCommands } from '../../src/app/wiring/commands.ts'
import type { AgentEvent } from '../../src/base/agent.ts'
import type { NewEvent } from '../../src/base/event.ts'
import { asTyped } from '../../src/chat/discord/commands.ts'
import { composePrompt, wordsOf } from '../../src/prompt/compose.ts'
import { dialects } from '../../src/run/backends/index.ts'
import { createCliBackend } from '../../src/run/cli.ts'
import { createTempDirs } from '../../src/run/temp-dirs.ts'
import { turnWith } from '../../src/run/turn.fixture.ts'
import { answer, createTestTurns, never, taken } from '../../src/run/turns.fixture.ts'
import { type Database, openDatabase } from '../../src/store/database.ts'
import { createConversationSettings, openSessions, type SessionStore } from '../../src/store/sessions.ts'

let dir: string
let db: Database
let sessions: SessionStore
let commands: ReturnType<typeof gatewayCommands>
const clock = { now: () => 0, sleep: async () => undefined }

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'aetheel-properties-'))
  db = openDatabase(join(dir, 'test.db'))
  sessions = openSessions(db, clock, () => undefined)
  const conversationSettings = createConversationSettings(db, clock)
  // The dependencies of the other commands are not needed here.
  const parts = { sessions, conversationSettings, clock, inbox: {}, usage: {}, work: {} }
  commands = gatewayCommands(parts as unknown as Parameters<typeof gatewayCommands>[0])
})
afterAll(async () => {
  await db.close()
  rmSync(dir, { recursive: true })
})

// Feature: discord-claude-gateway, Property 4: Slash command prompt extraction
test('the agent gets exactly what was typed into the slash command', () => {
  const typed = fc.oneof(fc.string({ unit: 'grapheme', minLength: 1 }), fc.stringMatching(/^\s*[a-z/]+\s+[a-z\n ]*$/))
  fc.assert(
    fc.property(fc.constantFrom('ask', 'claude'), typed, fc.boolean(), (name, value, withFile) => {
      fc.pre(value.trim() !== '')
      const file = { name: 'file', type: 11, value: '42' }
      const options = [...(withFile ? [file] : []), { name: 'prompt', type: 3, value }]
      expect(commands.parse(asTyped(name, options), 'l')).toEqual({ type: 'message', text: value })
    }),
    { numRuns: 500 },
  )
})

// Feature: discord-claude-gateway, Property 10: Reset removes channel binding
test('after a reset no backend has a session of the conversation any more, and other conversations keep theirs', async () => {
  const lane = fc.stringMatching(/^discord:\d{1,19}$/)
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(lane, { minLength: 2, maxLength: 2 }),
      fc.constantFrom('/new', '/claude-reset', ' /NEW '),
      fc.uniqueArray(fc.constantFrom('claude', 'codex', 'gemini'), { minLength: 1 }),
      fc.uuid(),
      async ([reset = '', other = ''], words, backends, id) => {
        for (const backend of backends) for (const of of [reset, other]) await sessions.remember(of, backend, id, true)
        const heard = commands.parse(words, reset)
        if (heard.type !== 'command') throw new Error(`${words} is a command`)
        const author = { id: 'ada', name: 'Ada', owner: false }
        await heard.answer({ lane: reset, author, place: null, key: 'k' })
        for (const backend of backends) {
          expect(await sessions.find(reset, backend)).toBeNull()
          expect(await sessions.find(other, backend)).toMatchObject({ id })
        }
      },
    ),
    { numRuns: 100 },
  )
})

// Feature: discord-claude-gateway, Property 18: Non-message events use instruction as prompt
test('the prompt of a heartbeat or cron job is exactly its instruction, with the assembled system prompt', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('heartbeat', 'cron'),
      fc.string({ unit: 'grapheme' }),
      fc.string(),
      async (kind, instruction, systemPrompt) => {
        const { take, asked } = createTestTurns(() => answer('x'), {
          systemPrompt: async () => systemPrompt,
          compose: ({ event, interrupted }) => composePrompt({ text: wordsOf(event, '-----mark'), interrupted }),
        })
        const what = { kind, name: 'x', instruction }
        const item: NewEvent = { key: 'k', lane: `${kind}:x`, what, replyTo: null, source: kind }
        await take(taken({ lane: item.lane, item }), never)
        expect(asked.map(turn => [turn.prompt, turn.systemPrompt])).toEqual([[instruction, systemPrompt]])
      },
    ),
    { numRuns: 200 },
  )
})

describe.each(dialects)('$name as a process', dialect => {
  // Feature: multi-cli-backend, Property 8: Non-zero exit code produces error result
  test('any non-zero exit is an error that carries what it wrote to stderr, scrubbed and cut to 500 characters', async () => {
    const said = join(dir, `${dialect.name}.stderr`)
    const program = join(dir, dialect.name)
    writeFileSync(program, `#!/bin/sh\ncat > /dev/null\ncat "$SAID" >&2\nexit "$CODE"\n`)
    chmodSync(program, 0o755)
    const words = fc.array(
      fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom('a secret', 'a long line '.repeat(50))),
      { maxLength: 80 },
    )
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 255 }), words, async (code, parts) => {
        const stderr = parts.join(' ')
        writeFileSync(said, stderr)
        const scrub = (text: string) => text.replaceAll('secret', '…')
        const backend = createCliBackend(dialect, {
          ...{ program, environment: { PATH: process.env.PATH }, handOn: [], pool: null, scrub },
          extra: { SAID: said, CODE: String(code) },
          tempDirs: createTempDirs(join(dir, 'runs')),
        })
        const ended = await lastOf(backend.run(turnWith({ workingDir: dir })(), never))
        const told = stderr.trim() === '' ? `exit code ${code}` : scrub(stderr.trim()).slice(0, 500)
        expect(ended).toMatchObject({ type: 'ended', ok: false, detail: told })
      }),
      { numRuns: 100 },
    )
  })
})

async function lastOf(events: AsyncIterable<AgentEvent>): Promise<AgentEvent | undefined> {
  let last: AgentEvent | undefined
  for await (const event of events) last = event
  return last
}
