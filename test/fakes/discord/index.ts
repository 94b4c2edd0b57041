// A fake Discord on loopback: REST and gateway, strict, with everything in memory.
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createCommands } from './commands.ts'
import { openGateway } from './gateway.ts'
import { createInteractions } from './interactions.ts'
import { matcher } from './match.ts'
import { channelView, messageView, openPeople, poll } from './people.ts'
import { openRest, type Route } from './rest.ts'
import { routesOf } from './routes.ts'
import { channelEvent } from './shape.ts'
import { type ChannelState, type GuildState, messageFlags, openSnowflakes, type State } from './state.ts'
import type { Channel, DiscordOptions, FakeDiscord, Guild, Sight, Trouble, User, World } from './types.ts'
import { type World as Making, openWorld } from './world.ts'

export type * from './types.ts'

export const openDiscord = async (options: DiscordOptions = {}): Promise<FakeDiscord> => {
  const state = openState(options)
  const routes: Route[] = []
  const rest = openRest(state, () => routes)
  await new Promise<void>((resolve, reject) => {
    rest.server.once('error', reject)
    rest.server.listen(options.port ?? 0, '127.0.0.1', resolve)
  })
  const { port } = rest.server.address() as AddressInfo
  const gateway = openGateway(state, rest.server, options.heartbeatMs ?? 41_250)
  const origin = `http://127.0.0.1:${port}`
  state.origin = () => origin
  const files = options.compatible?.filesApart ? await listenApart(rest.serve) : null
  if (files) state.files = () => files.origin
  const making = openWorld(state)
  const commands = createCommands(state)
  const interactions = createInteractions(state, commands)
  routes.push(...routesOf(state, making, commands, interactions, gateway.identified))

  const world = openWorldForTests(state, making)
  const home = world.guild('Our Server')
  const ada = world.user('ada')
  world.member(home, ada)
  const general = world.channel(home, 'general')
  const { scale } = options
  if (scale !== undefined) making.crowd(scale.channels, scale.members, scale.listed ?? false)

  const sight: Sight = {
    ...sightOf(state),
    commands: guild => commands.look(guild?.id ?? null),
    requests(match) {
      const wanted = match === undefined ? () => true : matcher(match)
      return rest.requests.filter(request => wanted(request.method, request.path))
    },
    gateway: what => gateway.seen.filter(one => what === undefined || one.what === what),
    connected: gateway.connected,
    async ready(ms = 5000) {
      await poll(() => gateway.connected() > 0, ms, 'a gateway session')
    },
    until: (look, ms = 5000) => poll(look, ms, 'what was waited for'),
  }
  const trouble: Trouble = {
    ...standingTrouble(state),
    fail: (match, failure = {}) => rest.fail(match, failure),
    rateLimit: rest.limit,
    closeGateway: (code, reason = '') => gateway.closeAll(code, reason),
    dropConnection: gateway.drop,
    goSilent: gateway.silence,
    op7: gateway.reconnect,
    op9: gateway.invalidate,
    forgetSession: gateway.forget,
    forgetNonces: () => state.nonces.clear(),
    offline: rest.offline,
  }
  const close = async (): Promise<void> => {
    gateway.close()
    files?.close()
    await rest.close()
  }
  return {
    ...world,
    ...openPeople(state, interactions),
    ...sight,
    ...trouble,
    url: `${origin}/api`,
    port,
    token: state.token,
    applicationId: state.applicationId,
    bot: state.bot,
    home,
    general,
    ada,
    close,
    [Symbol.asyncDispose]: close,
  }
}

const listenApart = async (serve: RequestListener) => {
  const server = createServer(serve)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const close = () => {
    server.close()
    server.closeAllConnections()
  }
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close }
}

const openState = (options: DiscordOptions): State => {
  const now = options.now ?? Date.now
  const nextId = openSnowflakes(now)
  const id = nextId()
  const bot: User = { id, username: options.botName ?? 'aetheel', global_name: null, bot: true }
  const state: State = {
    now,
    nextId,
    origin: () => 'http://127.0.0.1',
    files: () => state.origin(),
    compatible: options.compatible ?? {},
    // As with every bot made today: application and bot user share their id.
    applicationId: id,
    bot,
    token: options.token ?? `${Buffer.from(id).toString('base64url')}.loop.back`,
    users: new Map([[id, bot]]),
    blocked: new Set(),
    guilds: new Map(),
    channels: new Map(),
    messages: new Map(),
    interactions: new Map(),
    given: new Map(),
    denied: new Set(options.denied ?? []),
    nonces: new Map(),
    nonceMs: options.nonceMs ?? 5 * 60_000,
    attachmentUrlMs: options.attachmentUrlMs ?? 86_400_000,
    editEveryMs: options.editEveryMs ?? 0,
    editTimes: new Map(),
    dispatch: () => {},
  }
  return state
}

