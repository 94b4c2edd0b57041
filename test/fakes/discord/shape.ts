// The state as Discord's JSON, for REST and the gateway.
import { createHmac } from 'node:crypto'
import {
  type AttachmentState,
  type ChannelState,
  type Dispatch,
  type GuildState,
  intents,
  isThread,
  type Json,
  type MessageState,
  permissionBits,
  type State,
  sees,
} from './state.ts'
import type { Permission, User } from './types.ts'

const iso = (at: number): string => new Date(at).toISOString().replace('Z', '000+00:00')

const sum = (permissions: Iterable<Permission>): bigint => {
  let bits = 0n
  for (const permission of permissions) bits |= permissionBits[permission]
  return bits
}

export const allPermissions = sum(Object.keys(permissionBits) as Permission[])

export const userShape = (user: User): Json => ({
  id: user.id,
  username: user.username,
  global_name: user.global_name,
  discriminator: user.bot ? '0001' : '0',
  avatar: null,
  public_flags: 0,
  ...(user.bot ? { bot: true } : {}),
})

/** As a compatible server sends it. */
const told = ({ compatible: { without = [] } }: State, shape: Json): Json =>
  without.length === 0 ? shape : Object.fromEntries(Object.entries(shape).filter(([name]) => !without.includes(name)))

export const memberShape = (state: State, guild: GuildState, id: string): Json => {
  const member = guild.members.get(id)
  return told(state, {
    roles: member?.roles ?? [],
    nick: null,
    avatar: null,
    joined_at: iso(member?.joined ?? 0),
    premium_since: null,
    deaf: false,
    mute: false,
    flags: 0,
    pending: false,
  })
}

const threadMember = (channel: ChannelState, id: string, at: number): Json => ({
  id: channel.id,
  user_id: id,
  join_timestamp: iso(at),
  flags: 0,
})

export const channelShape = (state: State, channel: ChannelState): Json => {
  const last = channel.messages.findLast(message => !message.deleted)?.id ?? null
  if (channel.guild === null) {
    const recipient = state.users.get(channel.recipient ?? '')
    return { id: channel.id, type: 1, last_message_id: last, recipients: recipient ? [userShape(recipient)] : [] }
  }
  const common = { id: channel.id, type: channel.type, guild_id: channel.guild, name: channel.name, flags: 0 }
  if (isThread(channel)) {
    return {
      ...common,
      parent_id: channel.parent,
      owner_id: channel.owner,
      last_message_id: last,
      rate_limit_per_user: 0,
      message_count: channel.messages.length,
      member_count: channel.joined.size,
      total_message_sent: channel.messages.length,
      thread_metadata: {
        archived: channel.archived,
        locked: channel.locked,
        auto_archive_duration: 1440,
        archive_timestamp: iso(state.now()),
        create_timestamp: iso(state.now()),
      },
      ...(channel.joined.has(state.bot.id) ? { member: threadMember(channel, state.bot.id, state.now()) } : {}),
    }
  }
  return {
    ...common,
    parent_id: null,
    topic: null,
    position: 0,
    nsfw: false,
    last_message_id: last,
    rate_limit_per_user: 0,
    permission_overwrites:
      channel.denied.size === 0
        ? []
        : [{ id: state.bot.id, type: 1, allow: '0', deny: sum(channel.denied).toString() }],
  }
}

const wholeGuild = (state: State, guild: GuildState): Json => ({
  id: guild.id,
  name: guild.name,
  icon: null,
  owner_id: [...guild.members.keys()].find(id => id !== state.bot.id) ?? state.bot.id,
  roles: [...guild.roles.values()].map((role, position) => ({
    ...role,
    color: 0,
    hoist: false,
    position,
    permissions: role.id === guild.botRole || role.id === guild.id ? allPermissions.toString() : '0',
    mentionable: true,
    flags: 0,
    ...(role.id === guild.botRole ? { tags: { bot_id: state.bot.id } } : {}),
  })),
  emojis: [],
  stickers: [],
  features: [],
  preferred_locale: 'en-US',
  premium_tier: 0,
  verification_level: 0,
})

