// Admits events to the lanes. Each received event is accepted, recognized as a duplicate, or refused with a reason.

import type { DescentLimits } from '../base/descent.ts'
import {
  type Accepted,
  type Changed,
  type Duplicate,
  type EventSink,
  type LaneKey,
  type NewEvent,
  principalOf,
  type RefusalReason,
  type Refused,
} from '../base/event.ts'
import type { FollowUp, Lanes } from '../base/lanes.ts'
import type { Emit } from '../base/signal.ts'
import { errorText } from '../base/unknown.ts'
import type { CommandAnswer } from './command.ts'
import type { ParsedCommand } from './commands.ts'
import { type Budget, type Gate, invitation } from './gate.ts'

export interface IntakeParts {
  readonly inbox: Lanes<NewEvent>
  readonly emit: Emit
  readonly maxCharacters: number
  /** Decides about people in places where anybody can write. */
  readonly gate: Gate
  readonly budget: Pick<Budget, 'objection'>
  readonly admits: DescentLimits['admits']
  /** Tells commands from messages for the agent. */
  parse(text: string, lane: LaneKey): ParsedCommand
  /** Hands this waiting message to the turn that is running, if that is possible. Never rejects. */
  steer(event: NewEvent, asked: boolean): void
  /** Whether every message that would have to wait is handed to the running turn. */
  steersAlways(): boolean
  /** The deliveries that carry the answer to a command. */
  deliveries(event: NewEvent, answer: CommandAnswer): readonly FollowUp[]
  /** The text of a refusal. */
  reason(why: RefusalReason, depth: number): string
}

export interface Intake {
  readonly accept: EventSink
  /** For events that a chat itself rejects: counted and reported like other refusals unless already taken. Never rejects. */
  refuse(event: NewEvent, why: RefusalReason): Promise<Duplicate | Refused>
  /** Edits (null: cancels) a waiting event, under the same rules as a new one. Never rejects. */
  change(key: string, event: NewEvent | null): Promise<Changed>
  close(): void
}

