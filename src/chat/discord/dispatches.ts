// What Discord tells over its gateway, each thing to whom it concerns.
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
import type { Listening } from './listening.ts'
import type { Marks } from './marks.ts'
import type { ChannelTold, Places } from './places.ts'
import { idAt, shardOf } from './snowflake.ts'

/** Who we are there, as Discord last told. */
export interface Self {
  readonly id: string
  readonly name: string
  readonly app: string
  /** Of all connections. */
  readonly guilds: readonly string[]
  /** How many connections there are; missing: one. */
  readonly shards?: number
}

export interface DispatchParts {
  readonly clock: Clock
  readonly marks: Marks
  readonly places: Places
  readonly listening: Listening
  self(): Self | null
  keepSelf(self: Self): void
  ready(resumed: boolean, shard: number): void
  interaction(interaction: APIInteraction): Promise<void>
  /** As long as we are there. */
  life(): AbortSignal
}

/** Each resolves when it is dealt with; false: it is to be told again after the next start. */
export function openDispatches(parts: DispatchParts): (event: Dispatch) => Promise<boolean> {
  const { clock, marks, places, listening } = parts
  /** The latest message we knew of when this session began. */
  let horizon: string | null = null
  /** Guilds that have yet to be caught up with. */
  const away = new Set<string>()
  /** Connections that have been up. */
  const met = new Set<number>()

  return async ({ t, d, shard }) => {
    switch (t) {
      case 'READY':
        return onReady(d as GatewayReadyDispatchData, shard)
      case 'RESUMED':
        met.add(shard)
        parts.ready(true, shard)
        return caughtUp(true, null)
      case 'GUILD_CREATE':
        return onGuild(d as GatewayGuildCreateDispatchData)
      case 'MESSAGE_CREATE':
        return listening.message(d as GatewayMessageCreateDispatchData)
      case 'MESSAGE_UPDATE':
        return listening.edited(d as GatewayMessageCreateDispatchData)
      case 'MESSAGE_DELETE':
        return listening.deleted(d as GatewayMessageDeleteDispatchData)
      case 'MESSAGE_DELETE_BULK':
        return listening.deleted(d as GatewayMessageDeleteBulkDispatchData)
      case 'INTERACTION_CREATE':
        await parts.interaction(d as APIInteraction)
        return true
      case 'THREAD_CREATE': {
        const thread = d as GatewayThreadCreateDispatchData
        places.learnChannel(thread as ChannelTold, thread.guild_id ?? null)
        return 'member' in thread && thread.member ? listening.joined(thread.id) : true
      }
      case 'THREAD_MEMBERS_UPDATE': {
        const { id, added_members: added = [], removed_member_ids: removed = [] } = d as ThreadMembers
        const us = parts.self()?.id ?? ''
        if (removed.includes(us)) return listening.left(id)
        return added.some(one => one.user_id === us) ? listening.joined(id) : true
      }
      default:
        onPlace(t, d)
        return true
    }
  }

  async function onReady(told: GatewayReadyDispatchData, shard: number): Promise<boolean> {
    const { user, application } = told
    const guilds = told.guilds.map(({ id }) => id)
    const shards = told.shard?.[1] ?? 1
    const elsewhere = (guild: string) => shardOf(guild, shards) !== shard
    const others = parts.self()?.guilds.filter(elsewhere) ?? []
    parts.keepSelf({ id: user.id, name: user.username, app: application.id, guilds: [...others, ...guilds], shards })
    met.add(shard)
    parts.ready(false, shard)
    marks.hold()
    horizon = marks.horizon()
    // Nothing from before our time is answered.
    if (horizon === null) marks.beginAt(idAt(clock.now()))
    for (const guild of away) if (!elsewhere(guild)) away.delete(guild)
    for (const guild of guilds) away.add(guild)
    // Direct messages come by the first connection.
    return caughtUp(shard !== 0 || (await listening.catchUp(null, horizon, parts.life())), null)
  }

  async function onGuild(guild: GatewayGuildCreateDispatchData): Promise<boolean> {
    if (guild.unavailable) return true
    places.learnGuild(guild)
    for (const { id, member } of guild.threads) if (member) marks.takePart(id)
    const self = parts.self()
    if (self && !self.guilds.includes(guild.id)) parts.keepSelf({ ...self, guilds: [...self.guilds, guild.id] })
    return caughtUp(await listening.catchUp(guild, horizon, parts.life()), guild.id)
  }

  /** Once all that was missed is dealt with, the next start begins from where we are by then. */
  function caughtUp(done: boolean, guild: string | null): boolean {
    if (done && guild !== null) away.delete(guild)
    if (done && away.size === 0 && met.size === (parts.self()?.shards ?? 1)) marks.release()
    return done
  }

  function onPlace(t: string, d: unknown): void {
    switch (t) {
      case 'CHANNEL_CREATE':
      case 'CHANNEL_UPDATE':
      case 'THREAD_UPDATE': {
        const channel = d as GatewayChannelCreateDispatchData
        return places.learnChannel(channel as ChannelTold, channel.guild_id ?? null)
      }
      case 'CHANNEL_DELETE':
      case 'THREAD_DELETE':
        return places.forgetChannel((d as ChannelTold).id)
      case 'GUILD_DELETE':
        return onGuildGone(d as GatewayGuildDeleteDispatchData)
    }
  }

  function onGuildGone({ id, unavailable }: GatewayGuildDeleteDispatchData): void {
    // An outage; it comes back.
    if (unavailable) return
    places.forgetGuild(id)
    const self = parts.self()
    if (self) parts.keepSelf({ ...self, guilds: self.guilds.filter(one => one !== id) })
  }
}

/** How many guilds a connection tells of, and which of several it is; null: it is the only one. */
export function shareOf({ guilds, shards = 1 }: Self, shard: number): { guilds: number; shard: string | null } {
  if (shards === 1) return { guilds: guilds.length, shard: null }
  const own = guilds.filter(guild => shardOf(guild, shards) === shard)
  return { guilds: own.length, shard: `${shard + 1} of ${shards}` }
}

export function recallSelf(memory: ChatMemory): Self | null {
  const text = memory.get('self')
  return text === null ? null : (JSON.parse(text) as Self)
}
