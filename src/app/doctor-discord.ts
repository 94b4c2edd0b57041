// Discord, as `aetheel doctor` looks at it: the token, the intent, and the link that takes the bot into a server.
import { lookAtDiscord } from '../chat/index.ts'
import type { Check } from '../ui/index.ts'
import type { Config } from './config.ts'

const portal = 'https://discord.com/developers/applications'
const patienceMs = 10_000

/** Nothing while Discord is off. */
export async function discordChecks({ discord }: Config, signal: AbortSignal): Promise<readonly Check[]> {
  const { enabled, botToken: token } = discord
  return !enabled || token === null ? [] : (await lookAtBot(discord, token, signal)).checks
}

export interface BotLook {
  readonly type: Look['type']
  readonly checks: readonly Check[]
}

/** The bot of this token, whether Discord is on or off. */
export async function lookAtBot(discord: Config['discord'], token: string, signal: AbortSignal): Promise<BotLook> {
  const { api } = discord
  const look = await lookAtDiscord({ api, token }, AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]))
  return { type: look.type, checks: checksOf(look, discord) }
}

type Look = Awaited<ReturnType<typeof lookAtDiscord>>

function checksOf(look: Look, { api, messageContent }: Config['discord']): readonly Check[] {
  const name = 'discord'
  switch (look.type) {
    case 'bad-token':
      return [
        {
          name,
          status: 'fail',
          detail: 'Discord does not accept the token of the bot',
          fix: `Open ${portal}, choose your application, then Bot, Reset Token, and set the new one as DISCORD_BOT_TOKEN.`,
        },
      ]
    case 'unreachable':
      return [{ name, status: 'fail', detail: `${api} cannot be reached (${look.why})`, fix: 'Check the network.' }]
    case 'good': {
      const { guilds, invite } = look
      const where = `in ${guilds} ${guilds === 1 ? 'server' : 'servers'}`
      const bot: Check =
        guilds === 0
          ? {
              name,
              status: 'warn',
              detail: `${look.name}, in no server yet`,
              fix: `Open ${invite} and choose your server.`,
            }
          : { name, status: 'ok', detail: `${look.name}, ${where}; to take it into another, open ${invite}` }
      if (look.mayRead || !messageContent) return [bot]
      const fix = `Open ${portal}, choose your application, then Bot, switch on Message Content Intent under Privileged Gateway Intents, and save. Or set DISCORD_MESSAGE_CONTENT=false.`
      return [bot, { name, status: 'fail', detail: 'it may not read messages: the Message Content Intent is off', fix }]
    }
    default:
      return look satisfies never
  }
}
