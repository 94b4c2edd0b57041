// Classifies errors of Slack's Web API as temporary or permanent, and explains them.
import { excerpt } from '../../base/scrub.ts'
import { createPersist } from '../trouble.ts'

/** A response that is not `ok: true`. */
export class SlackError extends Error {
  readonly code: string
  readonly status: number
  readonly retryAfterMs: number
  /** The missing permission, if that is the reason. */
  readonly needed: string
  constructor(code: string, status: number, { retryAfterMs = 0, needed = '' } = {}) {
    super(code)
    this.name = 'SlackError'
    this.code = code
    this.status = status
    this.retryAfterMs = retryAfterMs
    this.needed = needed
  }
}

export type Trouble =
  /** Temporary. `certain`: Slack has certainly not done what it was asked to do. */
  | { readonly type: 'passing'; readonly afterMs: number; readonly why: string; readonly certain: boolean }
  /** The token is invalid: it must not be used again. */
  | { readonly type: 'token'; readonly why: string }
  /** Permanent: it would be refused again. */
  | { readonly type: 'refused'; readonly why: string; readonly code: string }

const tokenCodes: readonly string[] = [
  ...['invalid_auth', 'not_authed', 'account_inactive', 'token_revoked', 'token_expired'],
  ...['not_allowed_token_type', 'team_access_not_granted', 'app_uninstalled'],
]
/** Slack says of some of these that part of the work may have been done. */
const passingCodes: readonly string[] = [
  ...['internal_error', 'fatal_error', 'service_unavailable', 'request_timeout', 'team_added_to_org'],
  ...['rate_limited', 'ratelimited', 'message_limit_exceeded'],
]
/** Slack does not understand the formatting: plain text may work. */
const formatCodes: readonly string[] = [
  ...['invalid_blocks', 'invalid_blocks_format', 'invalid_attachments', 'msg_blocks_too_long', 'block_mismatch'],
  ...['invalid_arguments', 'markdown_text_conflict', 'invalid_metadata_format', 'metadata_too_large'],
]

const words: Readonly<Record<string, string>> = {
  channel_not_found: 'there is no such channel, or I was not invited to it: write /invite and my name there',
  not_in_channel: 'I am not in that channel: write /invite and my name there',
  is_archived: 'the channel is archived',
  msg_too_long: 'the message is longer than Slack allows',
  no_text: 'the message was empty',
  restricted_action: 'the settings of this workspace do not let me post there',
  restricted_action_read_only_channel: 'only some people may post in that channel',
  restricted_action_thread_only_channel: 'only replies in threads are allowed in that channel',
  restricted_action_thread_locked: 'the thread is locked',
  cannot_dm_bot: 'this is the direct message of another bot',
  message_not_found: 'the message was deleted',
  thread_not_found: 'the thread was deleted',
  user_not_in_channel: 'this person has left the channel',
  ekm_access_denied: 'the administrators of this workspace have suspended posting',
}

export function troubleOf(error: unknown): Trouble {
  if (!(error instanceof SlackError)) {
    const message = error instanceof Error ? error.message || error.name : String(error)
    const why = `Slack could not be reached (${excerpt(message, 200)})`
    return { type: 'passing', afterMs: 0, why, certain: false }
  }
  const { code, status, retryAfterMs, needed } = error
  if (status === 429) return { type: 'passing', afterMs: retryAfterMs, why: 'too many requests', certain: true }
  if (status >= 500) return { type: 'passing', afterMs: retryAfterMs, why: `Slack answered ${status}`, certain: false }
  if (tokenCodes.includes(code)) return { type: 'token', why: `Slack does not accept the token (${code})` }
  if (passingCodes.includes(code))
    return { type: 'passing', afterMs: retryAfterMs, why: `Slack answered ${code}`, certain: code === 'ratelimited' }
  if (code === 'missing_scope')
    return { type: 'refused', code, why: `the app lacks the permission ${needed || '(scope)'}: ${reinstall}` }
  return { type: 'refused', code, why: words[code] ?? `Slack refused it (${excerpt(code, 200)})` }
}

/** Whether plain text may be accepted instead. */
export const isAboutFormat = (error: unknown): boolean =>
  error instanceof SlackError && error.status < 429 && formatCodes.includes(error.code)

const portal = 'https://api.slack.com/apps'

export const reinstall = `open ${portal}, choose your app, add it under OAuth & Permissions, Bot Token Scopes, and choose Reinstall to Workspace`

export const badBotToken = `Slack does not accept the bot token. Open ${portal}, choose your app, then OAuth & Permissions, install the app to your workspace, copy the Bot User OAuth Token (xoxb-…) and set it as SLACK_BOT_TOKEN (slack.bot_token).`

export const badAppToken = `Slack does not accept the app-level token. Open ${portal}, choose your app, then Basic Information, App-Level Tokens, generate one with the scope connections:write (xapp-…) and set it as SLACK_APP_TOKEN (slack.app_token).`

export const socketModeOff = `Socket Mode is off for this Slack app. Open ${portal}, choose your app, then Socket Mode, and switch on Enable Socket Mode.`

/** Retries until the platform answers. */
export const persist = createPersist(troubleOf)
