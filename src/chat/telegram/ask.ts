// Single requests to the Bot API without the library, for checks before the chat is opened.
import { errorText } from '../../base/unknown.ts'
import type { TelegramOptions } from './options.ts'

export type Answer =
  | { readonly type: 'ok'; readonly result: Readonly<Record<string, unknown>> }
  /** Telegram refuses. */
  | { readonly type: 'no'; readonly code: number; readonly description: string; readonly movedTo: number | null }
  | { readonly type: 'unreachable'; readonly why: string }

interface Body {
  readonly ok: boolean
  readonly result?: unknown
  readonly error_code?: number
  readonly description?: string
  readonly parameters?: { readonly migrate_to_chat_id?: number }
}

/** The address contains the token, so neither it nor an error that may contain it is ever shown. */
export async function ask(
  { api, botToken }: TelegramOptions,
  method: string,
  payload: object,
  signal: AbortSignal,
): Promise<Answer> {
  try {
    const answer = await fetch(`${api}/bot${botToken ?? ''}/${method}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(payload),
      signal,
    })
    if (answer.status >= 500) return { type: 'unreachable', why: `it answered ${answer.status}` }
    const body = (await answer.json()) as Body
    if (body.ok) return { type: 'ok', result: Object(body.result) as Record<string, unknown> }
    const movedTo = body.parameters?.migrate_to_chat_id ?? null
    return { type: 'no', code: body.error_code ?? answer.status, description: body.description ?? '', movedTo }
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
    return { type: 'unreachable', why: errorText(cause).replaceAll(botToken || '\0', '…') }
  }
}
