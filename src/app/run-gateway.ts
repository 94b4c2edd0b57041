// Runs a gateway: starts everything, and stops it in an order that loses nothing.
import type { Logger } from 'pino'
import { ChatUnusable } from '../base/chat.ts'
import { type LiveConfig, watchConfig } from '../config/index.ts'
import { cutOff } from '../run/index.ts'
import type { Database } from '../store/index.ts'
import type { OpenHttp } from '../ui/index.ts'
import type { Gateway } from './build.ts'
import { cannotStart } from './cannot-start.ts'
import type { StateFolder } from './state-folder.ts'
import { systemClock as clock } from './system-clock.ts'
import type { OpenBackends } from './wiring/backends.ts'

export const shutdownLane = 'hook:shutdown'

export interface Life {
  readonly live: LiveConfig
  readonly gateway: Gateway
  readonly backends: OpenBackends
  readonly http: OpenHttp
  readonly closeHttp: AbortController
  readonly folder: StateFolder
  readonly db: Database
  readonly log: Logger
  readonly stop: AbortSignal
}

/** Resolves when it has stopped, after `stop`. Rejects if a chat failed for good. */
export async function runGateway({
  live,
  gateway,
  backends,
  http,
  closeHttp,
  folder,
  db,
  log,
  stop,
}: Life): Promise<void> {
  const sources = new AbortController()
  const taking = new AbortController()
  const cut = new AbortController()
  const posting = new AbortController()
  const speaking = gateway.chats.map(chat => chat.run(gateway.intake.accept, sources.signal))
  const turns = gateway.inbox.work(gateway.takeTurns(cut.signal), taking.signal)
  const post = gateway.outbox.work(gateway.deliver, posting.signal)
  const chores = [
    sweep(gateway, log, taking.signal),
    watchConfig(live, clock, taking.signal),
    gateway.triggers.clockSource.run(gateway.intake.accept, taking.signal),
    gateway.triggers.outbound(taking.signal),
    gateway.requests.run(taking.signal),
    ...gateway.memoryWiring.chores.map(chore => chore(taking.signal)),
  ].map(chore => chore.catch((error: unknown) => log.error({ err: error }, 'internal error')))

  const failure = await Promise.race([aborted(stop).then(() => null), firstFailure(speaking)])
  log.info({ running: gateway.inbox.depth().running, waiting: gateway.inbox.depth().waiting }, 'stopping')
  gateway.intake.close()
  gateway.subagents.endWaits()
  taking.abort()
  const { stopTimeoutMs } = live.current()
  const ended = new AbortController()
  const idle = Promise.race([turns, untilAllAsk(gateway, ended.signal)])
  await within(idle, stopTimeoutMs, () => undefined)
  ended.abort()
  cut.abort(cutOff)
  // Interrupted turns need a moment to end.
  await within(turns, graceMs, () => undefined)
  await runShutdownHook(gateway, stopTimeoutMs)
  await within(gateway.outbox.drain(), 2000, () => undefined)
  sources.abort()
  posting.abort()
  closeHttp.abort()
  await Promise.allSettled(speaking)
  await Promise.all([turns, post, ...chores, http.closed])
  await backends.close()
  await gateway.flush()
  // If the disk refuses writes, the file stays; nothing answers at its address.
  await folder
    .takeNoteAway()
    .catch((error: unknown) => log.warn({ err: error }, 'the discovery file could not be removed'))
  await db.close()
  log.info('stopped')
  if (failure) throw failure.error instanceof ChatUnusable ? cannotStart(failure.error) : failure.error
}

/** Resolves when all that still runs waits for people, who may take days. Their answers are used after the next start. */
async function untilAllAsk({ inbox, requests }: Gateway, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && !inbox.running().every(({ lane }) => requests.isAsking(lane)))
    await clock.sleep(100, signal)
}

/** How long the shutdown hook waits for interrupted turns. */
const graceMs = 10_000

/** The shutdown hook also goes through the queue, and we wait for it. No other event is taken any more. */
async function runShutdownHook(gateway: Gateway, ms: number): Promise<void> {
  const hook = await gateway.triggers.hook('shutdown')
  if (!hook) return
  const over = new AbortController()
  const cut = new AbortController()
  await gateway.inbox.put(hook.lane, hook.key, hook)
  const working = gateway.inbox.work(gateway.takeTurns(cut.signal), over.signal, shutdownLane)
  await within(gateway.inbox.wake(shutdownLane), ms, () => cut.abort(cutOff))
  over.abort()
  await working
  await gateway.inbox.cancel(shutdownLane)
}

/** A chat that fails for good stops the gateway, in good order. */
const firstFailure = (lives: readonly Promise<void>[]) =>
  new Promise<{ readonly error: unknown }>(resolve => {
    for (const life of lives) life.catch((error: unknown) => resolve({ error }))
  })

/** Waits for `work` for at most `ms`, then calls `hurry` and stops waiting. */
async function within(work: Promise<unknown>, ms: number, hurry: () => void): Promise<void> {
  const done = new AbortController()
  const first = await Promise.race([work.then(() => 'done'), clock.sleep(ms, done.signal)])
  done.abort()
  if (first !== 'done') hurry()
}

async function sweep(gateway: Gateway, log: Logger, signal: AbortSignal): Promise<void> {
  for (let pause = 60_000; !signal.aborted; pause = 6 * 3_600_000) {
    await clock.sleep(pause, signal)
    if (signal.aborted) return
    const gone = await gateway.forgetOld(signal).catch((error: unknown) => {
      log.warn({ err: error }, 'old events could not be removed')
      return 0
    })
    if (gone > 0) log.info({ events: gone }, 'old events removed')
  }
}

const aborted = (signal: AbortSignal) =>
  new Promise<void>(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
