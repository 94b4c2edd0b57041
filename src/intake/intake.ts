// Checks what comes in and hands it to the lanes; each received event is accepted, known or refused with a reason.
import type { Accepted, Changed, Duplicate, EventSink, NewEvent, RefusalReason, Refused } from '../base/event.ts'
import type { FollowUp, Lanes } from '../base/lanes.ts'
import type { Tell } from '../base/signal.ts'
import type { Budget } from './budget.ts'
import type { Heard } from './commands.ts'
import { type Gate, invitation } from './gate.ts'

export interface IntakeParts {
  readonly inbox: Lanes<NewEvent>
  readonly tell: Tell
  readonly maxCharacters: number
  /** Decides about whoever speaks where anybody can. */
  readonly gate: Gate
  readonly budget: Pick<Budget, 'objection'>
  /** What a text is: for the agent, or for us. */
  hear(text: string): Heard
  /** The letters that carry the answer to a command. */
  letters(event: NewEvent, text: string): readonly FollowUp[]
  /** The words of a refusal. */
  reason(why: RefusalReason, depth: number): string
}

export interface Intake {
  readonly accept: EventSink
  /** For what a chat itself found wanting: counted and told as all that is refused, unless it was taken before. Never rejects. */
  refuse(event: NewEvent, why: RefusalReason): Promise<Duplicate | Refused>
  /** Edits (null: cancels) what waits, under the same rules as what is new. Never rejects. */
  change(key: string, event: NewEvent | null): Promise<Changed>
  /** From now on everything is refused. */
  close(): void
}

export function openIntake({ inbox, tell, maxCharacters, gate, budget, hear, letters, reason }: IntakeParts): Intake {
  let closed = false

  const objection = ({ what }: NewEvent): RefusalReason | null => {
    if (closed) return 'stopping'
    if (what.kind !== 'message') return null
    if (what.text.trim() === '' && !what.attachments?.length) return 'empty'
    return what.text.length > maxCharacters ? 'too-long' : null
  }

  const tellRefusal = ({ source, lane }: NewEvent, why: RefusalReason, depth: number) =>
    tell({ type: 'event-refused', source, lane, why, depth })

  const refuse = (event: NewEvent, why: RefusalReason, depth: number): Refused => {
    tellRefusal(event, why, depth)
    return { type: 'refused', why, reason: reason(why, depth) }
  }

  /** The event with its author as the gate has it; or the end of what stays outside. */
  async function admit(given: NewEvent): Promise<NewEvent | Duplicate | Refused> {
    const { standing, what } = given
    if (!standing) return given
    const verdict = await gate.admit(standing, 'author' in what ? what.author.name : '')
    switch (verdict.type) {
      case 'in':
        return writtenBy(given, verdict.owner)
      case 'stranger': {
        const words = verdict.code === null ? '' : `${reason('stranger', 0)} ${invitation(verdict.code)}`
        return turnAway(given, 'stranger', words)
      }
      case 'too-fast':
        return turnAway(given, 'too-fast', verdict.told ? reason('too-fast', 0) : '')
      default:
        return verdict satisfies never
    }
  }

  /** Counted, and nothing else is kept of it. What nobody is told is no signal either: a log is easily filled that way. */
  async function turnAway(event: NewEvent, why: RefusalReason, words: string): Promise<Duplicate | Refused> {
    const known = await inbox.refuse(event.lane, event.key)
    if (known) return known
    if (words !== '') tellRefusal(event, why, inbox.depth().waiting)
    return { type: 'refused', why, reason: words }
  }

  /** Done first and written down then: were it the other way round, a kill in between would leave it undone. */
  async function obey(
    event: NewEvent,
    heard: Extract<Heard, { type: 'command' }>,
  ): Promise<Accepted | Duplicate | Refused> {
    if (event.what.kind !== 'message') return refuse(event, 'not-stored', 0)
    const { lane, key, what, replyTo: place } = event
    try {
      if (await inbox.knows(key)) return { type: 'duplicate', id: 0 }
      const text = await heard.answer({ lane, author: what.author, place, key })
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
    async refuse(event, why) {
      try {
        return await turnAway(event, why, reason(why, inbox.depth().waiting))
      } catch (error) {
        notStored(error)
        return refuse(event, why, inbox.depth().waiting)
      }
    },
    async change(key, event) {
      const unchanged = (why: string) => ({ changed: false, reason: `Not changed. ${why}` }) as const
      try {
        const who = event?.standing ? gate.who(event.standing) : null
        if (event?.standing && who === null) return { changed: false, reason: '' }
        const why = event === null ? null : objection(event)
        if (why !== null) return unchanged(reason(why, inbox.depth().waiting))
        const heard = event?.what.kind === 'message' ? hear(event.what.text) : null
        if (heard?.type === 'command') return unchanged('A message cannot become a command; send it by itself.')
        const decided = event?.standing ? writtenBy(event, who === 'owner') : event
        return (await inbox.change(key, decided && heard ? spoken(decided, heard.text) : decided))
          ? { changed: true }
          : unchanged('It does not wait any more.')
      } catch (error) {
        notStored(error)
        return unchanged('It could not be stored; try again in a moment.')
      }
    },
    async accept(given) {
      let event: NewEvent
      try {
        const admitted = await admit(given)
        if ('type' in admitted) return admitted
        event = admitted
      } catch (error) {
        // Whoever could not be looked up stays outside; a stranger who cannot get a code hears nothing.
        notStored(error)
        return { type: 'refused', why: 'not-stored', reason: '' }
      }
      const wrong = objection(event)
      const heard = wrong === null && event.what.kind === 'message' ? hear(event.what.text) : null
      // A command costs nothing.
      if (heard?.type === 'command') return obey(event, heard)
      if (heard) event = spoken(event, heard.text)
      const why = wrong ?? (budget.objection(event) === null ? null : 'over-budget')
      try {
        if (why !== null) return await turnAway(event, why, reason(why, inbox.depth().waiting))
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

/** Without the command that only says that a message follows. */
function spoken(event: NewEvent, text: string): NewEvent {
  return event.what.kind === 'message' ? { ...event, what: { ...event.what, text } } : event
}

/** Whoever reported it cannot know who the owner is; the gate does. */
function writtenBy(event: NewEvent, owner: boolean): NewEvent {
  const { what } = event
  return 'author' in what ? { ...event, what: { ...what, author: { ...what.author, owner } } } : event
}
