// The connection to the Bot API.
import { Api } from 'grammy'
import type { TelegramOptions } from './options.ts'

/** For one request. A poll has its own limit, and a request with files takes longer. */
const requestSeconds = 300

export const createApi = ({ api, botToken }: TelegramOptions): Api =>
  new Api(botToken ?? '', { apiRoot: api.replace(/\/+$/, ''), timeoutSeconds: requestSeconds })

/** The library has its own type of signal, which lacks what it does not use. */
export const stopping = (signal: AbortSignal) => signal as unknown as NonNullable<Parameters<Api['getMe']>[0]>
