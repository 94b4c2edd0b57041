// The Slack module. The adapter is loaded only when the chat is opened.
import type { ChatModule } from '../../base/chat-module.ts'
import type { SlackOptions } from './options.ts'
import { checkChannel, probeSlack } from './probe.ts'

export const slack: ChatModule<{ readonly slack: SlackOptions }> = {
  name: 'slack',
  isOn: ({ slack: { enabled, botToken, appToken } }) => enabled && botToken !== null && appToken !== null,
  async open({ slack: options }, context) {
    const { openSlack } = await import('./adapter.ts')
    return openSlack(options, context)
  },
  probe: ({ slack: options }, signal) => probeSlack(options, signal),
  checkPlace: ({ slack: options }, conversation, signal) => checkChannel(options, conversation, signal),
}
