// Options of Slack.
import { address, age, credential, oneOf, wholeNumber, yesOrNo } from '../kinds.ts'
import { block, option, optional } from './option.ts'

export const slack = block(
  {
    'slack.enabled': option({
      env: 'SLACK',
      flag: 'slack',
      kind: yesOrNo,
      default: false,
      description: 'Connect to Slack.',
    }),
    'slack.bot_token': optional({
      env: 'SLACK_BOT_TOKEN',
      kind: credential(1),
      secret: true,
      description: 'Bot User OAuth Token of the Slack app (xoxb-…). Required when Slack is on.',
    }),
    'slack.app_token': optional({
      env: 'SLACK_APP_TOKEN',
      kind: credential(1),
      secret: true,
      description:
        'App-level token of the Slack app with the scope connections:write (xapp-…). Required when Slack is on.',
    }),
    'slack.threads': option({
      env: 'SLACK_THREADS',
      kind: oneOf(['off', 'auto']),
      default: 'auto',
      description:
        'If auto, a mention in a channel is answered in a thread, which is a conversation of its own. If off, a channel is one conversation.',
    }),
    'slack.file_over': option({
      env: 'SLACK_FILE_OVER',
      kind: wholeNumber(2000, 1_000_000),
      default: 12_000,
      description: 'An answer with more characters than this is sent as a file. The message shows its beginning.',
    }),
    'slack.catchup_max_age': option({
      env: 'SLACK_CATCHUP_MAX_AGE',
      kind: age(30 * 86_400_000),
      default: 86_400_000,
      description: 'Messages sent while the gateway was offline are answered if they are not older than this.',
    }),
    'slack.api': option({
      env: 'SLACK_API',
      kind: address,
      default: 'https://slack.com/api',
      description: 'Base URL of the Slack Web API. Change it only for a compatible server.',
    }),
  },
  (values, { isSet }) => {
    const bot = values['slack.bot_token'] !== null
    const app = values['slack.app_token'] !== null
    if (!values['slack.enabled']) {
      const how = 'set SLACK=true to connect, or SLACK=false to keep it off'
      return !isSet('slack.enabled') && bot ? [{ warning: `SLACK_BOT_TOKEN is set, but Slack is off: ${how}` }] : []
    }
    const portal = 'https://api.slack.com/apps, your app'
    const why = (where: string) => `is not set; it is required while Slack is on (slack.enabled): ${portal}, ${where}`
    return [
      ...(bot ? [] : [{ key: 'slack.bot_token' as const, why: why('OAuth & Permissions, Bot User OAuth Token') }]),
      ...(app ? [] : [{ key: 'slack.app_token' as const, why: why('Basic Information, App-Level Tokens') }]),
    ]
  },
)
