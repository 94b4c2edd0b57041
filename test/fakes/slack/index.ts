// A Slack on the loopback: Web API and Socket Mode, strict, with everything in memory.
import { methodsOf, store } from './methods.ts'
import { openServer } from './server.ts'
import { openSocketMode } from './socket.ts'
import { type ChannelState, type MessageState, messageShape, openState, type State } from './state.ts'
import type { Asked, Channel, FileGiven, SayOptions, SlackOptions, StoredMessage, User } from './types.ts'

export type * from './types.ts'
export type FakeSlack = Awaited<ReturnType<typeof openSlack>>

export async function openSlack(options: SlackOptions = {}) {
  const state = openState(options.now ?? Date.now, options.page ?? 200)
  const server = await openServer(state, () => methods, options)
  const socket = openSocketMode(server.server, () => state.origin, options.ackMs ?? 3000, options.repeats ?? false)
  const methods = methodsOf({
    ...{ state, uploadUrl: server.uploadUrl, uploaded: server.uploaded, connect: socket.address },
    changed: () => undefined,
  })
  const people = openPeople(state, socket.dispatch, server.addresses)
  const ada = people.user('ada')
  const general = people.channel('general', [ada])
  const view = (message: MessageState): StoredMessage => ({ ...message })
  const of = (place: Channel | string): { channel: ChannelState; thread: string | null } => {
    const [id = '', thread] = (typeof place === 'string' ? place : place.id).split(':')
    const channel = state.channels.get(id)
    if (!channel) throw new Error(`no channel ${id}`)
    return { channel, thread: thread ?? null }
  }
  const close = async (): Promise<void> => {
    socket.close()
    await server.close()
  }
  const slack = {
    ...people,
    ...{ ada, general, state, close },
    url: `${state.origin}/api`,
    port: server.port,
    tokens: state.tokens,
    bot: state.bot,
    requests: (method?: string) => server.requests.filter(one => method === undefined || one.method === method),
    /** In a channel, or in one thread of it (`C1:ts`). */
    messages(place: Channel | string): readonly StoredMessage[] {
      const { channel, thread } = of(place)
      return channel.messages.filter(one => !one.deleted && one.thread === thread).map(view)
    },
    /** Everything the bot has said in a channel, in and out of threads. */
    answers: (channel: Channel): readonly StoredMessage[] =>
      of(channel)
        .channel.messages.filter(one => !one.deleted && one.user === state.bot.id)
        .map(view),
    ephemerals: (user?: User) => state.ephemerals.filter(one => user === undefined || one.user === user.id),
    statuses: () => state.statuses,
    envelopes: () => socket.seen,
    connections: socket.connections,
    opened: socket.opened,
    fail: server.fail,
    limit: server.limit,
    offline(on: boolean) {
      server.offline(on)
      if (on) socket.drop()
    },
    disconnect: socket.disconnect,
    drop: socket.drop,
    silence: socket.silence,
    ignoreConfirmations: socket.ignore,
    revoke(code = 'token_revoked') {
      state.revoked = code
    },
    archive: (channel: Channel) => {
      of(channel).channel.archived = true
    },
    kick: (channel: Channel, user: User = state.bot) => void of(channel).channel.members.delete(user.id),
    async until<T>(look: () => T | undefined | null | false, ms = 5000): Promise<T> {
      for (const end = performance.now() + ms; ; ) {
        const found = look()
        if (found) return found
        if (performance.now() > end) throw new Error('what was waited for did not come')
        await new Promise(resolve => setTimeout(resolve, 10))
      }
    },
    ready: async (ms = 5000): Promise<void> => {
      await slack.until(() => socket.connections() > 0, ms)
    },
    [Symbol.asyncDispose]: close,
  }
  return slack
}

