// Interactions: slash commands, buttons and autocomplete, the bot's response within the time limit, and its follow-ups.

import { asJson, asList, type Upload } from './body.ts'
import type { Commands, Registered } from './commands.ts'
import { blank, change, draft, erase, fileOf, place } from './posting.ts'
import { openForm, refusal } from './refusal.ts'
import {
  allPermissions,
  attachmentShape,
  channelShape,
  guildShape,
  memberShape,
  messageShape,
  userShape,
} from './shape.ts'
import {
  type ChannelState,
  type InteractionState,
  type Json,
  type MessageState,
  messageFlags,
  type State,
} from './state.ts'
import type { FileGiven, FirstAnswer, SlashOptions } from './types.ts'

const answerWithinMs = 3000
const tokenLivesMs = 15 * 60_000

const firstAnswers: Readonly<Record<number, { name: FirstAnswer; to: readonly number[] }>> = {
  4: { name: 'message', to: [2, 3, 5] },
  5: { name: 'deferred', to: [2, 3, 5] },
  6: { name: 'deferred-update', to: [3, 5] },
  7: { name: 'update', to: [3, 5] },
  8: { name: 'choices', to: [4] },
  9: { name: 'modal', to: [2, 3] },
}

export const createInteractions = (state: State, commands: Commands) => {
  const byToken = (token: string): InteractionState | undefined =>
    [...state.interactions.values()].find(interaction => interaction.token === token)

  const channelOfInteraction = (interaction: InteractionState): ChannelState => {
    const channel = state.channels.get(interaction.channel)
    if (channel === undefined) throw refusal(10003)
    return channel
  }

  const begin = (
    type: InteractionState['type'],
    user: string,
    channel: ChannelState,
    data: Json,
    message: MessageState | null,
  ): InteractionState => {
    const id = state.nextId()
    const interaction: InteractionState = {
      id,
      token: `aW50ZXJhY3Rpb246${Buffer.from(`${id}:${Math.random()}`).toString('base64url')}`,
      type,
      at: state.now(),
      user,
      channel: channel.id,
      message,
      data,
      first: null,
      answeredAt: null,
      ephemeral: false,
      choices: [],
      modal: null,
      original: null,
      followUps: [],
    }
    state.interactions.set(id, interaction)
    state.dispatch({ t: 'INTERACTION_CREATE', needs: 0, d: () => interactionShape(state, interaction, channel) })
    return interaction
  }

  const answerMessage = (interaction: InteractionState, body: Json, uploads: readonly Upload[]): MessageState => {
    const ephemeral = (Number(body.flags ?? 0) & messageFlags.Ephemeral) !== 0
    const channel = channelOfInteraction(interaction)
    return place(
      state,
      draft(state, channel, body, uploads, {
        ...(interaction.type === 2 && interaction.original === null ? { type: 20 } : {}),
        flags: ephemeral ? messageFlags.Ephemeral : 0,
        webhook: state.applicationId,
        interaction: interaction.id,
      }),
    )
  }

  const deferredMessage = (interaction: InteractionState): MessageState =>
    place(
      state,
      blank(state, interaction.channel, state.bot.id, {
        type: interaction.type === 2 ? 20 : 0,
        flags: messageFlags.Loading | (interaction.ephemeral ? messageFlags.Ephemeral : 0),
        webhook: state.applicationId,
        interaction: interaction.id,
      }),
    )

  const checkChoices = (choices: readonly Json[]): void => {
    const form = openForm()
    form.count('data.choices', choices, 25)
    choices.forEach((choice, at) => {
      form.length(`data.choices.${at}.name`, choice.name, 1, 100)
      if (typeof choice.value === 'string') form.length(`data.choices.${at}.value`, choice.value, 1, 100)
      else if (typeof choice.value !== 'number') {
        form.add(`data.choices.${at}.value`, 'BASE_TYPE_REQUIRED', 'This field is required')
      }
    })
    form.done()
  }

  const checkModal = (modal: Json): void => {
    const form = openForm()
    form.length('data.custom_id', modal.custom_id, 1, 100)
    form.length('data.title', modal.title, 1, 45)
    const rows = asList(modal.components)
    form.count('data.components', rows, 5)
    rows.forEach((row, at) => {
      const [input = {}, ...others] = asList(row.components)
      const path = `data.components.${at}.components.0`
      if (row.type !== 1 || input.type !== 4 || others.length > 0)
        form.add(path, 'UNION_TYPE_CHOICES', 'Value of field "type" must be one of (4,).')
      form.length(`${path}.custom_id`, input.custom_id, 1, 100)
      form.length(`${path}.label`, input.label, 1, 45)
      if (Number(input.max_length ?? 1) > 4000)
        form.add(`${path}.max_length`, 'NUMBER_TYPE_MAX', 'int value should be less than or equal to 4000.')
    })
    form.done()
  }

  /** The initial response, within 3 s. */
  const callback = (id: string, token: string, body: Json, uploads: readonly Upload[]): InteractionState => {
    const interaction = state.interactions.get(id)
    if (interaction === undefined || interaction.token !== token) throw refusal(10062)
    if (interaction.first !== null) throw refusal(40060)
    if (state.now() - interaction.at > answerWithinMs) throw refusal(10062)
    const kind = firstAnswers[Number(body.type)]
    if (kind === undefined || !kind.to.includes(interaction.type)) {
      const form = openForm()
      form.add('type', 'INTERACTION_APPLICATION_COMMAND_INVALID_CALLBACK', 'Invalid interaction callback type')
      form.done()
    }
    const data = asJson(body.data)
    const first = (kind as { name: FirstAnswer }).name
    interaction.ephemeral = (Number(data.flags ?? 0) & messageFlags.Ephemeral) !== 0
    if (first === 'message') interaction.original = answerMessage(interaction, data, uploads)
    else if (first === 'deferred') interaction.original = deferredMessage(interaction)
    else if (first === 'deferred-update') interaction.original = interaction.message
    else if (first === 'update') {
      if (interaction.message === null) throw refusal(10008)
      interaction.original = change(state, interaction.message, data, uploads)
    } else if (first === 'choices') {
      checkChoices(asList(data.choices))
      interaction.choices = asList(data.choices) as unknown as InteractionState['choices']
    } else {
      checkModal(data)
      interaction.modal = data
    }
    interaction.first = first
    interaction.answeredAt = state.now()
    return interaction
  }

  /** The interaction of a webhook path, while its token is valid. */
  const alive = (application: string, token: string): InteractionState => {
    const interaction = byToken(token)
    if (application !== state.applicationId || interaction === undefined) throw refusal(10015)
    if (state.now() - interaction.at > tokenLivesMs) throw refusal(50027)
    if (interaction.first === null) throw refusal(10015)
    return interaction
  }

  const answer = (interaction: InteractionState, id: string): MessageState => {
    const message =
      id === '@original' ? interaction.original : interaction.followUps.find(followUp => followUp.id === id)
    if (message === null || message === undefined || message.deleted) throw refusal(10008)
    return message
  }

  return {
    begin,
    callback,
    look: (application: string, token: string, id: string): MessageState => answer(alive(application, token), id),
    edit(application: string, token: string, id: string, body: Json, uploads: readonly Upload[]): MessageState {
      return change(state, answer(alive(application, token), id), body, uploads)
    },
    remove(application: string, token: string, id: string): void {
      erase(state, answer(alive(application, token), id))
    },
    followUp(application: string, token: string, body: Json, uploads: readonly Upload[]): MessageState {
      const interaction = alive(application, token)
      const { original } = interaction
      // While the bot is "thinking", the first follow-up is the deferred answer, and its flags are ignored.
      if (original !== null && (original.flags & messageFlags.Loading) !== 0) {
        return change(state, original, body, uploads)
      }
      const message = answerMessage(interaction, body, uploads)
      interaction.followUps.push(message)
      return message
    },
    /** What somebody typed, as Discord would send it; throws if Discord's client would not allow it. */
    typed(
      channel: ChannelState,
      line: string,
      options: SlashOptions,
      focused: { readonly name: string; readonly value: string } | null,
    ): Json {
      const [name = '', ...path] = line.split(' ')
      const command = commands.offered(channel.guild, name)
      if (command === null) throw new Error(`Discord offers no /${name} here`)
      return typedInto(command, path, options, focused, file => {
        const given = fileOf(state, file)
        state.given.set(given.id, given)
        return attachmentShape(state, channel.id, given)
      })
    },
  }
}

