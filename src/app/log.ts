// The log: a fixed name and fields per line, never what people said, and no secret.
import { type DestinationStream, type Logger, pino } from 'pino'
import type { Signal } from '../base/signal.ts'
import type { Config } from './config.ts'
import type { Reloaded } from './live.ts'

export async function openLog(
  settings: Config['log'],
  scrub: (line: string) => string,
  out: NodeJS.WriteStream,
): Promise<Logger> {
  const pretty = settings.format === 'pretty' || (settings.format === 'auto' && out.isTTY)
  const target = pretty ? await prettyStream(out) : out
  const scrubbing: DestinationStream = { write: line => void target.write(scrub(line)) }
  return pino({ level: settings.level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, scrubbing)
}

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

/** What happens, as log lines. */
export function logSignal(log: Logger, signal: Signal): void {
  // The words of a turn are for its timeline alone.
  if (signal.type === 'turn-asked') return
  const { type, ...all } = signal
  const isTold = ([name, value]: [string, unknown]) => name !== 'label' && value !== null && value !== ''
  const fields = Object.fromEntries(Object.entries(all).filter(isTold))
  const name = type.replaceAll('-', ' ')
  switch (type) {
    case 'event-refused':
      return log.warn(signal.why === 'stranger' ? { ...fields, see: 'npx aetheel pair list' } : fields, name)
    case 'event-set-aside':
    case 'letter-refused':
    case 'letter-delayed':
    case 'session-lost':
    case 'turn-put-off':
    case 'turn-moved':
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
      return log.info(fields, name)
    case 'job-skipped':
      return signal.why === 'over-budget' ? log.warn(fields, name) : log.debug(fields, name)
    case 'draft-lost':
    case 'letter-sent':
    case 'turn-spoke':
    case 'turn-acted':
      return log.debug(fields, name)
    case 'event-accepted':
    case 'command-answered':
    case 'turn-began':
      return log.debug(fields, name)
    default:
      return type satisfies never
  }
}

/** An edit of config.json while we run. */
export function logReload(log: Logger, reloaded: Reloaded): void {
  if (!reloaded.ok) log.warn({ why: reloaded.why }, 'configuration has mistakes; the last good one stays')
  else if (reloaded.applied.length + reloaded.later.length > 0)
    log.info({ counts: reloaded.applied, afterRestart: reloaded.later }, 'configuration changed')
}
