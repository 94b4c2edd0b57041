// For any text and any session id, both are parsed from the output of each CLI, in the recorded format.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { answer, beforeTool, type Case, type Recording, readRecordings } from '../../../test/cli/recordings.ts'
import type { AgentEvent } from '../../base/agent.ts'
import { type Dialect, endOf } from '../cli.ts'
import { type Json, object } from '../stdio.ts'
import { turnWith } from '../turn.fixture.ts'
import { dialects } from './index.ts'

const turn = turnWith({ allowedTools: [] })()

/** Where each CLI has the pieces of its text: the object and the key. Null: the line has none. */
const pieces: Record<string, (line: Json) => readonly [Json, string] | null> = {
  claude({ event }) {
    const delta = object(object(event).delta)
    return delta.type === 'text_delta' ? [delta, 'text'] : null
  },
  // These two print a text as a whole.
  codex: () => null,
  opencode: () => null,
  gemini: line => (line.type === 'message' && line.role === 'assistant' ? [line, 'content'] : null),
  pi({ assistantMessageEvent }) {
    const delta = object(assistantMessageEvent)
    return delta.type === 'text_delta' ? [delta, 'delta'] : null
  },
}

interface PastMessage {
  readonly session: string
  readonly before: string
  readonly text: string
  /** Where the text is split. */
  readonly cuts: readonly number[]
}

/** The recording with another text and another session. */
function retell(recording: Recording, said: PastMessage): readonly string[] {
  const piece = pieces[recording.run.cli]
  if (!piece) throw new Error(`nobody has said how ${recording.run.cli} prints its text`)
  const texts = recording.run.case === 'tool' ? [said.before, said.text] : [said.text]
  const others = new Map([
    [sessionOf(recording), said.session],
    [answer, said.text],
    [beforeTool, said.before],
  ])
  let inText = false
  return recording.lines.flatMap(recorded => {
    const line = JSON.parse(recorded, (_, value) => others.get(value) ?? value)
    const first = piece(line) !== null && !inText
    inText = piece(line) !== null
    if (!inText) return [JSON.stringify(line)]
    return first ? cutUp(texts.shift() ?? '', said.cuts).map(text => withPiece(line, piece, text)) : []
  })
}

function withPiece(line: Json, piece: (line: Json) => readonly [Json, string] | null, text: string): string {
  const copy = structuredClone(line)
  const found = piece(copy)
  if (found) Object.assign(found[0], { [found[1]]: text })
  return JSON.stringify(copy)
}

function cutUp(text: string, cuts: readonly number[]): readonly string[] {
  const places = [...new Set([0, ...cuts.map(cut => cut % (text.length + 1)), text.length])].sort((a, b) => a - b)
  return places.slice(1).map((end, i) => text.slice(places[i], end))
}

/** In the format of the CLI. */
function sessionOf({ run, lines }: Recording): string {
  if (run.session) return run.session.id
  return /"(?:thread_id|sessionID)":"([^"]+)"/.exec(lines.join('\n'))?.[1] ?? ''
}

function hear(dialect: Dialect, lines: readonly string[]): readonly AgentEvent[] {
  const reader = dialect.read(turn)
  const events: AgentEvent[] = []
  for (const line of lines)
    for (const event of reader.line(line)) {
      events.push(event)
      if (event.type === 'ended') return events
    }
  return [...events, endOf({ code: 0, signal: null, stderr: '', trouble: null, detail: '' }, reader)]
}

const words = fc.oneof(
  fc.string({ unit: 'binary', minLength: 1 }),
  fc.lorem(),
  fc.constantFrom('\u2028', ' ', '\n', '{"type":"result"}'),
)
const anything: fc.Arbitrary<PastMessage> = fc.record({
  session: fc.oneof(fc.uuid(), fc.string({ unit: 'binary', minLength: 1 })),
  before: words,
  text: words,
  cuts: fc.array(fc.nat({ max: 1000 }), { maxLength: 5 }),
})

// Feature: multi-cli-backend, Property 6: Output parsing extracts correct fields
describe.each(dialects)('the output of $name', dialect => {
  const law = (wanted: Case, holds: (events: readonly AgentEvent[], said: PastMessage) => void) => {
    const recordings = readRecordings(dialect.name).filter(({ run }) => run.case === wanted)
    expect(recordings, `${dialect.name} has no recording of ${wanted}`).not.toEqual([])
    for (const recording of recordings)
      fc.assert(
        fc.property(anything, said => {
          const events = hear(dialect, retell(recording, said))
          expect(events.filter(event => event.type === 'started')).toEqual([{ type: 'started', session: said.session }])
          // Invisible text is not a paragraph.
          const parts = [...(wanted === 'tool' ? [said.before] : []), said.text].filter(text => text.trim() !== '')
          const last = parts.length > 1 ? { last: said.text } : {}
          expect(events.at(-1)).toEqual({ type: 'ended', ok: true, text: parts.join('\n\n'), ...last })
          holds(events, said)
        }),
        { numRuns: 200 },
      )
  }
  const streamed = (events: readonly AgentEvent[]) =>
    events.map(event => (event.type === 'text' ? event.delta : '')).join('')

  test('is an answer and a session', () => law('success', (events, said) => expect(streamed(events)).toBe(said.text)))

  test('contains all text before and after a tool, as it was streamed', () =>
    law('tool', (events, said) => {
      expect(streamed(events).startsWith(said.before)).toBe(true)
      expect(streamed(events).endsWith(said.text)).toBe(true)
    }))
})
