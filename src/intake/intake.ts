// Checks what comes in and hands it to the lanes; each received event is accepted, known or refused with a reason.
import type { Accepted, Changed, Duplicate, EventSink, NewEvent, RefusalReason, Refused } from '../base/event.ts'
import type { FollowUp, Lanes } from '../base/lanes.ts'
import type { Tell } from '../base/signal.ts'
import type { Heard } from './commands.ts'

export interface IntakeParts {
  readonly inbox: Lanes<NewEvent>
  readonly tell: Tell
  readonly maxCharacters: number
  /** What a text is: for the agent, or for us. */
  hear(text: string): Heard
  /** The letters that carry the answer to a command. */
  letters(event: NewEvent, text: string): readonly FollowUp[]
  /** The words of a refusal. */
  reason(why: RefusalReason, depth: number): string
}

export interface Intake {
  readonly accept: EventSink
  /** Edits (null: cancels) what waits, under the same rules as what is new. Never rejects. */
  change(key: string, event: NewEvent | null): Promise<Changed>
  /** From now on everything is refused. */
  close(): void
}

export function openIntake({ inbox, tell, maxCharacters, hear, letters, reason }: IntakeParts): Intake {
  let closed = false

  const objection = ({ what }: NewEvent): RefusalReason | null => {
    if (closed) return 'stopping'
    if (what.kind !== 'message') return null
    if (what.text.trim() === '') return 'empty'
    return what.text.length > maxCharacters ? 'too-long' : null
  }

  const refuse = (event: NewEvent, why: RefusalReason, depth: number): Refused => {
    tell({ type: 'event-refused', source: event.source, lane: event.lane, why, depth })
    return { type: 'refused', why, reason: reason(why, depth) }
  }

  /** Done first and written down then: a command that comes twice does the same again, one that was lost would not. */
  async function obey(
    event: NewEvent,
    heard: Extract<Heard, { type: 'command' }>,
  ): Promise<Accepted | Duplicate | Refused> {
    if (event.what.kind !== 'message') return refuse(event, 'not-stored', 0)
    const { lane, key, what } = event
    try {
      const text = await heard.answer(lane, what.author)
      const command: NewEvent = { ...event, what: { ...what, kind: 'command' } }
      const filed = await inbox.file(lane, key, command, letters(command, text))
      tell({ type: 'command-answered', source: event.source, lane })
      return filed === 'filed' ? { type: 'accepted', id: 0, position: 0 } : { type: 'duplicate', id: 0 }
    } catch (error) {
      notStored(error)
      return refuse(event, 'not-stored', inbox.depth().waiting)
    }
  }

  const notStored = (error: unknown) =>
    tell({
      type: 'workspace-trouble',
      file: 'the database',
      why: error instanceof Error ? error.message : String(error),
    })

  return {
    async change(key, event) {
      const unchanged = (why: string) => ({ changed: false, reason: `Not changed. ${why}` }) as const
      const why = event === null ? null : objection(event)
      if (why !== null) return unchanged(reason(why, inbox.depth().waiting))
      try {
        return (await inbox.change(key, event)) ? { changed: true } : unchanged('It does not wait any more.')
      } catch (error) {
        notStored(error)
        return unchanged('It could not be stored; try again in a moment.')
      }
    },
    async accept(given) {
      const why = objection(given)
      const heard = why === null && given.what.kind === 'message' ? hear(given.what.text) : null
      if (heard?.type === 'command') return obey(given, heard)
      const event =
        heard && given.what.kind === 'message' ? { ...given, what: { ...given.what, text: heard.text } } : given
      try {
        if (why !== null) {
          await inbox.refuse(event.lane, event.key)
          return refuse(event, why, inbox.depth().waiting)
        }
        const put = await inbox.put(event.lane, event.key, event)
        if (put.type === 'refused') return refuse(event, put.why, put.depth)
        if (put.type === 'accepted')
          tell({ type: 'event-accepted', id: put.id, source: event.source, lane: event.lane, kind: event.what.kind })
        return put
      } catch (error) {
        // The disk did not take it, so it was not accepted, and whoever sent it must know.
        notStored(error)
        return refuse(event, why ?? 'not-stored', inbox.depth().waiting)
      }
    },
    close() {
      closed = true
    },
  }
}
