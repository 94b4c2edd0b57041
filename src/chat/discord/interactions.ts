// Slash commands and buttons: heard like any other message, answered in their own place for as long as that is possible.
import type { API, APIInteraction } from '@discordjs/core'
import type { Accepted, Attachment, Duplicate, NewEvent, Refused, Standing } from '../../base/event.ts'
import type { Clock } from '../../base/time.ts'
import type { AskedBook } from './answers.ts'
import type { AttachmentSeen } from './attachments.ts'
import { asTyped, choicesFor, type Given, slashFiles, slashPrompt } from './commands.ts'
import { eventOf, type Member, type Person, type Spot, standingOf } from './heard.ts'
import { within } from './patience.ts'
import type { ChannelTold } from './places.ts'
import { allowedMentions, limits, stopId } from './render.ts'
import { codes, troubleOf } from './trouble.ts'

export interface InteractionParts {
  readonly api: API
  readonly asked: AskedBook
  readonly clock: Clock
  learn(channel: ChannelTold, guild: string | null): void
  spot(channel: string, guild: string | null): Promise<Spot>
  accept(event: NewEvent): Promise<Accepted | Duplicate | Refused>
  fetch(message: string, files: readonly AttachmentSeen[]): Promise<readonly Attachment[]>
  /** Takes the files of a message away again. */
  drop(message: string): Promise<void>
  /** Whether a message is the beginning of a conversation of its own. */
  isConversation(message: string): boolean
  /** Somebody who may speak here. */
  knows(standing: Standing): boolean
  /** What may follow a command. */
  suggest(command: string): readonly string[]
  trouble(why: string): void
}

/** Discord gives up after three seconds; this leaves it time to hear of it. */
const answerWithinMs = 1500
/** The token of an interaction lives for fifteen minutes; a little less is safe. */
const tokenLivesMs = 14.5 * 60_000
const onlyForThem = 64

const kinds = { command: 2, component: 3, completion: 4 } as const

/** Resolves when it has been accepted or refused, and Discord knows that it was heard. */
export function openInteractions(parts: InteractionParts) {
  const { api, asked, clock, trouble } = parts

  return async (interaction: APIInteraction): Promise<void> => {
    const said = saidIn(interaction)
    if (!said) return
    const { id, token, application_id: app } = interaction
    const guild = interaction.guild_id ?? null
    const { channel } = interaction
    if (channel) parts.learn(channel as ChannelTold, guild)
    if (interaction.type === kinds.completion) return complete(interaction, said, guild)

    const privately = interaction.type === kinds.component
    asked.remember(id, { app, token, until: clock.now() + tokenLivesMs, privately })
    const { promise: acknowledged, resolve: acknowledge } = Promise.withResolvers<void>()
    asked.acknowledging(id, acknowledged)
    try {
      const answer = ask(id, said, guild)
      await acknowledgeInTime(interaction, answer, privately)
    } finally {
      acknowledge()
    }
  }

  /** To find out where it was said may take longer than Discord waits. */
  async function ask(id: string, said: SaidIn, guild: string | null) {
    const spot = await parts.spot(said.channel, guild)
    const known = parts.knows(standingIn(said, spot))
    const attachments = known && said.files.length > 0 ? await parts.fetch(id, said.files) : []
    const { text, author, member } = said
    // A draft that stands in the channel, because its thread could not be opened, belongs to the message it answers.
    const own = said.answers !== undefined && parts.isConversation(said.answers)
    const words = { id, text, author, spot, conversation: own ? said.answers : said.channel, attachments }
    const answer = await parts.accept(eventOf(member ? { ...words, member } : words))
    if (answer.type === 'refused' && attachments.length > 0) await parts.drop(id)
    return answer
  }

  /** What is refused quickly is told to them alone; everything else gets its answer when it is there. */
  async function acknowledgeInTime(
    { id, token, application_id: app }: APIInteraction,
    answering: Promise<Accepted | Duplicate | Refused>,
    privately: boolean,
  ): Promise<void> {
    const early = await within(answering, answerWithinMs, clock)
    if (early?.type === 'refused') {
      asked.forget(id)
      if (early.reason === '') return
      return heard(id, api.interactions.reply(id, token, { ...told(early.reason), flags: onlyForThem }))
    }
    await heard(id, api.interactions.defer(id, token, privately ? { flags: onlyForThem } : {}))
    const answer = await answering
    if (answer.type !== 'refused') return
    asked.forget(id)
    const reason = answer.reason || 'Not now.'
    await heard(id, api.interactions.editReply(app, token, told(reason)))
  }

  /** Too late, or heard before we were killed: the answer finds its way all the same. */
  async function heard(id: string, telling: Promise<unknown>): Promise<void> {
    try {
      await telling
    } catch (error) {
      const found = troubleOf(error)
      if (found.type === 'refused' && found.code === codes.alreadyAnswered) return
      asked.forget(id)
      trouble(`a command could not be answered in its place: ${found.why}`)
    }
  }

  async function complete({ id, token }: APIInteraction, said: SaidIn, guild: string | null): Promise<void> {
    const known = parts.knows(standingIn(said, await parts.spot(said.channel, guild)))
    const choices = known ? choicesFor(parts.suggest(said.name), said.typed) : []
    await heard(id, api.interactions.createAutocompleteResponse(id, token, { choices }))
  }
}

interface SaidIn {
  readonly name: string
  /** As it would be typed in any other chat. */
  readonly text: string
  readonly typed: string
  readonly files: readonly AttachmentSeen[]
  readonly author: Person
  readonly member?: Member
  readonly channel: string
  /** Of a button: the message that the one with the button answers. */
  readonly answers?: string | undefined
}

const standingIn = ({ author, member }: SaidIn, spot: Spot) => standingOf(author.id, member?.roles ?? [], spot)

/** Null: nothing that we offer. */
function saidIn(interaction: APIInteraction): SaidIn | null {
  const author = interaction.member?.user ?? interaction.user
  const channel = interaction.channel?.id ?? interaction.channel_id
  if (!author || channel === undefined) return null
  const { member } = interaction
  const who = member
    ? { author, member: { nick: member.nick ?? null, roles: member.roles }, channel }
    : { author, channel }
  if (interaction.type === kinds.component) {
    const answers = interaction.message.message_reference?.message_id
    const stop = { name: 'stop', text: '/stop', typed: '', files: [], answers }
    return interaction.data.custom_id === stopId ? { ...stop, ...who } : null
  }
  if (interaction.type !== kinds.command && interaction.type !== kinds.completion) return null
  if (interaction.data.type !== 1) return null
  const { name, resolved } = interaction.data
  const options = (interaction.data.options ?? []) as readonly Given[]
  const files = slashFiles(options).flatMap(id => resolved?.attachments?.[id] ?? [])
  return { name, text: asTyped(name, options), typed: slashPrompt(options), files, ...who }
}

const told = (reason: string) => ({
  content: reason.slice(0, limits.length),
  allowed_mentions: { parse: [...allowedMentions.parse] },
})
