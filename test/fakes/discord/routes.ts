// The routes of Discord's REST API that the fake supports.
import { asJson } from './body.ts'
import type { Commands } from './commands.ts'
import type { Interactions } from './interactions.ts'
import { editInChannel, erase, joinBot, send } from './posting.ts'
import { openForm, refusal } from './refusal.ts'
import type { Call, Route } from './rest.ts'
import { channelShape, guildShape, memberShape, messageShape, nonceShape, threadsOf, userShape } from './shape.ts'
import {
  type ChannelState,
  channelOf,
  type GuildState,
  isThread,
  type Json,
  type MessageState,
  may,
  messageFlags,
  messageOf,
  need,
  type State,
} from './state.ts'
import type { World } from './world.ts'

const param = (call: Call, name: string): string => call.params[name] ?? ''
const ok = (body: unknown) => ({ status: 200, body })
const done = { status: 204 }

export const routesOf = (
  state: State,
  world: World,
  commands: Commands,
  interactions: Interactions,
  identifies: () => number,
): readonly Route[] => [
  ...aboutTheBot(state, identifies),
  ...aboutGuilds(state),
  ...aboutChannels(state, world),
  ...aboutMessages(state),
  ...aboutCommands(state, commands),
  ...aboutInteractions(state, interactions),
]

const aboutTheBot = (state: State, identifies: () => number): Route[] => {
  const gateway = (): string => state.origin().replace('http', 'ws')
  const application = (): Json => {
    const on = (name: 'MessageContent' | 'GuildMembers' | 'GuildPresences', bit: number) =>
      state.denied.has(name) ? 0 : 1 << bit
    return {
      id: state.applicationId,
      name: state.bot.username,
      icon: null,
      description: '',
      bot_public: true,
      bot_require_code_grant: false,
      flags: on('MessageContent', 19) | on('GuildMembers', 15) | on('GuildPresences', 13),
      bot: userShape(state.bot),
      approximate_guild_count: [...state.guilds.values()].filter(guild => guild.botIn).length,
    }
  }
  const me = () => ok({ ...userShape(state.bot), verified: true, mfa_enabled: false, flags: 0 })
  return [
    { method: 'GET', path: '/gateway', open: true, run: () => ok({ url: gateway() }) },
    {
      method: 'GET',
      path: '/gateway/bot',
      run: () =>
        ok({
          url: gateway(),
          shards: 1,
          session_start_limit: {
            total: 1000,
            remaining: Math.max(0, 1000 - identifies()),
            reset_after: 86_400_000,
            max_concurrency: 1,
          },
        }),
    },
    { method: 'GET', path: '/users/@me', run: me },
    { method: 'GET', path: '/applications/@me', run: () => ok(application()) },
    { method: 'GET', path: '/oauth2/applications/@me', run: () => ok(application()) },
    {
      method: 'GET',
      path: '/users/@me/guilds',
      run: () =>
        ok([...state.guilds.values()].filter(guild => guild.botIn).map(guild => ({ id: guild.id, name: guild.name }))),
    },
    {
      method: 'GET',
      path: '/users/:user',
      run: call => {
        const user = state.users.get(param(call, 'user'))
        if (user === undefined) throw refusal(10013)
        return ok(userShape(user))
      },
    },
  ]
}

const aboutGuilds = (state: State): Route[] => {
  const guildOf = (call: Call): GuildState => {
    const guild = state.guilds.get(param(call, 'guild'))
    if (guild === undefined) throw refusal(10004)
    if (!guild.botIn) throw refusal(50001)
    return guild
  }
  return [
    { method: 'GET', path: '/guilds/:guild', run: call => ok(guildShape(state, guildOf(call))) },
    {
      method: 'GET',
      path: '/guilds/:guild/channels',
      run: call =>
        ok(
          [...guildOf(call).channels]
            .map(id => state.channels.get(id))
            .filter(channel => channel !== undefined)
            .filter(channel => !isThread(channel))
            .map(channel => channelShape(state, channel)),
        ),
    },
    {
      method: 'GET',
      path: '/guilds/:guild/threads/active',
      run: call => {
        const threads = threadsOf(state, guildOf(call)).map(thread => channelShape(state, thread))
        return ok({ threads, members: threads.flatMap(thread => thread.member ?? []) })
      },
    },
    {
      method: 'GET',
      path: '/guilds/:guild/members/:user',
      run: call => {
        const guild = guildOf(call)
        const user = state.users.get(param(call, 'user') === '@me' ? state.bot.id : param(call, 'user'))
        if (user === undefined || !guild.members.has(user.id)) throw refusal(10007)
        return ok({ ...memberShape(state, guild, user.id), user: userShape(user) })
      },
    },
  ]
}

