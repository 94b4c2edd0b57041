// Receives updates by long polling. Telegram keeps an update until a later one is asked for, so it is confirmed only when handled.
import type { Api } from 'grammy'
import type { Update } from 'grammy/types'
import { ChatUnusable } from '../../base/chat.ts'
import type { Emit } from '../../base/signal.ts'
import type { Clock } from '../../base/time.ts'
import { within } from '../../base/within.ts'
import { stopping } from './api.ts'
import { badToken, troubleOf } from './errors.ts'

export interface PollingParts {
  readonly api: Api
  readonly clock: Clock
  readonly emit: Emit
  /** Learns who the bot is, before the first update. */
  identify(): Promise<void>
  /** Called when Telegram answers for the first time, and after each interruption. */
  connected(resumed: boolean): void
  /** Resolves with true when the update is handled: it is on disk. False: not now; Telegram must send it again after the next start. */
  handle(update: Update, missed: boolean): Promise<boolean>
}

const kinds = ['message', 'edited_message', 'callback_query', 'my_chat_member'] as const
const pollSeconds = 30
/** How long one slow update, such as one with large files, keeps the others from being asked for. */
const patienceMs = 1000
const pauses = { shortestMs: 500, longestMs: 30_000, conflictMs: 5000 }
const farewellMs = 1000

export function createPolling({ api, clock, emit, identify, connected, handle }: PollingParts) {
  const open = new Map<number, Promise<void>>()
  /** Handled, but not confirmed because an earlier one is not: they come again. */
  const handled = new Set<number>()
  let next = 0
  let given = false
  /** Older messages were written while nobody listened. */
  let since = 0
  let up = false

  const ask = (signal: AbortSignal, timeout: number) =>
    api.getUpdates({ ...(next === 0 ? {} : { offset: next }), timeout, allowed_updates: kinds }, stopping(signal))

  function receive(update: Update): void {
    const { update_id: id } = update
    if (open.has(id) || handled.has(id)) return
    const at = (update.message?.date ?? 0) * 1000
    const work = handle(update, at !== 0 && at < since).then(done => {
      given ||= !done
      if (!done) return
      open.delete(id)
      handled.add(id)
    })
    open.set(id, work)
  }

  /** Everything before the first unhandled update is confirmed by asking for that one. */
  const confirmed = (highest: number) => {
    const first = Math.min(highest + 1, ...open.keys())
    for (const id of handled) if (id < first) handled.delete(id)
    return first
  }

  async function lost(error: unknown, tries: number, signal: AbortSignal): Promise<void> {
    const trouble = troubleOf(error)
    if (trouble.type === 'token') throw new ChatUnusable(badToken, { cause: error })
    if (up || tries === 0) emit({ type: 'chat-lost', chat: 'telegram', why: trouble.why })
    up = false
    const least = trouble.type === 'conflict' ? pauses.conflictMs : trouble.type === 'passing' ? trouble.afterMs : 0
    const pause = Math.min(pauses.longestMs, pauses.shortestMs * 2 ** Math.min(tries, 10))
    await clock.sleep(Math.max(least, pause), signal)
  }

  /** Runs until the signal, or until an update is given back. Rejects with `ChatUnusable` if Telegram refuses the bot. */
  async function run(signal: AbortSignal): Promise<void> {
    let highest = 0
    let tries = 0
    let resumed = false
    since = Math.floor(clock.now() / 1000) * 1000
    while (!signal.aborted && !given) {
      try {
        if (!resumed) await identify()
        // The first answer comes at once, and tells that the bot is connected.
        const waits = up && open.size === 0
        const asked = clock.now()
        const updates = await ask(signal, waits ? pollSeconds : 0)
        // A server that does not wait must not be asked without end.
        if (waits && updates.length === 0 && clock.now() - asked < patienceMs) await clock.sleep(patienceMs, signal)
        tries = 0
        if (!up) connected(resumed)
        up = true
        resumed = true
        // Updates are sorted, except when they are not.
        const fresh = updates.filter(one => one.update_id >= next).sort((a, b) => a.update_id - b.update_id)
        for (const update of fresh) receive(update)
        highest = Math.max(highest, ...fresh.map(one => one.update_id))
        if (open.size > 0) await within(Promise.all(open.values()), patienceMs, clock)
        if (highest > 0) next = confirmed(highest)
      } catch (error) {
        if (signal.aborted) break
        await lost(error, tries++, signal)
        since = Math.floor(clock.now() / 1000) * 1000
      }
    }
    await within(Promise.allSettled(open.values()), farewellMs, clock)
    if (highest > 0) next = confirmed(highest)
    // Otherwise the next start would get again what is handled; it would be recognized, but for nothing.
    if (next > 0)
      await within(
        ask(new AbortController().signal, 0).catch(() => null),
        farewellMs,
        clock,
      )
  }

  return { run }
}