export const guildShape = (state: State, guild: GuildState): Json => told(state, wholeGuild(state, guild))

export const threadsOf = (state: State, guild: GuildState): ChannelState[] =>
  [...guild.channels]
    .map(id => state.channels.get(id))
    .filter(channel => channel !== undefined)
    .filter(channel => isThread(channel) && !channel.archived && sees(state, channel))

/** Without the presences intent Discord lists nobody but the bot. */
export const guildCreate = (state: State, guild: GuildState, everybody: boolean): Json => {
  const listed = everybody ? [...guild.members.keys()] : [state.bot.id]
  return told(state, {
    ...wholeGuild(state, guild),
    joined_at: iso(guild.members.get(state.bot.id)?.joined ?? 0),
    large: guild.members.size > 50,
    unavailable: false,
    member_count: guild.members.size,
    members: listed.flatMap(id => {
      const user = state.users.get(id)
      return user === undefined ? [] : [{ ...memberShape(state, guild, id), user: userShape(user) }]
    }),
    channels: [...guild.channels]
      .map(id => state.channels.get(id))
      .filter(channel => channel !== undefined)
      .filter(channel => !isThread(channel))
      .map(channel => channelShape(state, channel)),
    threads: threadsOf(state, guild).map(thread => channelShape(state, thread)),
    voice_states: [],
    presences: [],
    stage_instances: [],
    guild_scheduled_events: [],
    soundboard_sounds: [],
  })
}

const sign = (path: string, expires: string): string =>
  createHmac('sha256', 'loopback').update(`${path}?${expires}`).digest('hex')

export const attachmentUrl = (state: State, channel: string, attachment: AttachmentState): string => {
  const path = `/attachments/${channel}/${attachment.id}/${encodeURIComponent(attachment.name)}`
  const at = state.now()
  const ex = Math.floor((at + state.attachmentUrlMs) / 1000).toString(16)
  return `${state.files()}${path}?ex=${ex}&is=${Math.floor(at / 1000).toString(16)}&hm=${sign(path, ex)}&`
}

export const signedWell = (state: State, url: URL): boolean => {
  const ex = url.searchParams.get('ex') ?? ''
  return sign(url.pathname, ex) === url.searchParams.get('hm') && Number.parseInt(ex, 16) * 1000 > state.now()
}

export const attachmentShape = (state: State, channel: string, attachment: AttachmentState): Json => ({
  id: attachment.id,
  filename: attachment.name,
  size: attachment.bytes.length,
  url: attachmentUrl(state, channel, attachment),
  proxy_url: attachmentUrl(state, channel, attachment),
  ...(attachment.type === null ? {} : { content_type: attachment.type }),
  ...(attachment.description === null ? {} : { description: attachment.description }),
})

/** Without the message content intent: only DMs, messages that mention the bot, and its own. */
const readable = (state: State, message: MessageState): boolean =>
  message.author === state.bot.id ||
  state.channels.get(message.channel)?.guild === null ||
  message.pinged.users.includes(state.bot.id)

const authorShape = (state: State, message: MessageState): Json => {
  const user = state.users.get(message.author)
  if (user === undefined) return { id: message.author, username: 'deleted', discriminator: '0', avatar: null }
  if (message.webhook === null || message.author === state.bot.id) return userShape(user)
  return { ...userShape(user), id: message.webhook, discriminator: '0000', global_name: null, bot: true }
}

