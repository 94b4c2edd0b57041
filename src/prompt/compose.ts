// The prompt of a turn: what the person wrote, after what the gateway has to say about it.
import { behalfOf, type NewEvent } from '../base/event.ts'
import { attachedLine } from './attached.ts'
import { defused, senderLine } from './sender.ts'
import { assignmentWords, reportWords } from './subagents.ts'
import { webhookWords } from './webhook.ts'

export interface PromptParts {
  readonly text: string
  /** A line made by `timeLine`. */
  readonly time?: string
  /** A block made by `recallHistory`. */
  readonly history?: string
  /** The last attempt at this message was cut off. */
  readonly interrupted?: boolean
  /** What the gateway has to say about an earlier turn. */
  readonly note?: string | null
  /** Earlier messages that are answered together with this one, oldest first. */
  readonly collected?: readonly string[]
}

/** What an event says to the agent; where anybody can speak, under a line that tells who does. */
export const wordsOf = (event: NewEvent): string => {
  const { what, standing } = event
  if (what.kind === 'webhook') return webhookWords(what)
  if (what.kind === 'assignment') return assignmentWords(what, behalfOf(event))
  if (what.kind === 'report') return reportWords(what, behalfOf(event))
  const words = 'text' in what ? what.text : what.instruction
  const files = 'attachments' in what ? (what.attachments ?? []).map(one => `${attachedLine(one)}\n`).join('') : ''
  if (!standing || !('author' in what)) return `${files}${words}`
  return `${senderLine({ author: what.author, standing })}\n${files}${defused(words)}`
}

/** The text stands complete and verbatim at the end; with nothing to add, it is all there is. */
export const composePrompt = ({
  text,
  time = '',
  history = '',
  interrupted = false,
  note = null,
  collected = [],
}: PromptParts): string => {
  const before: string[] = []
  if (time !== '') before.push(time)
  if (history !== '') before.push(history)
  if (note !== null) before.push(note)
  if (interrupted) before.push(interruptedNote())
  if (collected.length > 0) {
    const count = collected.length + 1
    before.push(`[Gateway: ${count} messages came in, oldest first. Answer them together, in one reply.]`)
    for (const [index, message] of collected.entries()) before.push(`[Message ${index + 1} of ${count}]\n${message}`)
    return `${before.join('\n\n')}\n\n[Message ${count} of ${count}]\n${text}`
  }
  return [...before, text].join('\n\n')
}

export const interruptedNote = (): string =>
  '[Gateway: your turn on the message below was cut off and begins again now. Some of it may already be done: look first at ' +
  'what you find, do nothing twice that must happen once, and then finish.]'
