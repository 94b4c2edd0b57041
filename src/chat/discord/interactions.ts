// Slash commands and the stop button: handled like any other message, and answered in place for as long as that is possible.

import type { API, APIInteraction } from '@discordjs/core'
import { stopButton } from '../../base/buttons.ts'
import type { Accepted, Attachment, Duplicate, NewEvent, Refused, Sender } from '../../base/event.ts'
import type { Clock } from '../../base/time.ts'
import { within } from '../../base/within.ts'
import type { AttachmentSeen } from './attachments.ts'
import { asTyped, choicesFor, type Given, slashFiles, slashPrompt } from './commands.ts'
import { codes, troubleOf } from './errors.ts'
import { eventOf, type Member, type Person, type Spot, senderOf, wholeMember } from './message.ts'
import type { ChannelData } from './places.ts'
import { allowedMentions, limits } from './poster.ts'
import type { PendingQuestions } from './send.ts'

export interface InteractionParts {
  readonly api: API
  readonly asked: PendingQuestions
  readonly clock: Clock
  learn(channel: ChannelData, guild: string | null): void
  spot(channel: string, guild: string | null): Promise<Spot>
  accept(event: NewEvent): Promise<Accepted | Duplicate | Refused>
  fetch(message: string, files: readonly AttachmentSeen[]): Promise<readonly Attachment[]>
  /** Removes the files of a message again. */
  drop(message: string): Promise<void>
  /** Whether a message started a conversation of its own. */
  isConversation(message: string): boolean
  /** Whether the sender may speak here. */
  knows(sender: Sender): boolean
  /** Whether the answer to a command is only for the person who sent it. */
  isPrivate(command: string): boolean
  /** Completions for the argument of a command. */
  suggest(command: string): readonly string[]
  trouble(why: string): void
}

/** Discord gives up after three seconds; this leaves time for our reply to arrive. */
const answerWithinMs = 1500
/** An interaction token is valid for fifteen minutes; a little less is safe. */
const tokenLivesMs = 14.5 * 60_000
export const ephemeral = 64

const kinds = { command: 2, component: 3, completion: 4 } as const

/** Resolves when it has been accepted or refused, and acknowledged to Discord. */
export function createInteractions(parts: InteractionParts) {
  const { api, asked, clock, trouble } = parts

  return async (interaction: APIInteraction, missed: boolean): Promise<void> => {
    const input = parseInteraction(interaction)
    if (!input) return
    const { id, token, application_id: app } = interaction
    const guild = interaction.guild_id ?? null
    const { channel } = interaction
    if (channel) parts.learn(channel as ChannelData, guild)
    if (interaction.type === kinds.completion) return complete(interaction, input, guild)

    // In a direct message there is nobody else, and ephemeral answers disappear.
    const privately = interaction.type === kinds.component || (guild !== null && parts.isPrivate(input.name))
    asked.remember(id, { app, token, until: clock.now() + tokenLivesMs, privately })
    const { promise: acknowledged, resolve: acknowledge } = Promise.withResolvers<void>()
    asked.acknowledging(id, acknowledged)
    try {
      const answer = ask(id, input, guild, missed)
      await acknowledgeInTime(interaction, answer, privately)
    } finally {
      acknowledge()
    }
  }

  /** Finding out the place may take longer than Discord waits. */
  async function ask(id: string, input: Input, guild: string | null, missed: boolean) {
    const spot = await parts.spot(input.channel, guild)
    const known = parts.knows(senderIn(input, spot))
    const attachments = known && input.files.length > 0 ? await parts.fetch(id, input.files) : []
    const { text, author, member } = input
    // A draft that is in the channel because its thread could not be opened belongs to the message it answers.
    const own = input.answers !== undefined && parts.isConversation(input.answers)
    const words = { id, text, author, spot, conversation: own ? input.answers : input.channel, attachments, missed }
    const answer = await parts.accept(eventOf(member ? { ...words, member } : words))
    if (answer.type === 'refused' && attachments.length > 0) await parts.drop(id)
    return answer
  }

  /** A quick refusal is shown only to the sender; everything else is answered later. */
  async function acknowledgeInTime(
    { id, token, application_id: app }: APIInteraction,
    answering: Promise<Accepted | Duplicate | Refused>,
    privately: boolean,
  ): Promise<void> {
    const early = await within(answering, answerWithinMs, clock)
    if (early?.type === 'refused') {
      asked.forget(id)
      if (early.reason === '') return
      return settle(id, api.interactions.reply(id, token, { ...refusalBody(early.reason), flags: ephemeral }))
    }
    await settle(id, api.interactions.defer(id, token, privately ? { flags: ephemeral } : {}))
    const answer = await answering
    if (answer.type !== 'refused') return
    asked.forget(id)
    const reason = answer.reason || 'Not accepted.'
    await settle(id, api.interactions.editReply(app, token, refusalBody(reason)))
  }

  /** If it is too late, or was acknowledged before a kill, the answer is sent in another way. */
  async function settle(id: string, telling: Promise<unknown>): Promise<void> {
    try {
      await telling
    } catch (error) {
      const found = troubleOf(error)
      if (found.type === 'refused' && found.code === codes.alreadyAnswered) return
      asked.forget(id)
      trouble(`a command could not be answered in its place: ${found.why}`)
    }
  }

  async function complete({ id, token }: APIInteraction, input: Input, guild: string | null): Promise<void> {
    const known = parts.knows(senderIn(input, await parts.spot(input.channel, guild)))
    const choices = known ? choicesFor(parts.suggest(input.name), input.typed) : []
    await settle(id, api.interactions.createAutocompleteResponse(id, token, { choices }))
  }
}

interface Input {
  readonly name: string
  /** As it would be typed in any other chat. */
  readonly text: string
  readonly typed: string
  readonly files: readonly AttachmentSeen[]
  readonly author: Person
  readonly member?: Member
  readonly channel: string
  /** For a button: the message that the message with the button answers. */
  readonly answers?: string | undefined
}

const senderIn = ({ author, member }: Input, spot: Spot) => senderOf(author.id, member?.roles ?? [], spot)

/** Null: not a command and not the stop button. */
function parseInteraction(interaction: APIInteraction): Input | null {
  const author = interaction.member?.user ?? interaction.user
  const channel = interaction.channel?.id ?? interaction.channel_id
  if (!author || channel === undefined) return null
  const { member } = interaction
  const who = member ? { author, member: wholeMember(member), channel } : { author, channel }
  if (interaction.type === kinds.component) {
    const answers = interaction.message.message_reference?.message_id
    const stop = { name: 'stop', text: '/stop', typed: '', files: [], answers }
    return interaction.data.custom_id === stopButton.id ? { ...stop, ...who } : null
  }
  if (interaction.type !== kinds.command && interaction.type !== kinds.completion) return null
  if (interaction.data.type !== 1) return null
  const { name, resolved } = interaction.data
  const options = (interaction.data.options ?? []) as readonly Given[]
  const files = slashFiles(options).flatMap(id => resolved?.attachments?.[id] ?? [])
  return { name, text: asTyped(name, options), typed: slashPrompt(options), files, ...who }
}

export const refusalBody = (reason: string) => ({
  content: reason.slice(0, limits.length),
  allowed_mentions: { parse: [...allowedMentions.parse] },
})
