// What people do on the fake Discord, and what a test sees of the result.
import { setTimeout as pause } from 'node:timers/promises'
import type { Interactions } from './interactions.ts'
import { blank, erase, fileOf, place, remember, whomItPings } from './posting.ts'
import { attachmentUrl, channelEvent, messageEvent } from './shape.ts'
import {
  type ChannelState,
  type InteractionState,
  isThread,
  type Json,
  type MessageState,
  messageFlags,
  type State,
} from './state.ts'
import type { Channel, Interaction, People, StoredMessage } from './types.ts'

export const poll = async <T>(look: () => T | Promise<T>, ms: number, what: string): Promise<NonNullable<T>> => {
  const until = performance.now() + ms
  for (;;) {
    const seen = await look()
    if (seen !== null && seen !== undefined && seen !== false) return seen
    if (performance.now() > until) throw new Error(`${what}: not within ${ms} ms`)
    await pause(10)
  }
}

export const channelView = (channel: ChannelState): Channel => ({
  id: channel.id,
  name: channel.name,
  kind: channel.type === 1 ? 'dm' : isThread(channel) ? 'thread' : 'text',
  guild: channel.guild,
  parent: channel.parent,
  archived: channel.archived,
  locked: channel.locked,
})

export const messageView = (state: State, message: MessageState): StoredMessage => ({
  id: message.id,
  channel: message.channel,
  author: message.author,
  content: message.content,
  at: message.at,
  editedAt: message.editedAt,
  history: [...message.history],
  nonce: message.nonce === null ? null : String(message.nonce),
  allowedMentions: message.allowedMentions,
  pinged: message.pinged,
  attachments: message.attachments.map(file => ({
    id: file.id,
    name: file.name,
    type: file.type,
    size: file.bytes.length,
    description: file.description,
    bytes: file.bytes,
    get url() {
      return attachmentUrl(state, message.channel, file)
    },
  })),
  reference: message.reference,
  components: message.components,
  embeds: message.embeds,
  flags: message.flags,
  ephemeral: (message.flags & messageFlags.Ephemeral) !== 0,
  deleted: message.deleted,
  type: message.type,
})

const interactionView = (state: State, interaction: InteractionState): Interaction => ({
  id: interaction.id,
  token: interaction.token,
  get first() {
    return interaction.first
  },
  get answeredAfterMs() {
    return interaction.answeredAt === null ? null : interaction.answeredAt - interaction.at
  },
  get ephemeral() {
    return interaction.ephemeral
  },
  get choices() {
    return interaction.choices
  },
  get modal() {
    return interaction.modal
  },
  get original() {
    const { original } = interaction
    if (original === null || original.deleted || (original.flags & messageFlags.Loading) !== 0) return null
    return messageView(state, original)
  },
  get followUps() {
    return interaction.followUps.filter(message => !message.deleted).map(message => messageView(state, message))
  },
  whole(ms = 5000) {
    return poll(() => this.original, ms, 'an answer to the interaction')
  },
})

const buttonsIn = (components: readonly Json[]): Json[] =>
  components.flatMap(component => [
    ...(component.type === 2 ? [component] : []),
    ...buttonsIn((component.components as Json[] | undefined) ?? []),
    ...buttonsIn(component.accessory === undefined ? [] : [component.accessory as Json]),
  ])

export const openPeople = (state: State, interactions: Interactions): People => {
  const channelNamed = (id: string): ChannelState => {
    const channel = state.channels.get(id)
    if (channel === undefined) throw new Error(`no channel ${id}`)
    return channel
  }
  const sender = (id: string): MessageState => {
    const message = state.messages.get(id)
    if (message === undefined || message.deleted) throw new Error(`no message ${id}`)
    return message
  }
  /** Until the bot has answered, or 3 s have passed. */
  const answered = async (interaction: InteractionState): Promise<Interaction> => {
    while (interaction.first === null && state.now() - interaction.at <= 3000) await pause(5)
    return interactionView(state, interaction)
  }
  return {
    say(user, where, text, options = {}) {
      const channel = channelNamed(where.id)
      const content = `${options.mention === true ? `<@${state.bot.id}> ` : ''}${text}`.trim()
      const reply = options.replyTo === undefined ? null : sender(options.replyTo.id)
      const pings = whomItPings(
        state,
        channel,
        content,
        undefined,
        options.ping === false ? null : (reply?.author ?? null),
      )
      if (channel.archived) {
        channel.archived = false
        state.dispatch(channelEvent(state, 'THREAD_UPDATE', channel))
      }
      const message = blank(state, channel.id, user.id, {
        type: reply === null ? 0 : 19,
        content,
        pinged: pings,
        reference: reply?.id ?? null,
        webhook: options.webhook === true ? state.nextId() : null,
        attachments: (options.attachments ?? []).map(file => fileOf(state, file)),
      })
      if (isThread(channel)) channel.joined.add(user.id)
      return messageView(state, place(state, message))
    },
    edit({ id }, text) {
      const message = sender(id)
      const reply = message.reference === null ? undefined : state.messages.get(message.reference)
      const pinged = reply !== undefined && message.pinged.users.includes(reply.author) ? reply.author : null
      remember(message)
      message.content = text.trim()
      message.editedAt = state.now()
      message.pinged = whomItPings(state, channelNamed(message.channel), message.content, undefined, pinged)
      state.dispatch(messageEvent(state, 'MESSAGE_UPDATE', message))
      return messageView(state, message)
    },
    remove: ({ id }) => erase(state, sender(id)),
    unfurl({ id }) {
      const message = sender(id)
      message.embeds = [{ type: 'link', url: 'https://example.invalid/', title: 'A preview' }]
      state.dispatch(messageEvent(state, 'MESSAGE_UPDATE', message))
    },
    async slash(user, where, command, options = {}) {
      const channel = channelNamed(where.id)
      const typed = interactions.typed(channel, command, options, null)
      return answered(interactions.begin(2, user.id, channel, typed, null))
    },
    async autocomplete(user, where, command, focused, options = {}) {
      const channel = channelNamed(where.id)
      const typed = interactions.typed(channel, command, options, focused)
      return answered(interactions.begin(4, user.id, channel, typed, null))
    },
    async click(user, { id }, customId) {
      const message = sender(id)
      const button = buttonsIn(message.components).find(one => one.custom_id === customId)
      if (button === undefined) throw new Error(`no button ${customId} on that message`)
      if (button.disabled === true) throw new Error(`button ${customId} is disabled`)
      const data = { custom_id: customId, component_type: 2, id: button.id ?? 1 }
      return answered(interactions.begin(3, user.id, channelNamed(message.channel), data, message))
    },
    async submit(user, { id }, { modal }, text) {
      const message = sender(id)
      const { custom_id, components } = modal as { custom_id: string; components: { components: Json[] }[] }
      const rows = components.map(row => ({
        type: 1,
        components: row.components.map(input => ({ type: 4, custom_id: input.custom_id, value: text })),
      }))
      const data = { custom_id, components: rows }
      return answered(interactions.begin(5, user.id, channelNamed(message.channel), data, message))
    },
  }
}