const aboutChannels = (state: State, world: World): Route[] => {
  const newThread = (call: Call, from: MessageState | null) => {
    const parent = channelOf(state, param(call, 'channel'))
    const body = asJson(call.body)
    if (parent.type !== 0) throw refusal(50024)
    // A thread without a message is private by default.
    const secret = from === null && (body.type ?? 12) === 12
    need(state, parent, secret ? 'CreatePrivateThreads' : 'CreatePublicThreads')
    const form = openForm()
    form.length('name', body.name, 1, 100)
    const archive = body.auto_archive_duration
    if (archive !== undefined && ![60, 1440, 4320, 10080].includes(Number(archive))) {
      form.add('auto_archive_duration', 'BASE_TYPE_CHOICES', 'Value must be one of (60, 1440, 4320, 10080).')
    }
    form.done()
    if (from !== null && from.thread !== null) throw refusal(160004)
    const thread = world.startThread(parent, String(body.name), {
      owner: state.bot.id,
      joined: true,
      secret,
      from,
    })
    return { status: 201, body: channelShape(state, thread) }
  }
  return [
    {
      method: 'GET',
      path: '/channels/:channel',
      run: call => ok(channelShape(state, channelOf(state, param(call, 'channel')))),
    },
    {
      method: 'PATCH',
      path: '/channels/:channel',
      run: call => {
        const channel = channelOf(state, param(call, 'channel'))
        const body = asJson(call.body)
        if (!isThread(channel) || channel.owner !== state.bot.id || channel.locked) throw refusal(50013)
        if (channel.archived && body.archived !== false) throw refusal(50083)
        world.patchThread(channel, body)
        return ok(channelShape(state, channel))
      },
    },
    {
      method: 'POST',
      path: '/channels/:channel/threads',
      run: call => newThread(call, null),
    },
    {
      method: 'POST',
      path: '/channels/:channel/messages/:message/threads',
      run: call => {
        const channel = channelOf(state, param(call, 'channel'))
        return newThread(call, messageOf(state, channel, param(call, 'message')))
      },
    },
    {
      method: 'PUT',
      path: '/channels/:channel/thread-members/@me',
      run: call => {
        const channel = channelOf(state, param(call, 'channel'))
        if (!isThread(channel)) throw refusal(50024)
        if (channel.archived) throw refusal(50083)
        joinBot(state, channel)
        return done
      },
    },
    {
      method: 'POST',
      path: '/channels/:channel/typing',
      run: call => {
        const channel = channelOf(state, param(call, 'channel'))
        need(state, channel, isThread(channel) ? 'SendMessagesInThreads' : 'SendMessages')
        channel.typing.push(state.now())
        return done
      },
    },
    {
      method: 'POST',
      path: '/users/@me/channels',
      run: call => {
        const user = state.users.get(String(asJson(call.body).recipient_id))
        if (user === undefined || user.id === state.bot.id) throw refusal(50033)
        return ok(channelShape(state, world.dmWith(user.id)))
      },
    },
  ]
}

/** Newest first, even if `after` selects the oldest ones after an id. */
const page = (channel: ChannelState, query: URLSearchParams): MessageState[] => {
  const form = openForm()
  const limit = Number(query.get('limit') ?? 50)
  if (!Number.isInteger(limit) || limit < 1 || limit > 100) {
    form.add('limit', 'NUMBER_TYPE_MAX', 'int value should be between 1 and 100.')
  }
  const border = (name: string): bigint | null => {
    const value = query.get(name)
    if (value === null) return null
    if (/^\d{1,20}$/.test(value)) return BigInt(value)
    form.add(name, 'NUMBER_TYPE_COERCE', `Value "${value}" is not snowflake.`)
    return null
  }
  const after = border('after')
  const before = border('before')
  form.done()
  const sender = channel.messages.filter(message => !message.deleted)
  if (after !== null) {
    return sender
      .filter(message => BigInt(message.id) > after)
      .slice(0, limit)
      .reverse()
  }
  return sender
    .filter(message => before === null || BigInt(message.id) < before)
    .slice(-limit)
    .reverse()
}

