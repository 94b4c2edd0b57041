// The two boxes of the gateway: what comes in and what goes out, each with its rules and its words for a bad end.
import type { TurnEnd } from '../base/agent.ts'
import type { Letter } from '../base/chat.ts'
import { isBackground, type NewEvent } from '../base/event.ts'
import type { FollowUp, Lanes, Shelf, Taken } from '../base/lanes.ts'
import type { Tell } from '../base/signal.ts'
import type { Clock } from '../base/time.ts'
import { openLanes } from '../lanes/index.ts'
import type { Config } from './config.ts'

const maxAttempts = 3

export interface BoxesParts {
  readonly shelf: Shelf
  readonly clock: Clock
  readonly config: Config
  readonly tell: Tell
  /** What follows from an end: letters, or a report. */
  told(taken: Taken<NewEvent>, end: TurnEnd): readonly FollowUp[]
  bug(error: unknown): void
}

export async function openBoxes({ shelf, clock, config, tell, told, bug }: BoxesParts) {
  const stuck = (error: unknown) => tell({ type: 'workspace-trouble', file: 'the database', why: String(error) })
  const inbox: Lanes<NewEvent> = await openLanes<NewEvent>(shelf, clock, {
    box: 'in',
    atOnce: config.queue.maxConcurrent,
    maxDepth: config.queue.maxDepth,
    busy: config.queue.busy,
    background: isBackground,
    collect: config.queue.collect,
    taking: 'durably',
    maxAttempts,
    giveUp(taken) {
      tell({ type: 'event-set-aside', id: taken.id, lane: taken.lane, attempts: maxAttempts })
      return {
        type: 'failed',
        why: 'set aside',
        followUps: told(taken, { type: 'set-aside', attempts: maxAttempts }),
      }
    },
    broke(taken, error) {
      bug(error)
      return { type: 'failed', why: 'broke', followUps: told(taken, { type: 'broke', error }) }
    },
    stuck,
  })
  const outbox: Lanes<Letter> = await openLanes<Letter>(shelf, clock, {
    box: 'out',
    atOnce: Number.POSITIVE_INFINITY,
    maxDepth: Number.POSITIVE_INFINITY,
    busy: 'queue',
    collect: false,
    // An answer does not wait for the disk a second time; a letter that is sent again is known by its key.
    taking: 'lightly',
    // A letter cut off by crashes is the crash's fault far more often than the letter's.
    maxAttempts: 20,
    giveUp({ id, item }) {
      tell({ type: 'letter-refused', id, place: item.place, length: item.text.length, why: 'cut off too often' })
      return { type: 'failed', why: 'set aside' }
    },
    broke(_, error) {
      bug(error)
      return { type: 'failed', why: 'broke' }
    },
    stuck,
  })
  return { inbox, outbox }
}
