// Clicks on buttons, and the dialogs in which people write after one.
import type { API, APIInteraction, APIModalSubmission } from '@discordjs/core'
import { stopButton } from '../../base/buttons.ts'
import type { Click, ClickReply } from '../../base/chat.ts'
import type { Clock } from '../../base/time.ts'
import { within } from '../../base/within.ts'
import { troubleOf } from './errors.ts'
import { ephemeral, refusalBody } from './interactions.ts'
import { nameOf, type Spot, senderOf, wholeMember } from './message.ts'

export interface ClickParts {
  readonly api: API
  readonly clock: Clock
  spot(channel: string, guild: string | null): Promise<Spot>
  clicked(click: Click): Promise<ClickReply>
  trouble(why: string): void
}

const kinds = { component: 3, dialog: 5 } as const
/** Discord gives up after three seconds; this leaves time for our reply to arrive. */
const answerWithinMs = 2000
const most = { title: 45, label: 45, text: 4000 }
const field = 'text'

/** Resolves with false if it is something else. */
export function createClicks({ api, clock, spot, clicked, trouble }: ClickParts) {
  return async (interaction: APIInteraction): Promise<boolean> => {
    const { id, token, application_id: app } = interaction
    const asking = clickIn(interaction)
    if (!asking) return false
    const answering = asking.then(clicked)
    try {
      const reply = await within(answering, answerWithinMs, clock)
      if (reply) await answer(reply)
      else {
        await api.interactions.deferMessageUpdate(id, token)
        const late = await answering
        if (late.type === 'note')
          await api.interactions.followUp(app, token, { ...refusalBody(late.text), flags: ephemeral })
      }
    } catch (error) {
      trouble(`a click could not be answered: ${troubleOf(error).why}`)
    }
    return true

    async function answer(reply: ClickReply): Promise<void> {
      switch (reply.type) {
        case 'done':
          return void (await api.interactions.deferMessageUpdate(id, token))
        case 'note':
          return void (await api.interactions.reply(id, token, { ...refusalBody(reply.text), flags: ephemeral }))
        case 'ask':
          return void (await api.interactions.createModal(id, token, dialogOf((await asking)?.button ?? '', reply)))
        default:
          reply satisfies never
      }
    }
  }

  function clickIn(interaction: APIInteraction): Promise<Click> | null {
    const { type, member, message, guild_id: guild = null } = interaction
    const author = member?.user ?? interaction.user
    const channel = interaction.channel?.id ?? interaction.channel_id
    if (type !== kinds.component && type !== kinds.dialog) return null
    const button = interaction.data.custom_id
    if (!author || !message || channel === undefined || button === stopButton.id) return null
    const text = type === kinds.dialog ? writtenIn(interaction.data) : null
    const whole = member ? wholeMember(member) : undefined
    return spot(channel, guild).then(where => ({
      ...{ button, text, name: nameOf(author, whole) },
      message: { place: { chat: 'discord', conversation: channel }, id: message.id },
      sender: senderOf(author.id, whole?.roles ?? [], where),
    }))
  }
}

/** The id of the button is also the id of its dialog. */
const dialogOf = (button: string, { title, label }: Extract<ClickReply, { type: 'ask' }>) => ({
  custom_id: button,
  title: title.slice(0, most.title),
  components: [
    {
      type: 1 as const,
      components: [
        {
          ...{ type: 4 as const, style: 2 as const, custom_id: field, label: label.slice(0, most.label) },
          ...{ required: true, max_length: most.text },
        },
      ],
    },
  ],
})

function writtenIn({ components }: APIModalSubmission): string {
  const inputs = components.flatMap(row =>
    'components' in row ? row.components : 'component' in row ? [row.component] : [],
  )
  const found = inputs.find(one => one.custom_id === field)
  return found && 'value' in found ? String(found.value ?? '') : ''
}