export const messageShape = (state: State, message: MessageState, content: boolean, nested = false): Json => {
  const open = content || readable(state, message)
  const referenced = message.reference === null ? undefined : state.messages.get(message.reference)
  const thread = message.thread === null ? undefined : state.channels.get(message.thread)
  const interaction = message.interaction === null ? undefined : state.interactions.get(message.interaction)
  return told(state, {
    id: message.id,
    type: message.type,
    channel_id: message.channel,
    author: authorShape(state, message),
    content: open ? message.content : '',
    timestamp: iso(message.at),
    edited_timestamp: message.editedAt === null ? null : iso(message.editedAt),
    tts: false,
    pinned: false,
    flags: message.flags,
    mention_everyone: message.pinged.everyone,
    mentions: message.pinged.users.flatMap(id => {
      const user = state.users.get(id)
      return user === undefined ? [] : [userShape(user)]
    }),
    mention_roles: message.pinged.roles,
    attachments: open ? message.attachments.map(file => attachmentShape(state, message.channel, file)) : [],
    embeds: open ? message.embeds : [],
    components: open ? message.components : [],
    ...(message.webhook === null ? {} : { webhook_id: message.webhook }),
    ...(message.reference === null
      ? {}
      : {
          message_reference: {
            type: 0,
            message_id: message.reference,
            channel_id: referenced?.channel ?? message.channel,
            ...guildOf(state, message.channel),
          },
        }),
    ...(message.reference !== null && !nested
      ? {
          referenced_message:
            referenced === undefined || referenced.deleted ? null : messageShape(state, referenced, content, true),
        }
      : {}),
    ...(thread === undefined ? {} : { thread: channelShape(state, thread) }),
    ...(interaction === undefined
      ? {}
      : {
          application_id: state.applicationId,
          interaction_metadata: {
            id: interaction.id,
            type: interaction.type,
            user: userShape(state.users.get(interaction.user) ?? state.bot),
            authorizing_integration_owners: {},
          },
        }),
  })
}

const guildOf = (state: State, channel: string): Json => {
  const guild = state.channels.get(channel)?.guild ?? null
  return guild === null ? {} : { guild_id: guild }
}

/** Sent only when the message is created; fetched messages do not have it. */
export const nonceShape = ({ nonce }: MessageState): Json => (nonce === null ? {} : { nonce })

const messageIntent = (state: State, channel: string): number =>
  state.channels.get(channel)?.guild === null ? intents.DirectMessages : intents.GuildMessages

export const messageEvent = (state: State, t: 'MESSAGE_CREATE' | 'MESSAGE_UPDATE', message: MessageState): Dispatch => {
  const channel = state.channels.get(message.channel)
  const guild = channel?.guild == null ? undefined : state.guilds.get(channel.guild)
  const byMember = guild !== undefined && (message.webhook === null || message.author === state.bot.id)
  return {
    t,
    needs: messageIntent(state, message.channel),
    channel,
    d: content => ({
      ...messageShape(state, message, content),
      ...(t === 'MESSAGE_CREATE' ? nonceShape(message) : {}),
      ...guildOf(state, message.channel),
      ...(byMember ? { member: memberShape(state, guild, message.author) } : {}),
    }),
  }
}

export const deleteEvent = (state: State, message: MessageState): Dispatch => ({
  t: 'MESSAGE_DELETE',
  needs: messageIntent(state, message.channel),
  channel: state.channels.get(message.channel),
  d: () => ({ id: message.id, channel_id: message.channel, ...guildOf(state, message.channel) }),
})

export const channelEvent = (state: State, t: string, channel: ChannelState, more: Json = {}): Dispatch => ({
  t,
  needs: intents.Guilds,
  channel,
  d: () => ({ ...channelShape(state, channel), ...more }),
})

export const expelEvent = (state: State, thread: ChannelState): Dispatch => ({
  t: 'THREAD_MEMBERS_UPDATE',
  needs: intents.Guilds,
  d: () => ({
    id: thread.id,
    guild_id: thread.guild,
    member_count: thread.joined.size,
    removed_member_ids: [state.bot.id],
  }),
})

export const joinEvent = (state: State, thread: ChannelState): Dispatch => ({
  t: 'THREAD_MEMBERS_UPDATE',
  needs: intents.Guilds,
  d: () => ({
    id: thread.id,
    guild_id: thread.guild,
    member_count: thread.joined.size,
    added_members: [threadMember(thread, state.bot.id, state.now())],
  }),
})
