// Options of Telegram.
import { address, credential, wholeNumber, yesOrNo } from '../kinds.ts'
import { block, option, optional } from './option.ts'

export const telegram = block(
  {
    'telegram.enabled': option({
      env: 'TELEGRAM',
      flag: 'telegram',
      kind: yesOrNo,
      default: false,
      description: 'Connect to Telegram.',
    }),
    'telegram.bot_token': optional({
      env: 'TELEGRAM_BOT_TOKEN',
      kind: credential(1),
      secret: true,
      description: 'Token of the Telegram bot, from BotFather. Required when Telegram is on.',
    }),
    'telegram.file_over': option({
      env: 'TELEGRAM_FILE_OVER',
      kind: wholeNumber(4096, 1_000_000),
      default: 20_000,
      description: 'An answer with more characters than this is sent as a file. The message shows its beginning.',
    }),
    'telegram.api': option({
      env: 'TELEGRAM_API',
      kind: address,
      default: 'https://api.telegram.org',
      description: 'Base URL of the Bot API. Change it only for your own Bot API server or a compatible one.',
    }),
  },
  (values, { isSet }) => {
    const hasToken = values['telegram.bot_token'] !== null
    if (values['telegram.enabled'] && !hasToken) {
      const where = 'write /newbot to https://t.me/BotFather'
      return [
        {
          key: 'telegram.bot_token',
          why: `is not set; it is required while Telegram is on (telegram.enabled): ${where}`,
        },
      ]
    }
    if (!isSet('telegram.enabled') && hasToken) {
      const how = 'set TELEGRAM=true to connect, or TELEGRAM=false to keep it off'
      return [{ warning: `TELEGRAM_BOT_TOKEN is set, but Telegram is off: ${how}` }]
    }
    return []
  },
)
