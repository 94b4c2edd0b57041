// Who changed a file; after a kill, who may have; and notes to them for their next turn.
import { lstatSync, mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { type LaneKey, type NewEvent, principalOf } from '../base/event.ts'
import type { MemoryChange } from '../base/memory.ts'
import { guestFolderOf } from '../base/profile.ts'
import { visible } from '../base/scrub.ts'
import type { Caller } from '../base/tools.ts'

export type Actor = Pick<MemoryChange, 'events' | 'lane' | 'person' | 'owner'> & {
  /** The guest's own folder, in which the turn may write. */
  readonly folder?: string | null
}

/** Somebody with an editor. */
export const byHand: Actor = { events: [], lane: null, person: null, owner: true }

/** Either an edit by hand or a guest's turn: the file times do not tell. The change waits for approval, and nobody is named. */
export const byNobodyKnown: Actor = { events: [], lane: null, person: null, owner: false }

interface Turn {
  readonly id: number
  readonly item: NewEvent
  readonly earlier?: readonly { readonly id: number; readonly item: NewEvent }[]
}

/** A turn that answers several messages belongs to the owner only if all of them do. */
export function actorOf({ id, item, earlier = [] }: Turn): Actor {
  const all = [...earlier, { id, item }]
  const actor = together(all.map(one => ({ events: [one.id], lane: item.lane, ...principalOf(one.item) })))
  return { ...actor, folder: guestFolderOf(all.map(one => one.item)) }
}

export const actorCalling = ({ event, lane, principal: { owner, person } }: Caller): Actor => ({
  ...{ events: [event], lane, owner, person },
})

/** If several turns ran at the same time, nobody can tell whose change it was: it gets the lowest permissions among them. */
export function together(actors: readonly Actor[]): Actor {
  const { lane, person, owner } = actors.find(one => !one.owner) ?? actors[0] ?? byHand
  return { events: [...new Set(actors.flatMap(({ events }) => events))].sort((a, b) => a - b), lane, person, owner }
}

// When a turn was last known to run: after a kill, later changes to files were not made by it.

/** `during`: while a turn ran. `after`: when its process was certainly dead. `unclear`: the times do not tell. */
type Moment = 'during' | 'after' | 'unclear'

export interface LastAlive {
  /** Call when a turn starts; call the returned function at its end. */
  watch(): () => void
  /** For the start after a kill that interrupted turns: tells when a file was changed. */
  afterKill(): (file: string) => Moment
}

const everyMs = 5000
/** How long a process may run after the last sign of life: until the next sign was due, plus the time to end it for certain. */
const defaultDeadAfterMs = 30_000

/** Uses only file system timestamps that nobody can set: other clocks may show another time. */
export function createLastAlive(dir: string, deadAfterMs = defaultDeadAfterMs): LastAlive {
  const path = join(dir, '.aetheel', 'guest-alive')
  let watching = 0
  let timer: NodeJS.Timeout | null = null

  function touch(): void {
    try {
      // Needs no disk space. The given times do not matter: what is used is when they were set.
      utimesSync(path, 0, 0)
    } catch {
      create()
    }
  }

  function create(): void {
    try {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
      writeFileSync(path, '', { mode: 0o600 })
    } catch {
      // Without the file, no change counts as made after a kill.
    }
  }

  /** The current time by the file system's clock; null: nothing can be written. */
  function now(): number | null {
    const probe = `${path}-now`
    try {
      writeFileSync(probe, '', { mode: 0o600 })
      return lstatSync(probe).ctimeMs
    } catch {
      return null
    } finally {
      rmSync(probe, { force: true })
    }
  }

  return {
    watch() {
      watching++
      touch()
      timer ??= setInterval(touch, everyMs).unref()
      return () => {
        watching--
        if (watching > 0 || timer === null) return
        clearInterval(timer)
        timer = null
      }
    },
    afterKill() {
      const aliveAt = lstatSync(path, { throwIfNoEntry: false })?.ctimeMs
      // Also if the clock was set back since.
      if (aliveAt === undefined || (now() ?? 0) < aliveAt) return () => 'unclear'
      return file => momentOf(resolve(dir, file), aliveAt, aliveAt + deadAfterMs)
    },
  }
}

function momentOf(path: string, alive: number, dead: number): Moment {
  const found = lstatSync(path, { throwIfNoEntry: false })
  // Nothing tells when a file was deleted, or when the target of a link changed.
  if (!found || found.isSymbolicLink()) return 'unclear'
  // Copies keep the modification time, and chmod changes only ctime.
  const first = Math.min(found.mtimeMs, found.ctimeMs)
  const last = Math.max(found.mtimeMs, found.ctimeMs)
  if (last <= alive) return 'during'
  return first > dead ? 'after' : 'unclear'
}

// Who may have changed a file that is not as it was before the gateway was killed.

/** `isPower`: the change gives the agent more power. Nobody: it was edited by hand. */
export type Suspects = (file: string, isPower: boolean) => readonly Actor[]

/** `killed`: whose turns were killed. */
export function createSuspects(killed: readonly Actor[], momentOf: ReturnType<LastAlive['afterKill']>): Suspects {
  const areOwners = killed.every(({ owner }) => owner)
  return (file, isPower) => {
    if (areOwners && !isPower) return killed
    const moment = momentOf(file)
    if (moment === 'after') return []
    if (moment === 'during') return killed
    // An owner who mends the configuration after a crash must not have to wait for their own approval.
    return areOwners ? [] : [byNobodyKnown]
  }
}

// Notes of the gateway for the agent's next turn in a lane.

const mostLanes = 1000
const longest = 4000

export function createTurnNotes() {
  const notes = new Map<LaneKey, string>()
  return {
    noteTo(actors: Iterable<Actor>, text: string): void {
      for (const { lane } of actors) {
        if (lane === null || (notes.size >= mostLanes && !notes.has(lane))) continue
        const earlier = notes.get(lane)
        if ((earlier?.length ?? 0) > longest) continue
        // The text names files, and whoever made them chose the name.
        const note = `[Gateway: ${text
          .split('\n')
          .map(line => visible(line, longest))
          .join('\n')}]`
        notes.set(lane, earlier === undefined ? note : `${earlier}\n${note}`)
      }
    },
    /** Returned once; null: none. */
    noteFor(lane: LaneKey): string | null {
      const note = notes.get(lane) ?? null
      notes.delete(lane)
      return note
    },
  }
}