export type Interactions = ReturnType<typeof createInteractions>

const typedInto = (
  command: Registered,
  path: readonly string[],
  options: SlashOptions,
  focused: { readonly name: string; readonly value: string } | null,
  upload: (file: FileGiven) => Json,
): Json => {
  const attachments: Record<string, Json> = {}
  let defined = asList(command.options)
  const steps: Json[] = []
  for (const step of path) {
    const found = defined.find(option => option.name === step && (option.type === 1 || option.type === 2))
    if (found === undefined) throw new Error(`/${command.name} has no subcommand ${step}`)
    steps.push(found)
    defined = asList(found.options)
  }
  for (const name of Object.keys(options)) {
    if (!defined.some(option => option.name === name)) throw new Error(`/${command.name} has no option ${name}`)
  }
  const filled = defined.flatMap(option => {
    const name = String(option.name)
    if (focused?.name === name) {
      if (option.autocomplete !== true) throw new Error(`${name} of /${command.name} does not complete`)
      return [{ name, type: option.type, value: focused.value, focused: true }]
    }
    const value = options[name]
    if (value === undefined) {
      if (option.required === true && focused === null) throw new Error(`/${command.name} needs ${name}`)
      return []
    }
    const choices = asList(option.choices)
    if (choices.length > 0 && !choices.some(choice => choice.value === value)) {
      throw new Error(`${String(value)} is no choice for ${name} of /${command.name}`)
    }
    if ((option.type === 11) !== (typeof value === 'object')) throw new Error(`${name} takes something else`)
    if (typeof value !== 'object') return [{ name, type: option.type, value }]
    const file = upload(value)
    attachments[String(file.id)] = file
    return [{ name, type: option.type, value: file.id }]
  })
  if (focused !== null && !defined.some(option => option.name === focused.name)) {
    throw new Error(`/${command.name} has no option ${focused.name}`)
  }
  const nested = steps.reduceRight<Json[]>(
    (inner, step) => [{ name: step.name, type: step.type, options: inner }],
    filled,
  )
  const resolved = Object.keys(attachments).length === 0 ? {} : { resolved: { attachments } }
  return { id: command.id, name: command.name, type: command.type, options: nested, ...resolved }
}

const interactionShape = (state: State, interaction: InteractionState, channel: ChannelState): Json => {
  const user = userShape(state.users.get(interaction.user) ?? state.bot)
  const guild = channel.guild === null ? undefined : state.guilds.get(channel.guild)
  return {
    id: interaction.id,
    application_id: state.applicationId,
    type: interaction.type,
    token: interaction.token,
    version: 1,
    data: interaction.data,
    channel_id: channel.id,
    channel: channelShape(state, channel),
    app_permissions: allPermissions.toString(),
    locale: 'en-US',
    entitlements: [],
    attachment_size_limit: 10 * 1024 * 1024,
    context: guild === undefined ? 1 : 0,
    authorizing_integration_owners: { 0: guild?.id ?? '0' },
    ...(guild === undefined
      ? { user }
      : {
          guild_id: guild.id,
          guild: { id: guild.id, locale: 'en-US', features: guildShape(state, guild).features },
          guild_locale: 'en-US',
          member: { ...memberShape(state, guild, interaction.user), user, permissions: allPermissions.toString() },
        }),
    ...(interaction.message === null ? {} : { message: messageShape(state, interaction.message, true) }),
  }
}