const channelNamed = (state: State, channel: Channel | string): ChannelState => {
  const found = state.channels.get(typeof channel === 'string' ? channel : channel.id)
  if (found === undefined) throw new Error('no such channel')
  return found
}

const guildNamed = (state: State, guild: Guild): GuildState => {
  const found = state.guilds.get(guild.id)
  if (found === undefined) throw new Error('no such guild')
  return found
}

const openWorldForTests = (state: State, making: Making): World => {
  const ofGuild = (guild: Guild): ChannelState[] =>
    [...guildNamed(state, guild).channels].map(id => channelNamed(state, id))
  return {
    user: (name, options = {}) => making.user(name, options.bot ?? false),
    guild(name) {
      const { id } = making.guild(name)
      return { id, name }
    },
    role(guild, name) {
      const id = state.nextId()
      guildNamed(state, guild).roles.set(id, { id, name, managed: false })
      return { id, name }
    },
    member(guild, user, roles = []) {
      guildNamed(state, guild).members.set(user.id, { roles: roles.map(role => role.id), joined: state.now() })
    },
    botRole(guild) {
      const { botRole } = guildNamed(state, guild)
      return { id: botRole, name: state.bot.username }
    },
    channel: (guild, name) => channelView(making.textChannel(guild.id, name)),
    thread(parent, name, options = {}) {
      const from = options.from === undefined ? null : (state.messages.get(options.from.id) ?? null)
      const owner = options.owner?.id ?? [...state.users.values()].find(user => !user.bot)?.id ?? state.bot.id
      const start = { owner, joined: options.joined ?? false, secret: options.private ?? false, from }
      return channelView(making.startThread(channelNamed(state, parent), name, start))
    },
    dm: user => channelView(making.dmWith(user.id)),
    guilds: () => [...state.guilds.values()].map(({ id, name }) => ({ id, name })),
    channels: guild => ofGuild(guild).map(channelView),
    members: guild =>
      [...guildNamed(state, guild).members.keys()].map(id => state.users.get(id)).filter(user => user !== undefined),
    look: channel => channelView(channelNamed(state, channel)),
    threads: parent => [...state.channels.values()].filter(channel => channel.parent === parent.id).map(channelView),
    archive(thread, options = {}) {
      making.patchThread(channelNamed(state, thread), { archived: true, locked: options.locked ?? false })
    },
    removeChannel: channel => making.removeChannel(channelNamed(state, channel)),
    expel: thread => making.expel(channelNamed(state, thread)),
    leave: guild => making.leave(guildNamed(state, guild)),
  }
}

type Sender = 'denyIntents' | 'changeToken' | 'permissions' | 'blockDms' | 'editEvery'

const standingTrouble = (state: State): Pick<Trouble, Sender> => ({
  denyIntents(...intents) {
    state.denied.clear()
    for (const intent of intents) state.denied.add(intent)
  },
  changeToken(token) {
    state.token = token
  },
  permissions(channel, denied = []) {
    const changed = channelNamed(state, channel)
    changed.denied = new Set(denied)
    state.dispatch(channelEvent(state, 'CHANNEL_UPDATE', changed))
  },
  blockDms(user, blocked = true) {
    if (blocked) state.blocked.add(user.id)
    else state.blocked.delete(user.id)
  },
  editEvery(ms) {
    state.editEveryMs = ms
  },
})

const sightOf = (state: State): Pick<Sight, 'messages' | 'answers' | 'message' | 'typing'> => {
  const messages: Sight['messages'] = (channel, options = {}) =>
    channelNamed(state, channel)
      .messages.filter(message => options.deleted === true || !message.deleted)
      .filter(message => options.system === true || (message.type !== 18 && message.type !== 21))
      .filter(message => (message.flags & messageFlags.Loading) === 0)
      .map(message => messageView(state, message))
  return {
    messages,
    answers: channel => messages(channel).filter(message => message.author === state.bot.id),
    message(id) {
      const found = state.messages.get(id)
      return found === undefined ? null : messageView(state, found)
    },
    typing: channel => channelNamed(state, channel).typing,
  }
}
