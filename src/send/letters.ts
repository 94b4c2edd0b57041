// An answer becomes letters: worded, split to what the platform takes, each under a key that makes a repeat harmless.
import type { ChatAdapter, ChatLimits, Letter } from '../base/chat.ts'
import type { NewEvent } from '../base/event.ts'
import type { FollowUp, Taken } from '../base/lanes.ts'
import { split } from './split.ts'

export interface Wording {
  readonly kind: Letter['kind']
  readonly text: string
  readonly ok: boolean
  /** Tells one notice about a message from the next. */
  readonly mark?: string
}

/** The key of the first (often only) piece of an event's final. */
export const finalKey = (eventKey: string) => `${eventKey}#final`

/** `filesIn`: the files of the workspace that a text links to. */
export function openLetters(
  chats: ReadonlyMap<string, ChatAdapter>,
  filesIn: (text: string) => readonly string[] = () => [],
) {
  return (taken: Pick<Taken<NewEvent>, 'key' | 'item' | 'earlier'>, wording: Wording): readonly FollowUp[] => [
    // Only of a message somebody waits to see the end; a report or a webhook has none to show.
    ...(wording.kind === 'final'
      ? taken.earlier
          .filter(one => one.item.what.kind === 'message')
          .flatMap(one => lettersTo(one.item, one.key, togetherWith(wording)))
      : []),
    ...lettersTo(taken.item, taken.key, wording),
  ]

  function lettersTo(event: NewEvent, key: string, { kind, text, ok, mark = '' }: Wording): readonly FollowUp[] {
    const { replyTo: place, what } = event
    if (!place) return []
    const about = what.kind === 'message' || what.kind === 'command' ? what.id : null
    const base = kind === 'final' ? finalKey(key) : `${key}#notice-${mark}`
    return piecesFor(text, chats.get(place.chat)?.limits ?? null).map((piece, i) => {
      const files = ok && what.kind !== 'command' ? filesIn(piece) : []
      return {
        box: 'out',
        lane: `${place.chat}:${place.conversation}`,
        key: i === 0 ? base : `${base}-${i}`,
        item: { place, kind, about, text: piece, ok, ...(files.length === 0 ? {} : { files }) } satisfies Letter,
      }
    })
  }
}

const togetherWith = ({ ok }: Wording): Wording => ({
  kind: 'final',
  text: ok
    ? 'Answered together with your next message.'
    : 'Taken together with your next message, which failed: see there.',
  ok,
})

/** Where a chat takes no files, they are named: a text that is about them would make no sense, and an empty one none at all. */
export function withFilesNamed(text: string, files: readonly string[], limits: ChatLimits | null): string {
  const named = limits?.namesFiles === true ? files.filter(file => !text.includes(file)) : []
  if (named.length === 0) return text
  const list = named.map(file => `\`${file}\``).join(', ')
  return `${text.trimEnd()}\n\nIn the workspace: ${list}`.trimStart()
}

/** A text in pieces that a platform takes. */
export function piecesFor(text: string, limits: ChatLimits | null): readonly string[] {
  const tooLong = limits !== null && limits.measure(text) > limits.length
  const asFile = limits?.fileOver !== undefined && limits.measure(text) > limits.fileOver
  const parts = limits && tooLong && !asFile ? split(text, limits) : [text]
  // Every message has a visible end, also when the agent had nothing to say.
  return parts.some(part => part.trim() !== '') ? parts : ['(The agent ended without a word.)']
}
