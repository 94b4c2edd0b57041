// The log: a fixed name and fields per line, never message texts, and no secrets.
import { type DestinationStream, type Logger, pino } from 'pino'
import type { Request } from '../base/requests.ts'
import type { Signal } from '../base/signal.ts'
import type { Config, Reloaded } from '../config/index.ts'
import { type LogFile, openLogFile } from '../store/index.ts'

export interface OpenLog {
  readonly log: Logger
  /** From now on also writes the lines to files in this folder, unless that is off. Call it once this process owns the folder. */
  keepIn(dir: string): void
  close(): void
}

export async function openLog(
  settings: Config['views']['log'],
  scrub: (line: string) => string,
  out: NodeJS.WriteStream,
): Promise<OpenLog> {
  const pretty = settings.format === 'pretty' || (settings.format === 'auto' && out.isTTY)
  const target = pretty ? await prettyStream(out) : out
  const shownFrom = numberOf(settings.level)
  const keptFrom = settings.file === null ? Number.POSITIVE_INFINITY : numberOf(settings.file)
  let file: LogFile | null = null
  const destination: DestinationStream & { lastLevel: number } = {
    // Makes pino set `lastLevel` for each line, since output and file may have different levels.
    [Symbol.for('pino.metadata')]: true,
    lastLevel: 0,
    write(line) {
      const clean = scrub(line)
      if (destination.lastLevel >= shownFrom) target.write(clean)
      if (destination.lastLevel >= keptFrom) file?.write(clean)
    },
  }
  const level = shownFrom <= keptFrom ? settings.level : (settings.file ?? settings.level)
  const log = pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination)
  return {
    log,
    keepIn(dir) {
      if (settings.file === null) return
      const failed = (error: unknown) => log.warn({ why: String(error) }, 'the log file cannot be written')
      file = openLogFile({ dir, now: Date.now, failed })
    },
    close: () => file?.close(),
  }
}

const numberOf = (level: string): number => pino.levels.values[level] ?? Number.POSITIVE_INFINITY

async function prettyStream(out: NodeJS.WriteStream) {
  const { default: pretty } = await import('pino-pretty')
  return pretty({
    colorize: out.isTTY,
    translateTime: 'SYS:HH:MM:ss',
    ignore: 'pid,hostname',
    singleLine: true,
    destination: out,
    sync: true,
  })
}

/** Writes each signal as a log line. */
export function logSignal(log: Logger, signal: Signal): void {
  // The texts of a turn are only for its timeline.
  if (signal.type === 'turn-asked' || signal.type === 'turn-thought') return
  const { type } = signal
  const { type: _, ...all } = 'request' in signal ? { type, ...briefly(signal.request) } : signal
  const isLogged = ([name, value]: [string, unknown]) => !unlogged.has(name) && value !== null && value !== ''
  const entries = Object.entries(all).filter(isLogged)
  // `until` is a time for people to read; all other numbers are durations and counts.
  const fields = Object.fromEntries(entries.map(([name, value]) => [name, name === 'until' ? timeOf(value) : value]))
  const name = type.replaceAll('-', ' ')
  switch (signal.type) {
    case 'event-refused':
      return log.warn(signal.why === 'stranger' ? { ...fields, see: 'npx aetheel pair list' } : fields, name)
    case 'event-set-aside':
    case 'delivery-refused':
    case 'delivery-delayed':
    case 'session-lost':
    case 'turn-put-off':
    case 'turn-troubled':
    case 'turn-moved':
    case 'backend-cooldown':
    case 'warm-trouble':
    case 'workspace-trouble':
    case 'chat-lost':
    case 'chat-trouble':
      return log.warn(fields, name)
    case 'turn-ended':
      return signal.ok ? log.info(fields, name) : log.warn(fields, name)
    case 'chat-ready':
    case 'chat-catching-up':
    case 'chat-caught-up':
    case 'heartbeats-missing':
    case 'request-opened':
    case 'request-reminder':
    case 'request-settled':
      return log.info(fields, name)
    case 'job-skipped':
      return signal.why === 'over-budget' ? log.warn(fields, name) : log.debug(fields, name)
    case 'draft-lost':
    case 'delivery-sent':
    case 'turn-spoke':
    case 'turn-acted':
      return log.debug(fields, name)
    case 'event-accepted':
    case 'command-answered':
    case 'turn-began':
      return log.debug(fields, name)
    default:
      return signal satisfies never
  }
}

/** They may repeat what people wrote. */
const unlogged: ReadonlySet<string> = new Set(['label', 'action', 'use', 'result'])

const briefly = ({ id, lane, event, backend, ask, state, answeredBy }: Request) => ({
  ...{ request: id, lane, id: event, backend, state, by: answeredBy },
  tool: ask.kind === 'tool' ? ask.use.tool : ask.kind,
})

const timeOf = (at: unknown): unknown =>
  typeof at === 'number' && Math.abs(at) <= 8.64e15 ? new Date(at).toISOString() : at

/** Called when config.json was edited while the gateway runs. */
export function logReload(log: Logger, reloaded: Reloaded): void {
  if (!reloaded.ok) log.warn({ why: reloaded.why }, 'configuration has mistakes; the last good one stays in use')
  else if (reloaded.applied.length + reloaded.later.length > 0)
    log.info({ applied: reloaded.applied, afterRestart: reloaded.later }, 'configuration changed')
}