const aboutMessages = (state: State): Route[] => {
  const content = (): boolean => !state.denied.has('MessageContent')
  const shape = (message: MessageState): Json => messageShape(state, message, content())
  const one = (call: Call): [ChannelState, MessageState] => {
    const channel = channelOf(state, param(call, 'channel'))
    return [channel, messageOf(state, channel, param(call, 'message'))]
  }
  return [
    {
      method: 'GET',
      path: '/channels/:channel/messages',
      run: call => {
        const channel = channelOf(state, param(call, 'channel'))
        const found = page(channel, call.query)
        // Without permission to read history, Discord returns an empty list and no error.
        return ok(may(state, channel, 'ReadMessageHistory') ? found.map(shape) : [])
      },
    },
    {
      method: 'POST',
      path: '/channels/:channel/messages',
      run: call => {
        const channel = channelOf(state, param(call, 'channel'))
        const message = send(state, channel, asJson(call.body), call.uploads)
        return ok({ ...shape(message), ...nonceShape(message) })
      },
    },
    {
      method: 'GET',
      path: '/channels/:channel/messages/:message',
      run: call => {
        const [channel, message] = one(call)
        need(state, channel, 'ReadMessageHistory')
        return ok(shape(message))
      },
    },
    {
      method: 'PATCH',
      path: '/channels/:channel/messages/:message',
      run: call => {
        const [channel, message] = one(call)
        return ok(shape(editInChannel(state, channel, message, asJson(call.body), call.uploads)))
      },
    },
    {
      method: 'DELETE',
      path: '/channels/:channel/messages/:message',
      run: call => {
        const [channel, message] = one(call)
        if (message.author !== state.bot.id) throw refusal(channel.guild === null ? 50003 : 50013)
        if (channel.archived) throw refusal(50083)
        erase(state, message)
        return done
      },
    },
  ]
}

const aboutCommands = (state: State, commands: Commands): Route[] => {
  const guildOf = (call: Call): string | null => {
    if (param(call, 'application') !== state.applicationId) throw refusal(50001)
    const id = call.params.guild
    if (id === undefined) return null
    if (state.guilds.get(id)?.botIn !== true) throw refusal(50001)
    return id
  }
  return ['/applications/:application/commands', '/applications/:application/guilds/:guild/commands'].flatMap(path => [
    { method: 'GET', path, run: (call: Call) => ok(commands.look(guildOf(call)).registered) },
    { method: 'PUT', path, run: (call: Call) => ok(commands.put(guildOf(call), call.body)) },
    { method: 'POST', path, run: (call: Call) => ({ status: 201, body: commands.add(guildOf(call), call.body) }) },
  ])
}

const aboutInteractions = (state: State, interactions: Interactions): Route[] => {
  const shape = (message: MessageState): Json => messageShape(state, message, true)
  const keys = (call: Call): [string, string, string] => [
    param(call, 'application'),
    param(call, 'token'),
    call.params.message ?? '@original',
  ]
  const message = '/webhooks/:application/:token/messages/:message'
  return [
    {
      method: 'POST',
      path: '/interactions/:interaction/:token/callback',
      open: true,
      run: call => {
        const { interaction: id = '', token = '' } = call.params
        const interaction = interactions.callback(id, token, asJson(call.body), call.uploads)
        if (call.query.get('with_response') !== 'true') return done
        const { original } = interaction
        return ok({
          interaction: {
            id,
            type: interaction.type,
            response_message_id: original?.id ?? null,
            response_message_loading: original !== null && (original.flags & messageFlags.Loading) !== 0,
            response_message_ephemeral: interaction.ephemeral,
          },
          ...(original === null ? {} : { resource: { type: asJson(call.body).type, message: shape(original) } }),
        })
      },
    },
    {
      method: 'POST',
      path: '/webhooks/:application/:token',
      open: true,
      run: call => {
        const [application, token] = keys(call)
        return ok(shape(interactions.followUp(application, token, asJson(call.body), call.uploads)))
      },
    },
    { method: 'GET', path: message, open: true, run: call => ok(shape(interactions.look(...keys(call)))) },
    {
      method: 'PATCH',
      path: message,
      open: true,
      run: call => ok(shape(interactions.edit(...keys(call), asJson(call.body), call.uploads))),
    },
    {
      method: 'DELETE',
      path: message,
      open: true,
      run: call => {
        interactions.remove(...keys(call))
        return done
      },
    },
  ]
}
