// Classifies errors of the Bot API as temporary or permanent, and explains them.
import { GrammyError, HttpError } from 'grammy'
import { excerpt } from '../../base/scrub.ts'
import { wordsFor } from './words.ts'

export type Trouble =
  /** Temporary: too many requests, an outage, a broken connection. */
  | { readonly type: 'passing'; readonly afterMs: number; readonly why: string }
  /** The token is invalid: it must not be used again. */
  | { readonly type: 'token'; readonly why: string }
  /** Another program receives the messages of this bot. */
  | { readonly type: 'conflict'; readonly why: string }
  /** The group has another id now. */
  | { readonly type: 'moved'; readonly to: number; readonly why: string }
  /** Permanent: it would be refused again. */
  | { readonly type: 'refused'; readonly why: string; readonly description: string }

export const badToken =
  'Telegram does not accept the bot token. Write /token to https://t.me/BotFather, choose your bot, and set the token as TELEGRAM_BOT_TOKEN (telegram.bot_token).'

const conflict =
  'another program receives the messages of this bot. Stop it, or make a bot of its own for this gateway with https://t.me/BotFather.'

export function troubleOf(error: unknown): Trouble {
  if (error instanceof GrammyError) {
    // A compatible server may leave out what Telegram always sends.
    const { error_code: code = 400, description = '', parameters = {} } = error as Partial<GrammyError>
    if (code === 429)
      return { type: 'passing', afterMs: Math.max(1, (parameters.retry_after ?? 1) * 1000), why: 'too many requests' }
    if (code === 401 || code === 404) return { type: 'token', why: 'Telegram does not accept the bot token' }
    if (code === 409) return { type: 'conflict', why: conflict }
    if (parameters.migrate_to_chat_id !== undefined)
      return { type: 'moved', to: parameters.migrate_to_chat_id, why: 'the group has another id now' }
    if (code >= 500) return { type: 'passing', afterMs: 0, why: `Telegram answered ${code}` }
    return { type: 'refused', description, why: wordsFor(description) }
  }
  const inner = error instanceof HttpError ? error.error : error
  const message = inner instanceof Error ? inner.message || inner.name : String(inner)
  return {
    type: 'passing',
    afterMs: 0,
    why: `Telegram could not be reached (${excerpt(withoutAddress(message), 200)})`,
  }
}

/** The address of a request contains the token. */
const withoutAddress = (text: string): string => text.replace(/https?:\/\/\S+/g, '…')

/** Telegram has certainly not created the message. After any other error it may exist. */
export const isNo = (trouble: Trouble): boolean =>
  trouble.type === 'refused' ||
  trouble.type === 'moved' ||
  trouble.type === 'token' ||
  (trouble.type === 'passing' && trouble.afterMs > 0)

/** The text is there already, as it should be. */
export const isUnchanged = (trouble: Trouble): boolean =>
  trouble.type === 'refused' && /message is not modified/i.test(trouble.description)

/** The server does not accept the formatting. */
export const isBadEntities = (trouble: Trouble): boolean =>
  trouble.type === 'refused' && /entit|parse/i.test(trouble.description)
