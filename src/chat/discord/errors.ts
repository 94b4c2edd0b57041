// Classifies errors of the Discord API as temporary or permanent, and explains them.
import { DiscordAPIError, HTTPError, RateLimitError } from '@discordjs/rest'
import { excerpt } from '../../base/scrub.ts'
import { createPersist } from '../trouble.ts'

export type Trouble =
  /** Temporary: too many requests, an outage, a broken connection. */
  | { readonly type: 'passing'; readonly afterMs: number; readonly why: string }
  /** The token is invalid: it must not be used again. */
  | { readonly type: 'token'; readonly why: string }
  /** Permanent: it would be refused again. */
  | { readonly type: 'refused'; readonly why: string; readonly code: number }

export const codes = {
  unknownChannel: 10_003,
  unknownMessage: 10_008,
  unknownWebhook: 10_015,
  unknownInteraction: 10_062,
  tooLarge: 40_005,
  alreadyAnswered: 40_060,
  badWebhookToken: 50_027,
  noReply: 160_002,
  threadExists: 160_004,
} as const

const words: Readonly<Record<number, string>> = {
  [codes.unknownChannel]: 'the channel was deleted, or I was removed from it',
  [codes.unknownMessage]: 'the message was deleted',
  [codes.tooLarge]: 'the files are larger than Discord allows',
  50001: 'I cannot see that channel: give me the permission View Channel there',
  50006: 'the message was empty',
  50007: 'this person does not accept direct messages from me',
  50013:
    'I lack a permission there: Send Messages (in threads Send Messages in Threads, for files Attach Files). The invite link from `npx aetheel doctor` includes them all',
  50083: 'the thread is archived and locked',
}

export function troubleOf(error: unknown): Trouble {
  if (error instanceof RateLimitError) {
    const afterMs = Math.max(error.retryAfter, error.timeToReset, error.sublimitTimeout, 1)
    return { type: 'passing', afterMs, why: 'too many requests' }
  }
  if (error instanceof DiscordAPIError) {
    // Discord's proxy refuses large requests itself, without a code.
    const code = Number(error.code) || (error.status === 413 ? codes.tooLarge : 0)
    if (error.status === 401 && code !== codes.badWebhookToken)
      return { type: 'token', why: 'Discord does not accept the bot token' }
    return { type: 'refused', code, why: words[code] ?? `Discord refused it (${code}: ${excerpt(error.message, 200)})` }
  }
  if (error instanceof HTTPError) return { type: 'passing', afterMs: 0, why: `Discord answered ${error.status}` }
  const message = error instanceof Error ? error.message || error.name : String(error)
  return { type: 'passing', afterMs: 0, why: `Discord could not be reached (${excerpt(message, 200)})` }
}

/** The request itself is wrong, not its sender or place. */
export const isInvalid = (error: unknown): boolean =>
  error instanceof DiscordAPIError && (error.status === 400 || error.status === 422)

const portal = 'https://discord.com/developers/applications'

export const badToken = `Discord does not accept the bot token. Open ${portal}, choose your application, then Bot, Reset Token, and set the new one as DISCORD_BOT_TOKEN (discord.bot_token).`

const noIntent = `Discord refuses to let the bot read messages, because the Message Content Intent is off. Open ${portal}, choose your application, then Bot, and under Privileged Gateway Intents switch on Message Content Intent and save. Or set DISCORD_MESSAGE_CONTENT=false: then the bot only receives direct messages, replies and messages that mention it.`

/** Close codes after which reconnecting is useless. */
export const closedForGood: ReadonlyMap<number, string> = new Map([
  [4004, badToken],
  [4010, 'Discord refuses the connection: invalid shard (4010).'],
  [4011, 'Discord refuses the connection: the bot is in too many guilds for one connection (4011).'],
  [4012, 'Discord refuses the connection: this version of its API is no longer supported (4012). Update Aetheel.'],
  [4013, 'Discord refuses the connection: it does not know the requested intents (4013). Update Aetheel.'],
  [4014, noIntent],
])

/** Retries until the platform answers. */
export const persist = createPersist(troubleOf)
