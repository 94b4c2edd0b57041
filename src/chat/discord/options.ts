// The Discord options of the configuration.

export interface DiscordOptions {
  readonly enabled: boolean
  /** Null: not set. */
  readonly botToken: string | null
  /** The base URL of the API, without the version. */
  readonly api: string
  /** Also reads messages that do not mention the bot: an intent that must be enabled in Discord's portal. */
  readonly messageContent: boolean
  readonly threads: 'off' | 'auto'
  /** Milliseconds. */
  readonly catchupMaxAge: number
  readonly fileOver: number
}
