// A look at a bot from outside, before it is connected: is the token good, may it read, and how is it invited?
import { excerpt } from '../../base/scrub.ts'

export type Look =
  | {
      readonly type: 'good'
      readonly name: string
      readonly guilds: number
      /** The Message Content Intent is on. */
      readonly mayRead: boolean
      /** Opens Discord's page on which the bot is taken into a server, with the permissions it needs. */
      readonly invite: string
    }
  | { readonly type: 'bad-token' }
  | { readonly type: 'unreachable'; readonly why: string }

const bit = (n: number): bigint => 1n << BigInt(n)

/** What the bot must be allowed to do in a server, by the words of Discord's own pages. */
const permissions: Readonly<Record<string, bigint>> = {
  'View Channels': bit(10),
  'Send Messages': bit(11),
  'Attach Files': bit(15),
  'Read Message History': bit(16),
  'Create Public Threads': bit(35),
  'Send Messages in Threads': bit(38),
}

export const inviteLink = (app: string): string => {
  const sum = Object.values(permissions).reduce((all, one) => all | one, 0n)
  const query = new URLSearchParams({ client_id: app, scope: 'bot applications.commands', permissions: String(sum) })
  return `https://discord.com/oauth2/authorize?${query}`
}

/** On, or on for bots in few servers. */
const contentIntent = (1 << 18) | (1 << 19)

export async function lookAtDiscord(
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
      invite: inviteLink(String(app.id)),
    }
  } catch (error) {
    const said = error instanceof Error ? (error.cause instanceof Error ? error.cause.message : error.message) : ''
    return { type: 'unreachable', why: excerpt(said, 200) }
  }
}
