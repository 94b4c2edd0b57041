// Options of Discord.
import { address, age, credential, oneOf, wholeNumber, yesOrNo } from '../kinds.ts'
import { block, option, optional } from './option.ts'

export const discord = block(
  {
    'discord.enabled': option({
      env: 'DISCORD',
      flag: 'discord',
      kind: yesOrNo,
      default: false,
      description: 'Connect to Discord.',
    }),
    'discord.bot_token': optional({
      env: 'DISCORD_BOT_TOKEN',
      kind: credential(1),
      secret: true,
      description: 'Token of the Discord bot. Required when Discord is on.',
    }),
    'discord.message_content': option({
      env: 'DISCORD_MESSAGE_CONTENT',
      kind: yesOrNo,
      default: true,
      description:
        'Also read messages in threads and replies that do not mention the bot. Requires the Message Content Intent in the developer portal. If false, only direct messages and mentions are read.',
    }),
    'discord.threads': option({
      env: 'THREADS',
      kind: oneOf(['off', 'auto']),
      default: 'off',
      description: 'If auto, a mention in a channel opens a thread, which is a conversation of its own.',
    }),
    'discord.file_over': option({
      env: 'DISCORD_FILE_OVER',
      kind: wholeNumber(2000, 1_000_000),
      default: 12_000,
      description: 'An answer with more characters than this is sent as a file. The message shows its beginning.',
    }),
    'discord.catchup_max_age': option({
      env: 'DISCORD_CATCHUP_MAX_AGE',
      kind: age(30 * 86_400_000),
      default: 86_400_000,
      description: 'Messages sent while the gateway was offline are answered if they are not older than this.',
    }),
    'discord.api': option({
      env: 'DISCORD_API',
      kind: address,
      default: 'https://discord.com/api',
      description: 'Base URL of the Discord API, without the version. Change it only for a compatible server.',
    }),
  },
  (values, { isSet }) => {
    const hasToken = values['discord.bot_token'] !== null
    if (values['discord.enabled'] && !hasToken) {
      const where = 'https://discord.com/developers/applications, your application, Bot, Reset Token'
      return [
        {
          key: 'discord.bot_token',
          why: `is not set; it is required while Discord is on (discord.enabled): ${where}`,
        },
      ]
    }
    if (!isSet('discord.enabled') && hasToken) {
      const how = 'set DISCORD=true to connect, or DISCORD=false to keep it off'
      return [{ warning: `DISCORD_BOT_TOKEN is set, but Discord is off: ${how}` }]
    }
    return []
  },
)
