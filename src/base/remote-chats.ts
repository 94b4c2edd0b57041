// The chats on external platforms, in order of precedence for a channel that names none.

/** By the part before the colon in their places and users. The registry in chat/ has a module for each. */
export const chatLabels = {
  discord: 'Discord',
  telegram: 'Telegram',
  slack: 'Slack',
} as const

export type RemoteChat = keyof typeof chatLabels
