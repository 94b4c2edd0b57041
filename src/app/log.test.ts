// What is in the log, and where: never what a turn is about, and no secret.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { logSignal, openLog } from './log.ts'

test('tools are logged without what they are called for, and prompts not at all', () => {
  const lines: string[] = []
  const log = pino({ level: 'trace', base: null }, { write: line => void lines.push(line) })
  const turn = { id: 4, lane: 'webchat:home' }
  logSignal(log, { type: 'turn-acted', action: 'use-1', ...turn, label: 'grep my secret', phase: 'started' })
  logSignal(log, {
    ...{ type: 'turn-asked', ...turn, backend: 'claude', model: null },
    ...{ prompt: 'my secret', system: 'my secret' },
  })
  expect(lines.map(line => JSON.parse(line))).toMatchObject([{ ...turn, phase: 'started', msg: 'turn acted' }])
  expect(lines.join('')).not.toContain('secret')
})

test('the time until which a turn waits is logged as a date', () => {
  const lines: string[] = []
  const log = pino({ level: 'trace', base: null }, { write: line => void lines.push(line) })
  const until = Date.UTC(2026, 10, 16, 9) + 0.7
  logSignal(log, { type: 'turn-put-off', id: 4, lane: 'webchat:home', why: 'overloaded', until })
  expect(lines.map(line => JSON.parse(line))).toMatchObject([{ until: '2026-11-16T09:00:00.000Z' }])
})

async function logged(settings: { level: 'info' | 'warn' | 'silent'; file: 'info' | 'debug' | 'silent' | null }) {
  const dir = mkdtempSync(join(tmpdir(), 'aetheel-log-'))
  let shown = ''
  const out = new Writable({
    write(chunk, _, done) {
      shown += chunk
      done()
    },
  })
  const scrub = (line: string) => line.replaceAll('hunter22', '…')
  const { log, keepIn, close } = await openLog({ ...settings, format: 'json' }, scrub, out as NodeJS.WriteStream)
  keepIn(dir)
  log.debug('a debug')
  log.info({ token: 'hunter22' }, 'an info')
  log.child({ part: 'x' }).warn('a warning')
  close()
  const kept = existsSync(join(dir, 'aetheel.log')) ? readFileSync(join(dir, 'aetheel.log'), 'utf8') : ''
  rmSync(dir, { recursive: true })
  expect(`${shown}${kept}`).not.toContain('hunter22')
  const names = (text: string) => [...text.matchAll(/"msg":"([^"]*)"/g)].map(([, name]) => name)
  return { shown: names(shown), kept: names(kept) }
}

test('the file has what the console has, or what its own level says, without secrets', async () => {
  const [info, warning] = ['an info', 'a warning']
  expect(await logged({ level: 'info', file: 'info' })).toEqual({ shown: [info, warning], kept: [info, warning] })
  expect(await logged({ level: 'warn', file: 'debug' })).toEqual({ shown: [warning], kept: ['a debug', info, warning] })
  expect(await logged({ level: 'silent', file: 'info' })).toEqual({ shown: [], kept: [info, warning] })
  expect(await logged({ level: 'info', file: 'silent' })).toEqual({ shown: [info, warning], kept: [] })
  expect(await logged({ level: 'info', file: null })).toEqual({ shown: [info, warning], kept: [] })
})

test('a log file that cannot be written is reported once, on the console', async () => {
  const lines: string[] = []
  const out = { isTTY: false, write: (line: string) => void lines.push(line) } as unknown as NodeJS.WriteStream
  const { log, keepIn } = await openLog({ level: 'info', format: 'json', file: 'info' }, line => line, out)
  keepIn('/dev/null/log')
  log.info('goes on')
  log.info('and on')
  expect(lines.map(line => JSON.parse(line).msg)).toEqual(['the log file cannot be written', 'goes on', 'and on'])
})
