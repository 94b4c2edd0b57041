// Checks a bot before it is connected: is the token valid, does another program hold the bot, may it read groups?
import type { ChatProbe } from '../../base/chat-module.ts'
import type { Check } from '../../base/check.ts'
import { excerpt } from '../../base/scrub.ts'
import { ask } from './ask.ts'
import type { TelegramOptions } from './options.ts'

const patienceMs = 10_000
const name = 'telegram'

/** Works whether Telegram is enabled or not. */
export async function probeTelegram(options: TelegramOptions, signal: AbortSignal): Promise<ChatProbe> {
  const patience = AbortSignal.any([signal, AbortSignal.timeout(patienceMs)])
  const me = await ask(options, 'getMe', {}, patience)
  if (me.type === 'unreachable') return unreachable(options, me.why)
  if (me.type === 'no') {
    if (me.code !== 401 && me.code !== 404) return unreachable(options, excerpt(me.description, 100))
    const fix = 'Write /token to https://t.me/BotFather, choose your bot, and set the token as TELEGRAM_BOT_TOKEN.'
    return { type: 'bad-token', checks: [fail('Telegram does not accept the bot token', fix)] }
  }
  const hook = await ask(options, 'getWebhookInfo', {}, patience)
  const username = String(me.result.username ?? '')
  const reads = me.result.can_read_all_group_messages === true
  const groups = reads ? 'reads all messages of its groups' : 'in groups it reads commands, replies and mentions'
  const bot: Check = {
    name,
    status: 'ok',
    detail: `@${username}; to write to it, open https://t.me/${username}; ${groups}`,
  }
  return { type: 'good', checks: [bot, ...webhookChecks(hook.type === 'ok' ? hook.result.url : '')] }
}

function webhookChecks(url: unknown): readonly Check[] {
  if (typeof url !== 'string' || url === '') return []
  const fix = 'Stop the other program, or remove its webhook (deleteWebhook), or make another bot with BotFather.'
  return [fail('another program receives the messages of this bot by a webhook, so the gateway gets none', fix)]
}

const unreachable = ({ api }: TelegramOptions, why: string): ChatProbe => ({
  type: 'unreachable',
  checks: [fail(`${api} cannot be reached (${why})`, 'Check the network.')],
})

const fail = (detail: string, fix: string): Check => ({ name, status: 'fail', detail, fix })
