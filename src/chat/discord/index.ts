// The Discord module. Its libraries are large, so they are loaded only when the chat is opened.
import type { ChatModule } from '../../base/chat-module.ts'
import { checkChannel } from './check-channel.ts'
import type { DiscordOptions } from './options.ts'
import { probeDiscord } from './probe.ts'

export const discord: ChatModule<{ readonly discord: DiscordOptions }> = {
  name: 'discord',
  isOn: ({ discord: { enabled, botToken } }) => enabled && botToken !== null,
  async open({ discord: options }, context) {
    const { openDiscord } = await import('./adapter.ts')
    return openDiscord(options, context)
  },
  probe: ({ discord: options }, signal) => probeDiscord(options, signal),
  checkPlace: ({ discord: options }, conversation, signal) => checkChannel(options, conversation, signal),
}
