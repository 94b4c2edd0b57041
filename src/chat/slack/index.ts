// The Slack module. The adapter is loaded only when the chat is opened.
import type { ChatModule } from '../../base/chat-module.ts'
import { manifest } from './manifest.ts'
import type { SlackOptions } from './options.ts'
import { checkChannel, probeSlack } from './probe.ts'

export const slack: ChatModule<{ readonly slack: SlackOptions }> = {
  name: 'slack',
  setup: {
    how: [
      'https://api.slack.com/apps, Create New App, From a manifest, your workspace, JSON: paste this line (it is also in templates/slack-manifest.json):',
      JSON.stringify(manifest),
      'Then Install App, Install to Workspace, and copy the Bot User OAuth Token (xoxb-…).',
      'Then Basic Information, App-Level Tokens, Generate, with the scope connections:write, and copy it (xapp-…).',
    ],
    secrets: [
      { variable: 'SLACK_BOT_TOKEN', label: 'bot token (xoxb-…)' },
      { variable: 'SLACK_APP_TOKEN', label: 'app-level token (xapp-…)' },
    ],
    userId: {
      how: ['In Slack: click on your picture, Profile, the three dots, Copy member ID.'],
      form: /^[UW][A-Z0-9]{6,14}$/,
      words: 'a U and capital letters and digits',
    },
  },
  isOn: ({ slack: { enabled, botToken, appToken } }) => enabled && botToken !== null && appToken !== null,
  async open({ slack: options }, context) {
    const { openSlack } = await import('./adapter.ts')
    return openSlack(options, context)
  },
  probe: ({ slack: options }, signal) => probeSlack(options, signal),
  checkPlace: ({ slack: options }, conversation, signal) => checkChannel(options, conversation, signal),
}
