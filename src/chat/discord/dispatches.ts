// Routes the events of Discord's gateway to the parts that handle them.
import type {
  APIInteraction,
  GatewayChannelCreateDispatchData,
  GatewayGuildCreateDispatchData,
  GatewayGuildDeleteDispatchData,
  GatewayMessageCreateDispatchData,
  GatewayMessageDeleteBulkDispatchData,
  GatewayMessageDeleteDispatchData,
  GatewayReadyDispatchData,
  GatewayThreadCreateDispatchData,
  GatewayThreadMembersUpdateDispatchData as ThreadMembers,
} from '@discordjs/core'
import type { ChatMemory } from '../../base/chat.ts'
import type { Clock } from '../../base/time.ts'
import type { Dispatch } from './connection.ts'
import type { Inbound } from './inbound.ts'
import { idAt, shardOf, wholeGuild, wholeMessage, wholeReady } from './message.ts'
import type { ChannelData, Cursors, Places } from './places.ts'

/** The bot's own identity, as Discord last reported it. */
export interface Self {
  readonly id: string
  readonly name: string
  readonly app: string
  /** The guilds of all connections. */
  readonly guilds: readonly string[]
  /** The number of connections; missing: one. */
  readonly shards?: number
}

export interface DispatchParts {
  readonly clock: Clock
  readonly cursors: Cursors
  readonly places: Places
  readonly inbound: Inbound
  self(): Self | null
  saveSelf(self: Self): void
  ready(resumed: boolean, shard: number): void
  /** One of our messages exists, whether or not Discord has confirmed it. */
  posted(channel: string, nonce: string, message: string): void
  interaction(interaction: APIInteraction, missed: boolean): Promise<void>
  /** Aborted at shutdown. */
  life(): AbortSignal
}

/** Each resolves when it is handled. False: Discord must send it again after the next start. */
export function createDispatches(parts: DispatchParts): (event: Dispatch) => Promise<boolean> {
  const { clock, cursors, places, inbound } = parts
  /** The latest message we knew when this session started. */
  let horizon: string | null = null
  /** Guilds that are not caught up yet. */
  const away = new Set<string>()
  /** Direct messages are not caught up yet. */
  let directsAway = false
  /** Connections that have been up at least once. */
  const met = new Set<number>()

  return async ({ t, d, shard, missed }) => {
    switch (t) {
      case 'READY':
        return onReady(wholeReady(d as GatewayReadyDispatchData), shard)
      case 'RESUMED':
        met.add(shard)
        parts.ready(true, shard)
        return caughtUp(true, null)
      case 'GUILD_CREATE':
        return onGuild(wholeGuild(d as GatewayGuildCreateDispatchData))
      case 'MESSAGE_CREATE': {
        const message = wholeMessage(d as GatewayMessageCreateDispatchData)
        const { id, nonce, channel_id: channel, author } = message
        if (nonce !== undefined && author.id === parts.self()?.id) parts.posted(channel, String(nonce), id)
        return inbound.message(message, missed)
      }
      case 'MESSAGE_UPDATE':
        return inbound.edited(wholeMessage(d as GatewayMessageCreateDispatchData))
      case 'MESSAGE_DELETE':
        return inbound.deleted(d as GatewayMessageDeleteDispatchData)
      case 'MESSAGE_DELETE_BULK':
        return inbound.deleted(d as GatewayMessageDeleteBulkDispatchData)
      case 'INTERACTION_CREATE':
        await parts.interaction(d as APIInteraction, missed)
        return true
      case 'THREAD_CREATE': {
        const thread = d as GatewayThreadCreateDispatchData
        places.learnChannel(thread as ChannelData, thread.guild_id ?? null)
        return 'member' in thread && thread.member ? inbound.joined(thread.id) : true
      }
      case 'THREAD_MEMBERS_UPDATE': {
        const { id, added_members: added = [], removed_member_ids: removed = [] } = d as ThreadMembers
        const us = parts.self()?.id ?? ''
        if (removed.includes(us)) return inbound.left(id)
        return added.some(one => one.user_id === us) ? inbound.joined(id) : true
      }
      default:
        onPlace(t, d)
        return true
    }
  }

  async function onReady(data: ReturnType<typeof wholeReady>, shard: number): Promise<boolean> {
    const { user, application } = data
    const guilds = data.guilds.map(({ id }) => id)
    const shards = data.shard?.[1] ?? 1
    const elsewhere = (guild: string) => shardOf(guild, shards) !== shard
    const others = parts.self()?.guilds.filter(elsewhere) ?? []
    parts.saveSelf({ id: user.id, name: user.username, app: application.id, guilds: [...others, ...guilds], shards })
    met.add(shard)
    parts.ready(false, shard)
    cursors.hold()
    horizon = cursors.horizon()
    // On the first start, earlier messages are not answered.
    if (horizon === null) cursors.beginAt(idAt(clock.now()))
    for (const guild of away) if (!elsewhere(guild)) away.delete(guild)
    for (const guild of guilds) away.add(guild)
    // Direct messages come over the first connection.
    if (shard !== 0) return caughtUp(true, null)
    directsAway = true
    const done = await inbound.catchUp(null, horizon, parts.life())
    if (done) directsAway = false
    return caughtUp(done, null)
  }

  async function onGuild(guild: GatewayGuildCreateDispatchData): Promise<boolean> {
    if (guild.unavailable) return true
    places.learnGuild(guild)
    for (const { id, member } of guild.threads) if (member) cursors.takePart(id)
    const self = parts.self()
    if (self && !self.guilds.includes(guild.id)) parts.saveSelf({ ...self, guilds: [...self.guilds, guild.id] })
    return caughtUp(await inbound.catchUp(guild, horizon, parts.life()), guild.id)
  }

  /** Once everything missed is handled, the horizon may move on for the next start. */
  function caughtUp(done: boolean, guild: string | null): boolean {
    if (done && guild !== null) away.delete(guild)
    if (done && away.size === 0 && !directsAway && met.size === (parts.self()?.shards ?? 1)) cursors.release()
    return done
  }

  function onPlace(t: string, d: unknown): void {
    switch (t) {
      case 'CHANNEL_CREATE':
      case 'CHANNEL_UPDATE':
      case 'THREAD_UPDATE': {
        const channel = d as GatewayChannelCreateDispatchData
        return places.learnChannel(channel as ChannelData, channel.guild_id ?? null)
      }
      case 'CHANNEL_DELETE':
      case 'THREAD_DELETE':
        return places.forgetChannel((d as ChannelData).id)
      case 'GUILD_DELETE':
        return onGuildGone(d as GatewayGuildDeleteDispatchData)
    }
  }

  function onGuildGone({ id, unavailable }: GatewayGuildDeleteDispatchData): void {
    // An outage; the guild comes back.
    if (unavailable) return
    places.forgetGuild(id)
    const self = parts.self()
    if (self) parts.saveSelf({ ...self, guilds: self.guilds.filter(one => one !== id) })
  }
}

/** How many guilds a connection has, and which of several it is; null: it is the only one. */
export function shareOf({ guilds, shards = 1 }: Self, shard: number): { guilds: number; shard: string | null } {
  if (shards === 1) return { guilds: guilds.length, shard: null }
  const own = guilds.filter(guild => shardOf(guild, shards) === shard)
  return { guilds: own.length, shard: `${shard + 1} of ${shards}` }
}

export function recallSelf(memory: ChatMemory): Self | null {
  const text = memory.get('self')
  return text === null ? null : (JSON.parse(text) as Self)
}
