// The instructions of boot.md: queued at each start until they have succeeded once, then never again.
import { createHash } from 'node:crypto'
import type { EventSink, NewEvent, Place } from '../base/event.ts'
import type { Lanes, Outcome, Taken } from '../base/lanes.ts'

export interface InitialisingParts {
  /** Which instructions are done, by their digest. */
  readonly store: { isDone(digest: string): boolean; done(digest: string): Promise<void> }
  readonly inbox: Pick<Lanes<NewEvent>, 'isBusy'>
  readonly accept: EventSink
  /** Null if boot.md has none. */
  instructions(): Promise<string | null>
  placeOf(channel: null): Place | null
  now(): number
}

type Take = (taken: Taken<NewEvent>, signal: AbortSignal) => Promise<Outcome>

const lane = 'hook:boot'

export function createBootTask({ store, inbox, accept, instructions, placeOf, now }: InitialisingParts) {
  return {
    /** Null if there is nothing to do. */
    async begin(): Promise<'queued' | 'refused' | null> {
      const instruction = await instructions()
      // An interrupted run is resumed by the queue itself.
      if (instruction === null || store.isDone(digestOf(instruction)) || inbox.isBusy(lane)) return null
      const put = await accept({
        ...{ key: `${lane}@${now()}`, lane, replyTo: placeOf(null), source: 'hook' },
        what: { kind: 'hook', name: 'boot', instruction },
      })
      return put.type === 'refused' ? 'refused' : 'queued'
    },
    listen:
      (take: Take): Take =>
      async (taken, signal) => {
        const outcome = await take(taken, signal)
        const { what } = taken.item
        if (what.kind === 'hook' && what.name === 'boot' && outcome.type === 'done')
          await store.done(digestOf(what.instruction))
        return outcome
      },
  }
}

const digestOf = (text: string) => createHash('sha256').update(text).digest('hex')
