// Creates people, guilds, channels, threads and DMs, with the events for connected bots.
import { blank, place } from './posting.ts'
import { channelEvent, expelEvent, guildCreate, joinEvent } from './shape.ts'
import {
  type ChannelState,
  type GuildState,
  intents,
  isThread,
  type Json,
  type MessageState,
  messageFlags,
  type State,
} from './state.ts'
import type { User } from './types.ts'

export interface ThreadStart {
  readonly owner: string
  readonly joined: boolean
  readonly secret: boolean
  readonly from: MessageState | null
}

export const openWorld = (state: State) => {
  const dms = new Map<string, ChannelState>()

  const addChannel = (more: Partial<ChannelState> & Pick<ChannelState, 'type' | 'name'>): ChannelState => {
    const channel: ChannelState = {
      id: state.nextId(),
      guild: null,
      parent: null,
      owner: null,
      recipient: null,
      archived: false,
      locked: false,
      joined: new Set(),
      messages: [],
      typing: [],
      denied: new Set(),
      ...more,
    }
    state.channels.set(channel.id, channel)
    if (channel.guild !== null) state.guilds.get(channel.guild)?.channels.add(channel.id)
    return channel
  }

  const user = (name: string, bot = false): User => {
    const made: User = {
      id: state.nextId(),
      username: name.toLowerCase(),
      global_name: bot ? null : name.slice(0, 1).toUpperCase() + name.slice(1),
      bot,
    }
    state.users.set(made.id, made)
    return made
  }

  const guild = (name: string): GuildState => {
    const id = state.nextId()
    const botRole = state.nextId()
    const made: GuildState = {
      id,
      name,
      roles: new Map([
        [id, { id, name: '@everyone', managed: false }],
        [botRole, { id: botRole, name: state.bot.username, managed: true }],
      ]),
      members: new Map([[state.bot.id, { roles: [botRole], joined: state.now() }]]),
      channels: new Set(),
      botRole,
      botIn: true,
      listed: false,
    }
    state.guilds.set(id, made)
    state.dispatch({ t: 'GUILD_CREATE', needs: intents.Guilds, d: () => guildCreate(state, made, false) })
    return made
  }

  return {
    user,
    guild,
    textChannel(guildId: string, name: string): ChannelState {
      const channel = addChannel({ type: 0, name, guild: guildId })
      state.dispatch(channelEvent(state, 'CHANNEL_CREATE', channel))
      return channel
    },
    dmWith(recipient: string): ChannelState {
      const known = dms.get(recipient) ?? addChannel({ type: 1, name: '', recipient })
      dms.set(recipient, known)
      return known
    },
    startThread(parent: ChannelState, name: string, start: ThreadStart): ChannelState {
      const thread = addChannel({
        ...(start.from === null ? {} : { id: start.from.id }),
        type: start.secret ? 12 : 11,
        name,
        guild: parent.guild,
        parent: parent.id,
        owner: start.owner,
        joined: new Set([start.owner, ...(start.joined ? [state.bot.id] : [])]),
      })
      if (start.from !== null) {
        start.from.thread = thread.id
        start.from.flags |= messageFlags.HasThread
      }
      state.dispatch(channelEvent(state, 'THREAD_CREATE', thread, { newly_created: true }))
      if (thread.joined.has(state.bot.id)) state.dispatch(joinEvent(state, thread))
      // Discord posts a system message: in the channel, or in the thread if it was started from a message.
      if (start.from !== null)
        place(state, blank(state, thread.id, start.owner, { type: 21, reference: start.from.id }))
      else if (!start.secret) place(state, blank(state, parent.id, start.owner, { type: 18, content: name }))
      return thread
    },
    patchThread(thread: ChannelState, to: Json): void {
      if (typeof to.archived === 'boolean') thread.archived = to.archived
      if (typeof to.locked === 'boolean') thread.locked = to.locked
      if (typeof to.name === 'string') thread.name = to.name
      state.dispatch(channelEvent(state, 'THREAD_UPDATE', thread))
    },
    removeChannel(channel: ChannelState): void {
      state.channels.delete(channel.id)
      if (channel.guild !== null) state.guilds.get(channel.guild)?.channels.delete(channel.id)
      const { id, guild: guildId, parent, type } = channel
      state.dispatch(
        isThread(channel)
          ? { t: 'THREAD_DELETE', needs: intents.Guilds, d: () => ({ id, guild_id: guildId, parent_id: parent, type }) }
          : channelEvent(state, 'CHANNEL_DELETE', channel),
      )
    },
    expel(thread: ChannelState): void {
      thread.joined.delete(state.bot.id)
      state.dispatch(expelEvent(state, thread))
    },
    leave(left: GuildState): void {
      left.botIn = false
      state.dispatch({ t: 'GUILD_DELETE', needs: intents.Guilds, d: () => ({ id: left.id }) })
    },
    /** For benchmarks of size. */
    crowd(channels: number, members: number, listed: boolean): GuildState {
      const made = guild('Big Server')
      made.listed = listed
      for (let at = 0; at < channels; at++) addChannel({ type: 0, name: `channel-${at}`, guild: made.id })
      for (let at = 0; at < members; at++) {
        made.members.set(user(`member${at}`).id, { roles: [], joined: state.now() })
      }
      return made
    },
  }
}

export type World = ReturnType<typeof openWorld>
