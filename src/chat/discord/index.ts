// The Discord module. Its libraries are large, so they are loaded only when the chat is opened.
import type { ChatModule } from '../../base/chat-module.ts'
import { checkChannel } from './check-channel.ts'
import type { DiscordOptions } from './options.ts'
import { probeDiscord } from './probe.ts'

export const discord: ChatModule<{ readonly discord: DiscordOptions }> = {
  name: 'discord',
  setup: {
    how: [
      'https://discord.com/developers/applications, New Application, Bot:',
      'switch on Message Content Intent, Save Changes; then Reset Token, and copy it.',
    ],
    secrets: [{ variable: 'DISCORD_BOT_TOKEN', label: 'bot token' }],
    userId: {
      how: ['In Discord: Settings, Advanced, Developer Mode; then right click on your name, Copy User ID.'],
      form: /^\d{15,21}$/,
      words: '17 to 20 digits',
    },
  },
  isOn: ({ discord: { enabled, botToken } }) => enabled && botToken !== null,
  async open({ discord: options }, context) {
    const { openDiscord } = await import('./adapter.ts')
    return openDiscord(options, context)
  },
  probe: ({ discord: options }, signal) => probeDiscord(options, signal),
  checkPlace: ({ discord: options }, conversation, signal) => checkChannel(options, conversation, signal),
}
