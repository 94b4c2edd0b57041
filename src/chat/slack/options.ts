// The Slack options of the configuration.

export interface SlackOptions {
  readonly enabled: boolean
  /** Of the bot user, for the Web API (`xoxb-…`). Null: not set. */
  readonly botToken: string | null
  /** Of the app, for Socket Mode (`xapp-…`). Null: not set. */
  readonly appToken: string | null
  /** The base URL of the Web API. */
  readonly api: string
  readonly threads: 'off' | 'auto'
  /** Milliseconds. */
  readonly catchupMaxAge: number
  readonly fileOver: number
}
