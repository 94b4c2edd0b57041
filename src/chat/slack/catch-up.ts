// Messages written while the bot was offline: fetched from every channel and every thread it is in, oldest first.
import type { Clock } from '../../base/time.ts'
import { persist, troubleOf } from './errors.ts'
import type { MessageSeen } from './message.ts'
import { compare, isTimestamp } from './timestamp.ts'
import type { Web } from './web.ts'

export interface ChannelListed {
  readonly id: string
  readonly name?: string
  readonly is_im?: boolean
}

interface Page {
  readonly messages?: readonly MessageSeen[]
  readonly channels?: readonly ChannelListed[]
  readonly response_metadata?: { readonly next_cursor?: string }
}

const pageSize = 200
const mostPages = 50
/** Per channel; older threads are caught up when the bot is mentioned there. */
const mostThreads = 50

export interface CatchUpParts {
  readonly web: Web
  readonly clock: Clock
  trouble(why: string): void
}

/** All pages of a list. Waits out temporary problems. */
async function pages(
  { web, clock }: CatchUpParts,
  method: string,
  args: object,
  signal: AbortSignal,
): Promise<readonly Page[]> {
  const found: Page[] = []
  let cursor: string | undefined
  do {
    const ask = () => web.call<Page>(method, { ...args, limit: pageSize, cursor }, signal)
    const page = await persist(ask, clock, signal)
    found.push(page)
    cursor = page.response_metadata?.next_cursor || undefined
  } while (cursor !== undefined && found.length < mostPages)
  return found
}

/** The channels and direct messages that the bot is in. */
export async function channelsOf(parts: CatchUpParts, signal: AbortSignal): Promise<readonly ChannelListed[]> {
  const args = { types: 'public_channel,private_channel,mpim,im', exclude_archived: true }
  try {
    const found = await pages(parts, 'users.conversations', args, signal)
    return found.flatMap(({ channels = [] }) => channels)
  } catch (error) {
    signal.throwIfAborted()
    parts.trouble(`messages written while I was offline cannot be looked for: ${troubleOf(error).why}`)
    return []
  }
}

/** Everything in a channel after `oldest`, also in threads that were active, or that the bot is in (`threads`). */
export async function missedIn(
  parts: CatchUpParts,
  channel: string,
  oldest: string,
  threads: readonly string[],
  signal: AbortSignal,
): Promise<readonly MessageSeen[]> {
  const found = new Map<string, MessageSeen>()
  const collect = async (method: string, args: object) => {
    for (const { messages = [] } of await pages(parts, method, { ...args, channel, oldest }, signal))
      for (const one of messages) if (compare(one.ts, oldest) > 0) found.set(one.ts, { ...one, channel })
  }
  try {
    await collect('conversations.history', {})
    const active = [...found.values()].filter(({ reply_count = 0 }) => reply_count > 0).map(({ ts }) => ts)
    const all = new Set([...active, ...threads.filter(isTimestamp).slice(0, mostThreads)])
    for (const ts of all) await collect('conversations.replies', { ts }).catch(ifRefused)
  } catch (error) {
    ifRefused(error)
    parts.trouble(`messages missed in channel ${channel} cannot be read: ${troubleOf(error).why}`)
  }
  return [...found.values()].sort((a, b) => compare(a.ts, b.ts))

  /** A thread that was deleted, for example. */
  function ifRefused(error: unknown): void {
    signal.throwIfAborted()
    if (troubleOf(error).type !== 'refused') throw error
  }
}