function openPeople(
  state: State,
  dispatch: (type: string, payload: object) => void,
  addresses: Map<string, { uses: number; until: number; responses: { text: string; ephemeral: boolean }[] }>,
) {
  const authorizations = [{ team_id: state.team.id, user_id: state.bot.id, is_bot: true }]
  const event = (inner: object) =>
    dispatch('events_api', {
      ...{ type: 'event_callback', team_id: state.team.id, api_app_id: 'A0000001', authorizations },
      ...{ event_id: state.nextId('Ev'), event_time: Math.floor(state.now() / 1000), event: inner },
    })
  const channelOf = (channel: Channel): ChannelState => {
    const found = state.channels.get(channel.id)
    if (!found) throw new Error(`no channel ${channel.id}`)
    return found
  }
  const channelType = ({ kind }: Channel) => ({ channel_type: kind })
  const open = (name: string, kind: Channel['kind'], members: readonly string[]): Channel => {
    const id = state.nextId(kind === 'im' ? 'D' : 'C')
    state.channels.set(id, { id, name, kind, members: new Set(members), archived: false, messages: [] })
    return { id, name, kind }
  }
  const messageIn = (channel: Channel, ts: string): MessageState => {
    const found = channelOf(channel).messages.find(one => one.ts === ts)
    if (!found) throw new Error(`no message ${ts}`)
    return found
  }
  const fileOf = ({ name, bytes, type = 'text/plain' }: FileGiven) => {
    const file = { id: state.nextId('F'), name, type, bytes: Buffer.from(bytes) }
    state.files.set(file.id, file)
    return file
  }
  /** The app hears of it if it is in the channel. */
  const tell = (channel: Channel, inner: object) => {
    if (channelOf(channel).members.has(state.bot.id)) event(inner)
  }
  const addressFor = (payload: (url: string) => object, type: string): Asked => {
    const id = state.nextId('R')
    const address = {
      uses: 0,
      until: state.now() + 30 * 60_000,
      responses: [] as { text: string; ephemeral: boolean }[],
    }
    addresses.set(id, address)
    dispatch(type, payload(`${state.origin}/respond/${id}`))
    return address
  }

  return {
    user(name: string, { bot = false } = {}): User {
      const user = { id: state.nextId('U'), name, bot }
      state.users.set(user.id, user)
      return user
    },
    channel: (name: string, members: readonly User[], { invited = true } = {}): Channel =>
      open(name, 'channel', [...members.map(({ id }) => id), ...(invited ? [state.bot.id] : [])]),
    dm: (user: User): Channel => {
      const found = [...state.channels.values()].find(({ kind, members }) => kind === 'im' && members.has(user.id))
      return found ?? open(user.name, 'im', [user.id, state.bot.id])
    },
    invite: (channel: Channel, user: User = state.bot) => void channelOf(channel).members.add(user.id),

    say(user: User, channel: Channel, text: string, options: SayOptions = {}): StoredMessage {
      const { mention = false, thread = null, files = [], bot = user.bot, subtype } = options
      const words = mention ? `<@${state.bot.id}> ${text}` : text
      const stored = store(state, channelOf(channel), {
        ...{ user: user.id, text: words, thread, bot, files: files.map(fileOf) },
        subtype: subtype ?? (files.length > 0 ? 'file_share' : undefined),
      })
      const shape = { ...messageShape(state, stored, false), channel: channel.id, event_ts: stored.ts }
      tell(channel, { ...shape, ...channelType(channel) })
      // A mention is told a second time.
      if (words.includes(`<@${state.bot.id}>`) && channel.kind !== 'im')
        tell(channel, { ...shape, type: 'app_mention' })
      return { ...stored }
    },

    edit(channel: Channel, ts: string, text: string): void {
      const message = messageIn(channel, ts)
      const previous = messageShape(state, message, false)
      message.history.push(message.text)
      Object.assign(message, { text, editedAt: state.now() })
      const changed = { ...{ type: 'message', subtype: 'message_changed', hidden: true }, ...channelType(channel) }
      const both = { message: messageShape(state, message, false), previous_message: previous }
      tell(channel, { ...changed, ...both, channel: channel.id, ts: state.nextTs() })
    },

    /** A link preview: changed, but not by anybody. */
    unfurl(channel: Channel, ts: string): void {
      const message = messageShape(state, messageIn(channel, ts), false)
      const changed = { type: 'message', subtype: 'message_changed', hidden: true, channel: channel.id }
      tell(channel, {
        ...changed,
        message: { ...message, attachments: [{}] },
        previous_message: message,
        ts: state.nextTs(),
      })
    },

    remove(channel: Channel, ts: string): void {
      const message = messageIn(channel, ts)
      message.deleted = true
      const deleted = { type: 'message', subtype: 'message_deleted', hidden: true, channel: channel.id }
      tell(channel, {
        ...deleted,
        deleted_ts: ts,
        previous_message: messageShape(state, message, false),
        ts: state.nextTs(),
      })
    },

    slash: (user: User, channel: Channel, text: string): Asked =>
      addressFor(
        response_url => ({
          ...{ command: '/aetheel', text, user_id: user.id, user_name: user.name, response_url },
          ...{ channel_id: channel.id, channel_name: channel.name, team_id: state.team.id },
          trigger_id: `${state.nextId('')}.${state.nextId('')}`,
        }),
        'slash_commands',
      ),

    /** Sends what somebody has written in their latest dialog. */
    submit(user: User, text: string): void {
      const { id, callback, metadata } = dialogOf(state, user)
      dispatch('interactive', {
        ...{ type: 'view_submission', user: { id: user.id, team_id: state.team.id } },
        view: {
          ...{ id, callback_id: callback, private_metadata: metadata },
          state: { values: { text: { text: { type: 'plain_text_input', value: text } } } },
        },
      })
    },
    dialogs: (user: User) => state.dialogs.filter(one => one.user === user.id),

    press(user: User, message: StoredMessage, actionId = 'stop'): Asked {
      const elements = message.blocks.flatMap(
        ({ elements = [] }) => elements as { action_id?: string; value?: string }[],
      )
      const button = elements.find(({ action_id }) => action_id === actionId)
      if (!button) throw new Error('no such button')
      return addressFor(
        response_url => ({
          ...{ type: 'block_actions', user: { id: user.id, team_id: state.team.id }, response_url },
          ...{ channel: { id: message.channel }, trigger_id: triggerFor(state, user) },
          ...{ message: { ts: message.ts }, actions: [{ ...button, action_ts: state.nextTs() }] },
        }),
        'interactive',
      )
    },

    event,
  }
}

function triggerFor(state: State, { id }: User): string {
  const trigger = `${state.nextId('')}.${state.nextId('')}`
  state.triggers.set(trigger, { user: id, until: state.now() + 3000 })
  return trigger
}

function dialogOf(state: State, user: User) {
  const found = state.dialogs.findLast(one => one.user === user.id)
  if (!found) throw new Error('no dialog is open')
  return found
}
