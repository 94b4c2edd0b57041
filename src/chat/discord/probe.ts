// Checks a bot before it is connected: is the token valid, may it read messages, and what is its invite link?
import type { ChatProbe } from '../../base/chat-module.ts'
import type { Check } from '../../base/check.ts'
import { excerpt } from '../../base/scrub.ts'
import { isDiscord } from './hosts.ts'
import type { DiscordOptions } from './options.ts'

const patienceMs = 10_000

/** Works whether Discord is enabled or not. */
export async function probeDiscord(options: DiscordOptions, signal: AbortSignal): Promise<ChatProbe> {
  const { api, botToken } = options
  const patience = AbortSignal.any([signal, AbortSignal.timeout(patienceMs)])
  const look = await lookAt({ api, token: botToken ?? '' }, patience)
  return { type: look.type, checks: checksOf(look, options) }
}

type Look =
  | {
      readonly type: 'good'
      readonly name: string
      readonly guilds: number
      /** The Message Content Intent is enabled. */
      readonly mayRead: boolean
      /** The link that adds the bot to a server with the permissions it needs. */
      readonly invite: string
    }
  | { readonly type: 'bad-token' }
  | { readonly type: 'unreachable'; readonly why: string }

const bit = (n: number): bigint => 1n << BigInt(n)

/** The permissions that the bot needs in a server, named as on Discord's pages. */
const permissions: Readonly<Record<string, bigint>> = {
  'View Channels': bit(10),
  'Send Messages': bit(11),
  'Attach Files': bit(15),
  'Read Message History': bit(16),
  'Create Public Threads': bit(35),
  'Send Messages in Threads': bit(38),
}

/** The website that belongs to an API URL, also for compatible servers. */
function siteOf(api: string): string {
  const { hostname, origin } = new URL(api)
  return isDiscord(hostname) ? 'https://discord.com' : origin
}

export const inviteLink = (app: string, api: string): string => {
  const sum = Object.values(permissions).reduce((all, one) => all | one, 0n)
  const query = new URLSearchParams({ client_id: app, scope: 'bot applications.commands', permissions: String(sum) })
  return `${siteOf(api)}/oauth2/authorize?${query}`
}

/** Enabled, or enabled for bots in few servers. */
const contentIntent = (1 << 18) | (1 << 19)

async function lookAt(
  { api, token }: { readonly api: string; readonly token: string },
  signal: AbortSignal,
): Promise<Look> {
  const ask = async (path: string): Promise<Record<string, unknown> | 'refused'> => {
    const answer = await fetch(`${api}/v10${path}`, { headers: { authorization: `Bot ${token}` }, signal })
    if (answer.status === 401) return 'refused'
    if (!answer.ok) throw new Error(`it answered ${answer.status}`)
    return (await answer.json()) as Record<string, unknown>
  }
  try {
    const [bot, app] = await Promise.all([ask('/users/@me'), ask('/applications/@me')])
    if (bot === 'refused' || app === 'refused') return { type: 'bad-token' }
    return {
      type: 'good',
      name: String(bot.username),
      guilds: Number(app.approximate_guild_count ?? 0),
      mayRead: (Number(app.flags ?? 0) & contentIntent) !== 0,
      invite: inviteLink(String(app.id), api),
    }
  } catch (error) {
    const message = error instanceof Error ? (error.cause instanceof Error ? error.cause.message : error.message) : ''
    return { type: 'unreachable', why: excerpt(message, 200) }
  }
}

function checksOf(look: Look, { api, messageContent }: DiscordOptions): readonly Check[] {
  const name = 'discord'
  const portal = `${siteOf(api)}/developers/applications`
  switch (look.type) {
    case 'bad-token':
      return [
        {
          name,
          status: 'fail',
          detail: 'Discord does not accept the bot token',
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
          : { name, status: 'ok', detail: `${look.name}, ${where}; to add it to another, open ${invite}` }
      if (look.mayRead || !messageContent) return [bot]
      const fix = `Open ${portal}, choose your application, then Bot, switch on Message Content Intent under Privileged Gateway Intents, and save. Or set DISCORD_MESSAGE_CONTENT=false.`
      return [bot, { name, status: 'fail', detail: 'it may not read messages: the Message Content Intent is off', fix }]
    }
    default:
      return look satisfies never
  }
}
