// `aetheel logs`: what is printed, and when it ends.
import { expect, test } from 'vitest'
import { noPorts } from '../../../test/fakes/ports.ts'
import { fakeTerminal } from '../../../test/fakes/terminal.ts'
import type { LogLine, LogQuery } from '../../base/logs.ts'
import { runCli } from './index.ts'
import type { KeptLog } from './ports.ts'

const at = Date.UTC(2026, 10, 16, 9, 30, 5)
const ready: LogLine = { at, level: 'info', text: 'ready', fields: { url: 'http://127.0.0.1:8080', pid: 7 } }
const broken: LogLine = {
  ...{ at, level: 'error', text: 'internal error' },
  fields: { err: { message: 'no', stack: 'Error: no\n    at here' }, why: 'a\u001b[31m "b"' },
}

/** A log that grows when the test says so; cursors are numbers of lines. */
function growing(lines: LogLine[]): KeptLog & { readonly asked: LogQuery[] } {
  const asked: LogQuery[] = []
  return {
    ...{ dir: '/x/.aetheel/log', asked },
    any: async () => lines.length > 0,
    async read(query) {
      asked.push(query)
      const found = query.after === null ? lines.slice(-query.most) : lines.slice(Number(query.after))
      return { lines: found, cursor: String(lines.length), more: false, gap: false }
    },
  }
}

const run = (log: KeptLog, args: readonly string[], terminal = fakeTerminal()) => ({
  terminal,
  code: runCli(['logs', ...args], { ...noPorts(), logs: async () => log }, terminal, '1'),
})

test('each entry is one line, in the reader’s time zone, and cannot control the terminal', async () => {
  const { terminal, code } = run(growing([ready, broken]), [])
  expect(await code).toBe(0)
  expect(terminal.out()).toBe(
    [
      '2026-11-16 10:30:05 INFO  ready url=http://127.0.0.1:8080 pid=7',
      '2026-11-16 10:30:05 ERROR internal error why="a\\u001b[31m \\"b\\""',
      '    Error: no',
      '    at here',
      '',
    ].join('\n'),
  )
})

test('the number of lines, the level and JSON can be chosen', async () => {
  const log = growing([ready, broken])
  const { terminal, code } = run(log, ['-n', '1', '--level', 'warn', '--json'])
  expect(await code).toBe(0)
  expect(JSON.parse(terminal.out())).toEqual(broken)
  expect(log.asked).toEqual([{ level: 'warn', words: '', after: null, most: 1 }])
  for (const bad of [['-n', '0'], ['-n', 'x'], ['--level', 'loud'], ['--wat']]) expect(await run(log, bad).code).toBe(2)
})

test('without a log it says so', async () => {
  const { terminal, code } = run(growing([]), [])
  expect(await code).toBe(1)
  expect(terminal.err()).toContain('no log in /x/.aetheel/log yet')
})

test('following prints new lines until Ctrl-C, also if there is no log yet', async () => {
  const lines: LogLine[] = []
  const { terminal, code } = run(growing(lines), ['-f'])
  await expect.poll(terminal.err).toContain('Waiting')
  lines.push(ready)
  await expect.poll(terminal.out).toContain('ready')
  lines.push(broken)
  await expect.poll(terminal.out).toContain('internal error')
  expect(terminal.out().match(/ready/g)).toHaveLength(1)
  terminal.ctrlC()
  expect(await code).toBe(0)
})

test('following ends when its reader is gone', async () => {
  const { terminal, code } = run(growing([ready]), ['--follow'])
  await expect.poll(terminal.out).toContain('ready')
  terminal.stdout.emit('close')
  expect(await code).toBe(0)
})
