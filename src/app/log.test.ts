// What a turn is about is never in the log, at whatever level.
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { logSignal } from './log.ts'

test('tools are logged without what they are called for, and prompts not at all', () => {
  const lines: string[] = []
  const log = pino({ level: 'trace', base: null }, { write: line => void lines.push(line) })
  const turn = { id: 4, lane: 'webchat:home' }
  logSignal(log, { type: 'turn-acted', ...turn, label: 'grep my secret', phase: 'started' })
  logSignal(log, {
    ...{ type: 'turn-asked', ...turn, backend: 'claude', model: null },
    ...{ prompt: 'my secret', system: 'my secret' },
  })
  expect(lines.map(line => JSON.parse(line))).toMatchObject([{ ...turn, phase: 'started', msg: 'turn acted' }])
  expect(lines.join('')).not.toContain('secret')
})
