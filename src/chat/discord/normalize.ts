// Fills in fields that Discord always sends but a compatible server may leave out.
import type { APIMessage, GatewayGuildCreateDispatchData, GatewayReadyDispatchData } from '@discordjs/core'
import type { Member } from './addressed.ts'

type Lists<Data, Name extends keyof Data> = Omit<Data, Name> & Partial<Pick<Data, Name>>

type Guild = GatewayGuildCreateDispatchData

export const wholeGuild = (
  data: Lists<Guild, 'roles' | 'members' | 'channels' | 'threads'>,
): GatewayGuildCreateDispatchData => {
  const { roles = [], members = [], channels = [], threads = [] } = data
  return { ...data, roles, members, channels, threads } as Guild
}

/** The needed part of a member. */
export const wholeMember = ({ nick, roles }: Partial<Member>): Member => ({ nick: nick ?? null, roles: roles ?? [] })

type MessageLists = Pick<APIMessage, 'mentions' | 'mention_roles' | 'attachments'>

export const wholeMessage = <Data extends object>(
  data: Data & Partial<MessageLists> & { readonly member?: object },
) => {
  const { mentions = [], mention_roles = [], attachments = [] } = data
  const member = data.member ? { member: wholeMember(data.member) } : {}
  return { ...data, mentions, mention_roles, attachments, ...member }
}

export const wholeReady = (data: Lists<GatewayReadyDispatchData, 'guilds' | 'application'>) => {
  // For all current bots, application and user have the same id.
  const { guilds = [], application = { id: data.user.id } } = data
  return { ...data, guilds, application }
}
