// Where the bot may read and write, by Discord's rules. Forbidden requests are refused, and too many refusals get the bot blocked.
import type { GatewayGuildCreateDispatchData } from '@discordjs/core'

interface Overwrite {
  readonly id: string
  readonly allow: string
  readonly deny: string
}

/** The part of a channel or thread that matters for permissions. */
export interface ChannelGiven {
  readonly id: string
  readonly type: number
  readonly parent_id?: string | null
  readonly permission_overwrites?: readonly Overwrite[] | undefined
}

export type GuildGiven = Pick<GatewayGuildCreateDispatchData, 'id' | 'owner_id'> & {
  readonly roles: readonly { readonly id: string; readonly permissions: string }[]
  readonly members: readonly { readonly user?: { readonly id: string }; readonly roles: readonly string[] }[]
  readonly channels: readonly ChannelGiven[]
}

const administrator = 1n << 3n
/** View Channel and Read Message History. */
const reading = (1n << 10n) | (1n << 16n)
const threadTypes: readonly number[] = [10, 11, 12]
/** Forums and media channels contain only threads. */
const withoutMessages: readonly number[] = [15, 16]

export const readableIn = (guild: GuildGiven, us: string) => allowedIn(guild, us, () => reading)

/** Where the bot may write: View Channel and Send Messages, in a thread Send Messages in Threads. */
export const writableIn = (guild: GuildGiven, us: string) =>
  allowedIn(guild, us, ({ type }) => (1n << 10n) | (threadTypes.includes(type) ? 1n << 38n : 1n << 11n))

function allowedIn(
  guild: GuildGiven,
  us: string,
  needed: (channel: ChannelGiven) => bigint,
): (channel: ChannelGiven) => boolean {
  const member = guild.members.find(({ user }) => user?.id === us)
  const roles = new Set([guild.id, ...(member?.roles ?? [])])
  const base = all(guild.roles.filter(({ id }) => roles.has(id)).map(({ permissions }) => permissions))
  const channels = new Map(guild.channels.map(one => [one.id, one]))
  // If the permissions are unknown, just try.
  const isUnknown = !member || !guild.roles.some(({ id }) => id === guild.id)
  const everywhere = isUnknown || guild.owner_id === us || (base & administrator) !== 0n
  return channel => {
    if (withoutMessages.includes(channel.type)) return false
    if (everywhere) return true
    const ruling = threadTypes.includes(channel.type) ? channels.get(channel.parent_id ?? '') : channel
    const overwrites = ruling?.permission_overwrites ?? []
    const forAll = overwrites.filter(({ id }) => id === guild.id)
    const forRoles = overwrites.filter(({ id }) => id !== guild.id && roles.has(id))
    const forUs = overwrites.filter(({ id }) => id === us)
    const may = [forAll, forRoles, forUs].reduce(
      (so, some) => (so & ~all(some.map(({ deny }) => deny))) | all(some.map(({ allow }) => allow)),
      base,
    )
    const wanted = needed(channel)
    return (may & wanted) === wanted
  }
}

/** A compatible server may leave them out. */
const all = (bits: readonly (string | undefined)[]): bigint => bits.reduce((sum, one) => sum | BigInt(one ?? 0), 0n)
