// `aetheel logs`: prints the gateway's log, and follows it. Reads the files, whether a gateway is running or not.
import { setTimeout as pause } from 'node:timers/promises'
import { type LogLevel, type LogLine, logLevels } from '../../base/logs.ts'
import { whereOf } from './gateway-client.ts'
import type { CliPorts, Flags, KeptLog } from './ports.ts'
import { type Paint, paintFor, type Terminal, withoutControls } from './terminal.ts'

export interface LogsRequest {
  readonly flags: Flags
  readonly most: number
  readonly level: LogLevel
  readonly follow: boolean
  readonly json: boolean
}

/** Polls, which costs next to nothing: works across renames, restarts, and before the first start. */
const lookEveryMs = 250
const atOnce = 1000

export async function showLogs(ports: CliPorts, terminal: Terminal, request: LogsRequest): Promise<number> {
  const log = await ports.logs(whereOf(request.flags))
  const any = await log.any()
  if (!any) {
    terminal.stderr.write(
      `aetheel: there is no log in ${log.dir} yet. A gateway keeps one unless log.file is false.${request.follow ? ' Waiting for it.' : ''}\n`,
    )
    if (!request.follow) return 1
  }
  const print = printer(terminal, request.json)
  const query = { level: request.level, words: '' }
  const { lines, cursor } = await log.read({ ...query, after: any ? null : '', most: request.most })
  print(lines)
  if (request.follow) await follow(log, { ...query, cursor }, terminal, print)
  return 0
}

/** Until Ctrl-C, or until the output is closed. */
async function follow(
  log: KeptLog,
  { cursor: first, ...query }: { readonly level: LogLevel; readonly words: string; readonly cursor: string },
  terminal: Terminal,
  print: (lines: readonly LogLine[]) => void,
): Promise<void> {
  const leaving = new AbortController()
  const leave = () => leaving.abort()
  const uninterrupt = terminal.onInterrupt(leave)
  terminal.stdout.once('close', leave)
  terminal.stdout.once('error', leave)
  try {
    for (let cursor = first; !leaving.signal.aborted; ) {
      const page = await log.read({ ...query, after: cursor, most: atOnce })
      print(page.lines)
      cursor = page.cursor
      if (!page.more) await pause(lookEveryMs, undefined, { signal: leaving.signal }).catch(() => undefined)
    }
  } finally {
    uninterrupt()
    terminal.stdout.off('close', leave)
    terminal.stdout.off('error', leave)
  }
}

function printer({ stdout, zone }: Terminal, json: boolean): (lines: readonly LogLine[]) => void {
  if (json)
    return lines => void (lines.length > 0 && stdout.write(lines.map(line => `${JSON.stringify(line)}\n`).join('')))
  const paint = paintFor(stdout)
  const time = timeIn(zone())
  return lines =>
    void (lines.length > 0 && stdout.write(lines.map(line => `${inWords(line, time(line.at), paint)}\n`).join('')))
}

const colours = { trace: 'dim', debug: 'dim', info: 'green', warn: 'yellow', error: 'red', fatal: 'red' } as const
const widest = Math.max(...logLevels.map(({ length }) => length))

/** One row each, with the error below it. Fields may contain anybody's text. */
function inWords({ level, text, fields: { err, ...fields } }: LogLine, time: string, paint: Paint): string {
  const row = [
    paint('dim', time),
    paint(colours[level], level.toUpperCase().padEnd(widest)),
    withoutControls(text),
    ...Object.entries(fields).map(([name, value]) => `${paint('cyan', `${name}=`)}${shown(value)}`),
  ]
  return `${row.join(' ')}${errorIn(err, paint)}`
}

const shown = (value: unknown): string =>
  withoutControls(typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value)).replace(
    /\s+/g,
    ' ',
  )

function errorIn(err: unknown, paint: Paint): string {
  if (err === undefined) return ''
  const { stack, message } = (err ?? {}) as { readonly stack?: unknown; readonly message?: unknown }
  const words = withoutControls(String(stack ?? message ?? JSON.stringify(err)))
  return `\n${words
    .split('\n')
    .map(line => paint('dim', `    ${line.trim()}`))
    .join('\n')}`
}

function timeIn(zone: string): (at: number) => string {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' })
  return at => format.format(at)
}