export function openIntake({
  inbox,
  emit,
  maxCharacters,
  gate,
  budget,
  admits,
  parse,
  steer,
  steersAlways,
  deliveries,
  reason,
}: IntakeParts): Intake {
  let closed = false

  const objection = ({ what }: NewEvent): RefusalReason | null => {
    if (closed) return 'stopping'
    if (what.kind !== 'message') return null
    if (what.text.trim() === '' && !what.attachments?.length) return 'empty'
    return what.text.length > maxCharacters ? 'too-long' : null
  }

  /** Everything that does not start with a slash is for the agent. */
  const understood = (text: string, lane: LaneKey): ParsedCommand =>
    /^\s*\//.test(text) ? parse(text, lane) : { type: 'message', text }

  const emitRefusal = ({ source, lane }: NewEvent, why: RefusalReason, depth: number) =>
    emit({ type: 'event-refused', source, lane, why, depth })

  const refuse = (event: NewEvent, why: RefusalReason, depth: number): Refused => {
    emitRefusal(event, why, depth)
    return { type: 'refused', why, reason: reason(why, depth) }
  }

  /** The event with its author as the gate knows them, or the refusal. */
  async function admit(given: NewEvent): Promise<NewEvent | Duplicate | Refused> {
    const { sender, what } = given
    if (!sender) return given
    const verdict = await gate.admit(sender, 'author' in what ? what.author.name : '')
    switch (verdict.type) {
      case 'in':
        return withOwner(given, verdict.owner)
      case 'stranger': {
        const words = verdict.code === null ? '' : `${reason('stranger', 0)} ${invitation(verdict.code)}`
        return turnAway(given, 'stranger', words)
      }
      case 'too-fast':
        return turnAway(given, 'too-fast', verdict.warn ? reason('too-fast', 0) : '')
      default:
        return verdict satisfies never
    }
  }

  /** Only counts the refusal. Without an answer there is no signal either, so that strangers cannot fill the log. */
  async function turnAway(event: NewEvent, why: RefusalReason, words: string): Promise<Duplicate | Refused> {
    const known = await inbox.refuse(event.lane, event.key)
    if (known) return known
    if (words !== '') emitRefusal(event, why, inbox.depth().waiting)
    return { type: 'refused', why, reason: words }
  }

  /** Runs the command first and stores it afterwards: in the other order, a kill in between would lose the command. */
  async function runCommand(
    event: NewEvent,
    parsed: Extract<ParsedCommand, { type: 'command' }>,
  ): Promise<Accepted | Duplicate | Refused> {
    if (event.what.kind !== 'message') return refuse(event, 'not-stored', 0)
    const { lane, key, what, replyTo: place } = event
    try {
      if (await inbox.knows(key)) return { type: 'duplicate', id: 0 }
      const author = { ...what.author, id: principalOf(event).person ?? what.author.id }
      const answer = await parsed.answer({ lane, author, place, key })
      const command: NewEvent = { ...event, what: { ...what, kind: 'command' } }
      const stored = await inbox.file(lane, key, command, deliveries(command, answer))
      emit({ type: 'command-answered', source: event.source, lane })
      return stored === 'filed' ? { type: 'accepted', id: 0, position: 0 } : { type: 'duplicate', id: 0 }
    } catch (error) {
      notStored(error)
      return refuse(event, 'not-stored', inbox.depth().waiting)
    }
  }

  const notStored = (error: unknown) =>
    emit({
      type: 'workspace-trouble',
      file: 'the database',
      why: errorText(error),
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
        const who = event?.sender ? gate.who(event.sender) : null
        if (event?.sender && who === null) return { changed: false, reason: '' }
        const why = event === null ? null : objection(event)
        if (why !== null) return unchanged(reason(why, inbox.depth().waiting))
        const parsed = event?.what.kind === 'message' ? understood(event.what.text, event.lane) : null
        if (parsed?.type === 'command') return unchanged('A message cannot become a command; send it as a new message.')
        const decided = event?.sender ? withOwner(event, who === 'owner') : event
        return (await inbox.change(key, decided && parsed ? withText(decided, parsed.text) : decided))
          ? { changed: true }
          : unchanged('It is no longer waiting.')
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
        // A person who cannot be looked up is refused. A stranger who cannot get a code gets no answer.
        notStored(error)
        return { type: 'refused', why: 'not-stored', reason: '' }
      }
      const wrong = objection(event)
      const parsed = wrong === null && event.what.kind === 'message' ? understood(event.what.text, event.lane) : null
      // Commands are free, so the budget does not apply.
      if (parsed?.type === 'command') return runCommand(event, parsed)
      if (parsed) event = withText(event, parsed.text)
      let why = wrong ?? (budget.objection(event) === null ? null : 'over-budget')
      try {
        if (why === null && event.what.kind === 'message' && !(await admits(principalOf(event)))) why = 'used-up'
        if (why !== null) return await turnAway(event, why, reason(why, inbox.depth().waiting))
        const put = await inbox.put(event.lane, event.key, event)
        if (put.type === 'refused') return refuse(event, put.why, put.depth)
        if (put.type === 'accepted')
          emit({ type: 'event-accepted', id: put.id, source: event.source, lane: event.lane, kind: event.what.kind })
        const asked = parsed?.steer === true
        if (put.type === 'accepted' && put.position > 0 && parsed && (asked || steersAlways())) steer(event, asked)
        return put
      } catch (error) {
        // It is not on disk, so it is not accepted, and the sender must learn that.
        notStored(error)
        return refuse(event, why ?? 'not-stored', inbox.depth().waiting)
      }
    },
    close() {
      closed = true
    },
  }
}

/** Removes the command that only introduces a message, such as /ask. */
function withText(event: NewEvent, text: string): NewEvent {
  return event.what.kind === 'message' ? { ...event, what: { ...event.what, text } } : event
}

/** The chat does not know who the owner is; the gate does. */
function withOwner(event: NewEvent, owner: boolean): NewEvent {
  const { what } = event
  return 'author' in what ? { ...event, what: { ...what, author: { ...what.author, owner } } } : event
}
