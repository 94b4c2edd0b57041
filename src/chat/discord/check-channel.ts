// Whether the bot can write to a channel, asked without connecting and without sending anything.
import type { PlaceCheck } from '../../base/chat-module.ts'
import { errorText } from '../../base/unknown.ts'
import { isId } from './message.ts'
import type { DiscordOptions } from './options.ts'
import { type ChannelGiven, type GuildGiven, writableIn } from './permissions.ts'

type Channel = ChannelGiven & { readonly guild_id?: string }
type Answer<T> = { readonly status: number; readonly body: T }

const gone = 'this channel does not exist, or I am not in its server'
const unseen = 'I cannot see that channel: give me the permission View Channel there'
const silent = 'I may not write there: give me the permission Send Messages (in threads Send Messages in Threads)'

/** Channels that contain no messages of their own: categories, forums and media channels. */
const withoutMessages: readonly number[] = [4, 15, 16]

export async function checkChannel(
  { api, botToken }: DiscordOptions,
  channel: string,
  signal: AbortSignal,
): Promise<PlaceCheck> {
  if (!isId(channel)) return { type: 'refused', why: 'a Discord channel is a number of 17 to 20 digits' }
  const headers = { authorization: `Bot ${botToken ?? ''}` }
  const ask = async <T>(path: string): Promise<Answer<T>> => {
    const answer = await fetch(`${api}/v10${path}`, { headers, signal })
    return { status: answer.status, body: (answer.ok ? await answer.json() : {}) as T }
  }
  try {
    const { status, body } = await ask<Channel>(`/channels/${channel}`)
    if (status === 404) return { type: 'refused', why: gone }
    if (status === 403) return { type: 'refused', why: unseen }
    if (status !== 200) return { type: 'unknown', why: `Discord answered ${status}` }
    if (withoutMessages.includes(body.type)) return { type: 'refused', why: 'there are no messages in such a channel' }
    if (body.guild_id === undefined) return { type: 'writable' }
    return (await mayWrite(ask, body, body.guild_id)) ? { type: 'writable' } : { type: 'refused', why: silent }
  } catch (error) {
    return { type: 'unknown', why: `Discord cannot be reached (${errorText(error)})` }
  }
}

/** True also if a compatible server does not tell the permissions. */
async function mayWrite(
  ask: <T>(path: string) => Promise<Answer<T>>,
  channel: Channel,
  guildId: string,
): Promise<boolean> {
  const me = await ask<{ readonly id: string }>('/users/@me')
  const parent = channel.parent_id ? [ask<Channel>(`/channels/${channel.parent_id}`)] : []
  const [guild, member, ...parents] = await Promise.all([
    ask<Omit<GuildGiven, 'members' | 'channels'>>(`/guilds/${guildId}`),
    ask<GuildGiven['members'][number]>(`/guilds/${guildId}/members/${me.body.id}`),
    ...parent,
  ])
  if (guild.status !== 200 || member.status !== 200 || !guild.body.roles) return true
  const channels = [channel, ...parents.filter(({ status }) => status === 200).map(({ body }) => body)]
  const whole = { ...guild.body, members: [{ ...member.body, user: { id: me.body.id } }], channels }
  return writableIn(whole, me.body.id)(channel)
}
