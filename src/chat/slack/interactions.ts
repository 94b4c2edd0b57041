// The slash command and the stop button: both become what would be typed in any other chat.
import { stopButton } from '../../base/buttons.ts'
import type { ChatCommands, ChatPeople } from '../../base/chat-module.ts'
import type { Accepted, Duplicate, NewEvent, Refused } from '../../base/event.ts'
import type { Clock } from '../../base/time.ts'
import type { Directory } from './directory.ts'
import { eventOf, isDirect, type Self, senderOf, targetOf } from './message.ts'
import type { Questions } from './questions.ts'
import { contentOf } from './render.ts'
import type { Sending } from './send.ts'

export interface SlashPayload {
  readonly text?: string
  readonly user_id: string
  readonly channel_id: string
  readonly team_id?: string
  readonly trigger_id: string
  readonly response_url: string
}

export interface ActionPayload {
  readonly type: string
  readonly user: { readonly id: string; readonly team_id?: string }
  readonly channel?: { readonly id: string }
  readonly message?: { readonly ts: string }
  readonly actions?: readonly { readonly action_id: string; readonly value?: string }[]
  readonly trigger_id: string
  readonly response_url?: string
}

export interface InteractionParts {
  readonly clock: Clock
  readonly commands: Pick<ChatCommands, 'list'>
  readonly directory: Directory
  readonly questions: Questions
  readonly respond: Sending['respond']
  readonly knows: ChatPeople['knows']
  self(): Self
  accept(event: NewEvent): Promise<Accepted | Duplicate | Refused>
  trouble(why: string): void
}

interface Input {
  readonly id: string
  readonly text: string
  readonly user: string
  readonly team: string | undefined
  readonly channel: string
  readonly conversation: string
  readonly url: string
  /** Only the person who used it sees the answer. */
  readonly privately: boolean
}

/** Slack accepts answers for thirty minutes; a little less is safe. */
const answerableMs = 29 * 60_000
const mostRemembered = 1000

/** A repeated envelope must not be carried out a second time. */
export function createHandled() {
  const handled = new Map<string, Promise<boolean>>()
  return (id: string, work: () => Promise<boolean>): Promise<boolean> => {
    const before = handled.get(id)
    if (before) return before
    if (handled.size >= mostRemembered) handled.delete(handled.keys().next().value ?? '')
    const working = work()
    handled.set(id, working)
    working.then(
      done => done || handled.delete(id),
      () => handled.delete(id),
    )
    return working
  }
}

export function createInteractions(parts: InteractionParts) {
  const { clock, directory, questions, commands } = parts
  const rowOf = (name: string) => commands.list.find(({ names }) => names.includes(name))
  const handled = createHandled()
  const once = (input: Input) => handled(input.id, () => ask(input))

  async function ask(input: Input): Promise<boolean> {
    const { id, user, channel, conversation, url, privately } = input
    const self = parts.self()
    questions.remember(id, { url, until: clock.now() + answerableMs, privately, user })
    const [name, author] = await Promise.all([directory.channel(channel), directory.user(user)])
    const spot = { channel, name, thread: targetOf(conversation).thread }
    const sender = senderOf(user, input.team ?? self.team, spot, self)
    const words = { id, text: input.text, author: { id: user, name: author }, sender, conversation }
    const answer = await parts.accept(eventOf({ ...words, attachments: [], ts: null, missed: false }))
    if (answer.type !== 'refused') return true
    if (answer.why === 'stopping') return false
    // Refusals, with or without a pairing code, are nobody else's business.
    questions.remember(id, { url, until: clock.now() + answerableMs, privately: true, user })
    if (answer.reason !== '')
      await parts.respond(id, contentOf(answer.reason)).catch(error => parts.trouble(String(error)))
    return true
  }

  return {
    /** `/aetheel status` is the command /status; anything else after `/aetheel` is a message. */
    slash({
      text = '',
      user_id: user,
      channel_id: channel,
      team_id: team,
      trigger_id,
      response_url: url,
    }: SlashPayload) {
      const typed = text.trim() === '' ? 'help' : text.trim()
      const [, name = ''] = /^\/?([\w-]+)/.exec(typed) ?? []
      const row = rowOf(name)
      const privately = row !== undefined && !row.asks && !isDirect(channel)
      const words = row === undefined ? typed : `/${typed.replace(/^\//, '')}`
      const where = { channel, conversation: channel, team }
      return once({ id: `command-${trigger_id}`, text: words, user, url, privately, ...where })
    },

    async action({ type, user, channel, actions = [], trigger_id, response_url: url = '' }: ActionPayload) {
      const stop = actions.find(({ action_id }) => action_id === stopButton.id)
      if (type !== 'block_actions' || stop === undefined || channel === undefined) return true
      const conversation = conversationIn(channel.id, stop.value)
      const where = { channel: channel.id, conversation, team: user.team_id }
      return once({ id: `button-${trigger_id}`, text: '/stop', user: user.id, url, privately: true, ...where })
    },

    /** Slack's own client takes every message that starts with a slash; so `!status` works as well. */
    asCommand(text: string): string {
      const [, name = ''] = /^!([\w-]+)(?=\s|$)/.exec(text) ?? []
      return rowOf(name) === undefined ? text : `/${text.slice(1)}`
    },
  }
}

/** Of a button. The value is ours, but only its channel is certain. */
export const conversationIn = (channel: string, value = ''): string =>
  targetOf(value).channel === channel ? value : channel
