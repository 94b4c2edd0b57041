// What went wrong between us and Discord: which of it passes, which does not, and the words for it.
import { DiscordAPIError, HTTPError, RateLimitError } from '@discordjs/rest'
import type { Posted } from '../../base/chat.ts'
import { excerpt } from '../../base/scrub.ts'

export type Trouble =
  /** It passes: too many requests, an outage, a connection that broke. */
  | { readonly type: 'passing'; readonly afterMs: number; readonly why: string }
  /** The token is not accepted (any more): nothing may be asked with it again. */
  | { readonly type: 'token'; readonly why: string }
  /** It will be refused again. */
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
  [codes.unknownChannel]: 'the channel is gone, or I was removed from it',
  [codes.unknownMessage]: 'the message is gone',
  [codes.tooLarge]: 'the files are larger than Discord takes',
  50001: 'I cannot see that channel: give me the permission View Channel there',
  50006: 'there was nothing in it that Discord shows',
  50007: 'this person takes no direct messages from me',
  50013:
    'I lack a permission there: Send Messages (in threads Send Messages in Threads, for files Attach Files). The invite link of `npx aetheel doctor` has them all',
  50083: 'the thread is archived and locked',
}

export function troubleOf(error: unknown): Trouble {
  if (error instanceof RateLimitError) {
    const afterMs = Math.max(error.retryAfter, error.timeToReset, error.sublimitTimeout, 1)
    return { type: 'passing', afterMs, why: 'too many requests' }
  }
  if (error instanceof DiscordAPIError) {
    // What stands before Discord refuses what is too large by itself, and without a code.
    const code = Number(error.code) || (error.status === 413 ? codes.tooLarge : 0)
    if (error.status === 401 && code !== codes.badWebhookToken)
      return { type: 'token', why: 'Discord does not accept the token of the bot' }
    return { type: 'refused', code, why: words[code] ?? `Discord refused it (${code}: ${excerpt(error.message, 200)})` }
  }
  if (error instanceof HTTPError) return { type: 'passing', afterMs: 0, why: `Discord answered ${error.status}` }
  const said = error instanceof Error ? error.message || error.name : String(error)
  return { type: 'passing', afterMs: 0, why: `Discord could not be reached (${excerpt(said, 200)})` }
}

/** How long nothing is tried with a token that is not accepted: until the owner has set another and starts again. */
const badTokenPauseMs = 3_600_000

export function postedOf(trouble: Trouble): Posted {
  switch (trouble.type) {
    case 'passing':
      return { type: 'try-again', afterMs: trouble.afterMs, why: trouble.why }
    case 'token':
      return { type: 'try-again', afterMs: badTokenPauseMs, why: trouble.why }
    case 'refused':
      return { type: 'refused', why: trouble.why }
    default:
      return trouble satisfies never
  }
}

const portal = 'https://discord.com/developers/applications'

export const badToken = `Discord does not accept the token of the bot. Open ${portal}, choose your application, then Bot, Reset Token, and set the new one as DISCORD_BOT_TOKEN (discord.bot_token).`

const noIntent = `Discord refuses to let the bot read messages, because the Message Content Intent is off. Open ${portal}, choose your application, then Bot, and under Privileged Gateway Intents switch on Message Content Intent and save. Or set DISCORD_MESSAGE_CONTENT=false: then the bot hears direct messages, replies and messages that mention it, and nothing else.`

/** Codes with which Discord closes the connection for good. */
export const closedForGood: ReadonlyMap<number, string> = new Map([
  [4004, badToken],
  [4010, 'Discord refuses the connection: invalid shard (4010).'],
  [4011, 'Discord refuses the connection: the bot is in too many guilds for one connection (4011).'],
  [4012, 'Discord refuses the connection: this version of its API is gone (4012). Update Aetheel.'],
  [4013, 'Discord refuses the connection: it does not know what the bot wants to hear (4013). Update Aetheel.'],
  [4014, noIntent],
])
