// The Telegram options of the configuration.

export interface TelegramOptions {
  readonly enabled: boolean
  /** Null: not set. */
  readonly botToken: string | null
  /** The base URL of the Bot API. */
  readonly api: string
  readonly fileOver: number
}
