// Clicks on buttons, and the dialogs in which people write after one.
import { stopButton } from '../../base/buttons.ts'
import type { Click, ClickReply } from '../../base/chat.ts'
import type { Directory } from './directory.ts'
import { troubleOf } from './errors.ts'
import { type ActionPayload, conversationIn, createHandled } from './interactions.ts'
import { type Self, senderOf, targetOf } from './message.ts'
import { contentOf } from './render.ts'
import type { Sending } from './send.ts'
import type { Web } from './web.ts'

export interface ViewPayload {
  readonly type: string
  readonly user: { readonly id: string; readonly team_id?: string }
  readonly view?: {
    readonly id: string
    readonly callback_id: string
    readonly private_metadata: string
    readonly state: {
      readonly values: Readonly<Record<string, Readonly<Record<string, { readonly value?: string | null }>>>>
    }
  }
}

export interface ClickParts {
  readonly web: Web
  readonly directory: Directory
  readonly privately: Sending['privately']
  self(): Self
  clicked(click: Click): Promise<ClickReply>
  trouble(why: string): void
}

/** The message with the button. */
interface Where {
  readonly conversation: string
  readonly ts: string
}

const field = 'text'
const most = { title: 24, label: 2000, text: 3000 }

/** Each resolves with true when it is handled. */
export function createClicks({ web, directory, privately, self, clicked, trouble }: ClickParts) {
  const once = createHandled()

  async function handle(
    button: string,
    { conversation, ts }: Where,
    user: ActionPayload['user'],
    text: string | null,
    ask: (reply: Extract<ClickReply, { type: 'ask' }>) => Promise<unknown>,
  ): Promise<boolean> {
    const { channel, thread } = targetOf(conversation)
    const [place, name] = await Promise.all([directory.channel(channel), directory.user(user.id)])
    const sender = senderOf(user.id, user.team_id ?? self().team, { channel, name: place, thread }, self())
    const message = { place: { chat: 'slack', conversation }, id: ts }
    const reply = await clicked({ button, message, sender, name, text })
    try {
      if (reply.type === 'note') await privately(conversation, user.id, contentOf(reply.text))
      if (reply.type === 'ask') await ask(reply)
    } catch (error) {
      trouble(`a click could not be answered: ${troubleOf(error).why}`)
    }
    return true
  }

  return {
    /** Null: it is something else. */
    action({ type, user, channel, message, actions = [], trigger_id }: ActionPayload): Promise<boolean> | null {
      const [one] = actions
      if (type !== 'block_actions' || !one || one.action_id === stopButton.id || !channel || !message) return null
      const where = { conversation: conversationIn(channel.id, one.value), ts: message.ts }
      const open = (reply: Extract<ClickReply, { type: 'ask' }>) =>
        web.call('views.open', { trigger_id, view: dialogOf(one.action_id, where, reply) })
      return once(trigger_id, () => handle(one.action_id, where, user, null, open))
    },

    /** Null: it is something else. */
    submission({ type, user, view }: ViewPayload): Promise<boolean> | null {
      if (type !== 'view_submission' || !view) return null
      const where = JSON.parse(view.private_metadata) as Where
      const text = view.state.values[field]?.[field]?.value ?? ''
      // A dialog is open already, so nothing more is asked.
      return once(view.id, () => handle(view.callback_id, where, user, text, async () => undefined))
    },
  }
}

const plain = (text: string, longest: number) => ({ type: 'plain_text', text: text.slice(0, longest) })

const dialogOf = (button: string, where: Where, { title, label }: Extract<ClickReply, { type: 'ask' }>) => ({
  ...{ type: 'modal', callback_id: button, private_metadata: JSON.stringify(where) },
  ...{ title: plain(title, most.title), submit: plain('Send', most.title), close: plain('Cancel', most.title) },
  blocks: [
    {
      ...{ type: 'input', block_id: field, label: plain(label, most.label) },
      element: { type: 'plain_text_input', action_id: field, multiline: true, max_length: most.text },
    },
  ],
})
