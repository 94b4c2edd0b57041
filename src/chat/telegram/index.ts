// The Telegram module. Its library is loaded only when the chat is opened.
import type { ChatModule } from '../../base/chat-module.ts'
import { checkChat } from './check-chat.ts'
import type { TelegramOptions } from './options.ts'
import { probeTelegram } from './probe.ts'

export const telegram: ChatModule<{ readonly telegram: TelegramOptions }> = {
  name: 'telegram',
  setup: {
    how: ['In Telegram, write /newbot to https://t.me/BotFather, answer its two questions, and copy the token.'],
    secrets: [{ variable: 'TELEGRAM_BOT_TOKEN', label: 'bot token' }],
    userId: {
      how: ['Telegram does not show your user id; easiest is to press Enter, write to the bot, and approve its code.'],
      form: /^\d{1,16}$/,
      words: 'a number of up to 16 digits',
    },
  },
  isOn: ({ telegram: { enabled, botToken } }) => enabled && botToken !== null,
  async open({ telegram: options }, context) {
    const { openTelegram } = await import('./adapter.ts')
    return openTelegram(options, context)
  },
  probe: ({ telegram: options }, signal) => probeTelegram(options, signal),
  checkPlace: ({ telegram: options }, conversation, signal) => checkChat(options, conversation, signal),
}
