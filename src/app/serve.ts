// The gateway as a process: standalone until it is stopped, or inside another command.
import { fstatSync } from 'node:fs'
import type { ConfigTexts } from '../base/config-files.ts'
import { createKnownSecrets } from '../base/scrub.ts'
import { type Loaded, showProblems } from '../config/index.ts'
import { killEverything } from '../run/index.ts'
import { CannotStart } from './cannot-start.ts'
import { openGateway, type StartedGateway } from './gateway.ts'
import { openLog } from './log.ts'
import { howToBecomeOwner } from './ownerless.ts'

type Ready = Extract<Loaded, { ok: true }>

/** Runs the gateway until it is stopped. Resolves with the exit code. */
export async function startGateway(load: (instead?: ConfigTexts) => Promise<Loaded>): Promise<number> {
  const loaded = await load()
  for (const warning of loaded.warnings) process.stderr.write(`aetheel: warning: ${warning}\n`)
  if (!loaded.ok) {
    process.stderr.write(
      `aetheel: the configuration has mistakes, so nothing was started:\n${showProblems(loaded.problems)}\n`,
    )
    return loaded.problems.every(({ from }) => from === 'flag') ? 2 : 1
  }
  const stop = stopOnSignals()
  const secrets = createKnownSecrets(loaded.secrets)
  const { log, keepIn, close } = await openLog(
    loaded.config.views.log,
    secrets.hide,
    process.stderr as NodeJS.WriteStream,
  )
  // So that the log of a crash ends with the reason.
  process.on('uncaughtExceptionMonitor', error => log.fatal({ err: error }, 'crashed'))
  try {
    const anyPort = !loaded.isSet('http.port')
    const gateway = await openGateway({ loaded, load, log, secrets, keepLog: keepIn, anyPort }, stop)
    process.stdout.write(welcome(gateway, isJournal(process.stdout.fd)))
    await gateway.closed
    return 0
  } catch (error) {
    if (!(error instanceof CannotStart)) throw error
    // It was asked to stop before it was up, so an interrupted start is not a failure.
    if (stop.aborted) return 0
    process.stderr.write(`aetheel: ${error.message}\n`)
    return 1
  } finally {
    close()
  }
}

/** A gateway inside this process, on a free port, with a quiet log. */
export async function embedGateway(
  loaded: Ready,
  load: (instead?: ConfigTexts) => Promise<Loaded>,
  signal: AbortSignal,
): Promise<StartedGateway> {
  process.on('exit', killEverything)
  for (const name of ['SIGTERM', 'SIGHUP'] as const) process.on(name, () => process.exit(1))
  const secrets = createKnownSecrets(loaded.secrets)
  const quiet = { ...loaded.config.views.log, level: 'error' } as const
  const { log, keepIn, close } = await openLog(quiet, secrets.hide, process.stderr as NodeJS.WriteStream)
  try {
    const embedded = await openGateway({ loaded, load, log, secrets, keepLog: keepIn, anyPort: false }, signal)
    embedded.closed.then(close, close)
    return embedded
  } catch (error) {
    close()
    throw error
  }
}

/** The first signal stops in good order, the second exits immediately. Either way no child process is left behind. */
function stopOnSignals(): AbortSignal {
  const stop = new AbortController()
  process.on('exit', killEverything)
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
    process.on(name, () => {
      if (stop.signal.aborted) process.exit(1)
      stop.abort()
    })
  return stop.signal
}

function welcome({ url, token, backend, note, ownerless }: StartedGateway, isKept: boolean): string {
  const key = isKept ? '' : `?token=${encodeURIComponent(token)}`
  const links = `  WebChat  ${url}/chat${key}\n  Control  ${url}/${key}\n`
  const ready = `\nAetheel is ready; ${backend} answers: ${note}\n\n${links}\n`
  const end = isKept ? '"npx aetheel status" prints the links with the token.\n' : 'Ctrl-C stops it.\n\n'
  return `${ready}${howToBecomeOwner(ownerless)}${end}`
}

/** systemd keeps its journal, and other users may read it. The variable alone proves nothing, because terminals inherit it. */
function isJournal(fd: number): boolean {
  try {
    const { dev, ino } = fstatSync(fd)
    return process.env.JOURNAL_STREAM === `${dev}:${ino}`
  } catch {
    return false // stdout is closed
  }
}
