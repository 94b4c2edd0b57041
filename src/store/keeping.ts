// The keeper of the files that say who the agent is: knows who changed them, and puts back what was changed on a stranger's words.
import { type ConfigFileName, isConfigFile } from '../base/config-files.ts'
import type { LaneKey, NewEvent } from '../base/event.ts'
import type { OwnFiles } from '../base/files.ts'
import type { Taken } from '../base/lanes.ts'
import type { MemoryChange, MemoryLog } from '../base/memory.ts'
import type { Tell } from '../base/signal.ts'
import type { Clock } from '../base/time.ts'
import { absent, type Change, type Changes, isTooLong, isUnkept, shownChange, type Version } from './changes.ts'
import { byHand, type Doer, doerOf, together } from './doer.ts'
import { asideNameFor, type Found, openKeptFiles } from './kept-files.ts'
import { type MemoryEdits, openMemoryLog } from './memory-log.ts'
import { openOwnFiles } from './own-files.ts'

export interface KeeperParts {
  /** The workspace. */
  readonly dir: string
  readonly changes: Changes
  readonly clock: Clock
  readonly tell: Tell
  /** What is wrong with a file of settings of this text; null: nothing. */
  checkConfig(file: ConfigFileName, text: string): Promise<string | null>
  /** One of the files of settings is another one, and it loads. */
  configChanged(): void | Promise<void>
  /** A change waits for the owner from now on. */
  notify(change: MemoryChange): void
  /** Takes secrets out of what is shown of the files of settings. */
  scrub(text: string): string
}

/** An event that ran when the gateway was killed. */
export type Interrupted = Pick<Taken<NewEvent>, 'id' | 'item'>

export interface Keeper extends MemoryLog, MemoryEdits {
  /** Once, after the missing files were made and before the first turn: finds what changed while nobody looked. */
  begin(interrupted: readonly Interrupted[]): Promise<void>
  /** Told before a turn begins; what it returns is awaited at its end. Neither throws. */
  attend(taken: Taken<NewEvent>): () => Promise<void>
  /** Finds what was edited by hand, if no turn runs that may have done it. */
  catchUp(): Promise<void>
  /**
   * What counts of a file where a guest may have been at it just now: its text without that, null for no file. Undefined: as it stands
   * on the disk. What takes effect while a turn runs must ask: by the end of the turn, when the file is put back, it would be too late.
   */
  approved(file: string): string | null | undefined
  /** The files as the owner edits them in a window. */
  readonly own: OwnFiles
  /** What the agent should hear in the next turn of this lane; told once. */
  noteFor(lane: LaneKey): string | null
}

/** What the workspace makes of a memory.md that is missing, also in the middle of a turn. */
const emptyMemory = '# Memory\n'
const mostTries = 5
const mostNotes = 1000
/** A file is often emptied before it is written: what is about to be put back must have been the same for so long. */
const steadyMs = 30
const notKept = 'is no text file of the workspace of at most 4 MB: its changes can be neither kept nor put back'
const never = new AbortController().signal

export function openKeeper(parts: KeeperParts): Keeper {
  const { changes, clock, tell } = parts
  const files = openKeptFiles(parts.dir)
  /** What may stand there: all that was found and not put back. */
  const known = new Map<string, Version>()
  const present = new Set<Doer>()
  /** Who may have made a change that is not dealt with yet. */
  const blamed = new Map<string, ReadonlySet<Doer>>()
  const told = new Map<string, string>()
  const notes = new Map<LaneKey, string>()
  let last: Promise<unknown> = Promise.resolve()

  /** One at a time: each looks at the disk, decides and writes. */
  function inOrder<T>(work: () => Promise<T>): Promise<T> {
    const result = last.then(work)
    last = result.catch(() => undefined)
    return result
  }

  function trouble(file: string, why: string): void {
    if (told.get(file) === why) return
    told.set(file, why)
    tell({ type: 'workspace-trouble', file, why })
  }

  const standingIn = (file: string): Version => known.get(file) ?? absent

  function dealtWith(file: string): void {
    blamed.delete(file)
    told.delete(file)
  }

  function blame(file: string, doers: Iterable<Doer>): ReadonlySet<Doer> {
    const all = new Set([...(blamed.get(file) ?? []), ...doers])
    blamed.set(file, all)
    return all
  }

  /** What is not as it is known to be. Without awaiting anything: who is present now is all who can have done it. */
  function changed(): readonly { readonly file: string; readonly now: Found; readonly doers: ReadonlySet<Doer> }[] {
    return [...new Set([...files.names(), ...known.keys()])].flatMap(file => {
      const now = files.look(file)
      if (now.what === 'unreadable') trouble(file, now.why)
      else if (now.hash === standingIn(file).hash) {
        dealtWith(file)
        return []
      }
      const doers = blame(file, present)
      return now.what === 'unreadable' ? [] : [{ file, now, doers }]
    })
  }

  /** What may stay is known from this moment on, before another turn can begin; the rest takes its time. */
  async function lookAround(): Promise<void> {
    const work = changed().map(({ file, now, doers }) => {
      const before = standingIn(file)
      const by = doerFor(file, before, now, doers)
      if (!by.owner || (isConfigFile(file) && by !== byHand)) return inOrder(() => settle(file))
      known.set(file, now)
      dealtWith(file)
      return inOrder(() => recordMade(file, before, now, by))
    })
    await Promise.all(work)
  }

  async function settle(file: string): Promise<void> {
    try {
      for (let tries = 0; tries < mostTries; tries++) {
        const now = files.look(file)
        if (now.what === 'unreadable') {
          blame(file, present)
          return trouble(file, now.why)
        }
        const before = standingIn(file)
        if (now.hash === before.hash) break
        if (await deal(file, before, now, blame(file, present))) break
        if (tries === mostTries - 1) return trouble(file, 'changes all the time; its changes could not be kept yet')
      }
      // Unless somebody was at it again, who is then to be remembered.
      if (isStill(file, standingIn(file))) dealtWith(file)
    } catch (error) {
      blame(file, present)
      trouble(file, `was changed, and that could not be dealt with yet (${String(error)})`)
    }
  }

  /** False: it has changed again meanwhile. */
  function deal(file: string, before: Version, now: Found, doers: ReadonlySet<Doer>): Promise<boolean> {
    const by = doerFor(file, before, now, doers)
    if (!by.owner) return holdBack(file, before, now, by, doers)
    if (!isConfigFile(file) || by === byHand) return adopt(file, before, now, by)
    return admitConfig(file, before, now, by, doers)
  }

  const doerFor = (file: string, before: Version, now: Version, doers: ReadonlySet<Doer>): Doer => {
    const isOurs = file === 'memory.md' && before.hash === '' && now.text === emptyMemory
    return doers.size === 0 || isOurs ? byHand : together([...doers])
  }

  const isStill = (file: string, expected: Version): boolean => {
    const now = files.look(file)
    return now.what !== 'unreadable' && now.hash === expected.hash
  }

  /** From this moment on it is what may stand there; the record follows. */
  function adopt(file: string, before: Version, now: Found, by: Doer): Promise<boolean> {
    known.set(file, now)
    return recordMade(file, before, now, by)
  }

  async function recordMade(file: string, before: Version, now: Found, by: Doer): Promise<boolean> {
    await changes.record({ file, before, after: now, ...by, state: 'made', aside: null }, standingIn(file))
    if (now.what === 'other') tell({ type: 'workspace-trouble', file, why: notKept })
    if (isConfigFile(file) && by === byHand) await tryConfig(file, now)
    return true
  }

  /** By hand people may be in the middle of it: it is left as it is, and what runs goes on with what it has. */
  async function tryConfig(file: ConfigFileName, now: Found): Promise<void> {
    const why = await configTrouble(file, now)
    if (why === null) await parts.configChanged()
    else tell({ type: 'workspace-trouble', file, why: `does not load, the last good one stays: ${why}` })
  }

  const configTrouble = async (file: ConfigFileName, now: Found): Promise<string | null> => {
    if (now.what === 'absent') return null
    return now.text === null ? 'it is not a text file' : parts.checkConfig(file, now.text)
  }

  async function admitConfig(
    file: ConfigFileName,
    before: Version,
    now: Found,
    by: Doer,
    doers: ReadonlySet<Doer>,
  ): Promise<boolean> {
    const why = isUnkept(before) ? null : await configTrouble(file, now)
    if (!isStill(file, now)) return false
    if (why === null) {
      await adopt(file, before, now, by)
      await parts.configChanged()
      return true
    }
    const aside = `${file}.refused`
    if (now.text !== null) await files.writeAside(aside, now.text)
    const refused = { file, before, after: now, ...by, state: 'denied', aside } as const
    await changes.record(refused, before)
    if (!(await putBack(file, before, now, aside))) return false
    noteTo(doers, `your change of ${file} was refused: ${why} The text is in ${aside}.`)
    return true
  }

  /** Recorded before it is put back: a kill in between loses nothing, and what is found again then is the same change. */
  async function holdBack(file: string, before: Version, now: Found, by: Doer, doers: ReadonlySet<Doer>) {
    await clock.sleep(steadyMs, never)
    if (!isStill(file, now)) return false
    if (isUnkept(before)) {
      tell({ type: 'workspace-trouble', file, why: `was changed in a turn of a guest and ${notKept}` })
      return adopt(file, before, now, by)
    }
    const change = await wait(file, before, now, by)
    if (!(await putBack(file, before, now, change.aside))) return false
    // It loads, and after a kill it is what the gateway was started with.
    if (isConfigFile(file)) await parts.configChanged()
    noteTo(doers, `your change of ${file} was put back and waits for your owner's approval (change ${change.id}).`)
    return true
  }

  async function wait(file: string, before: Version, after: Found, by: Doer): Promise<Change> {
    const same = changes.waiting(file, before, after)
    if (same) return same
    const isLong = isTooLong(before) || isTooLong(after)
    const aside = after.what === 'other' || (isLong && after.text !== null) ? asideNameFor(file, clock.now()) : null
    if (aside !== null && after.text !== null) await files.writeAside(aside, after.text)
    const change = await changes.record({ file, before, after, ...by, state: 'waiting', aside }, before)
    parts.notify(shown(change))
    return change
  }

  async function putBack(file: string, before: Version, now: Found, aside: string | null): Promise<boolean> {
    if (now.what !== 'other' || aside === null) return files.replace(file, now, before.text)
    if (!(await files.setAside(file, now, aside))) return false
    return before.text === null || files.replace(file, absent, before.text)
  }

  function noteTo(doers: Iterable<Doer>, words: string): void {
    for (const { lane } of doers) {
      if (lane === null || (notes.size >= mostNotes && !notes.has(lane))) continue
      const earlier = notes.get(lane)
      notes.set(lane, `${earlier === undefined ? '' : `${earlier}\n`}[Gateway: ${words}]`)
    }
  }

  function shown(change: Change): MemoryChange {
    const whole = shownChange(change)
    return isConfigFile(change.file) ? { ...whole, diff: parts.scrub(whole.diff) } : whole
  }

  async function catchUp(): Promise<void> {
    if (present.size > 0) return
    for (const { file } of changed()) await settle(file)
  }

  const lookAroundSafely = () =>
    lookAround().catch((error: unknown) =>
      trouble('the workspace', `was changed, and that could not be recorded yet (${String(error)})`),
    )

  function attend(taken: Taken<NewEvent>): () => Promise<void> {
    const turn = doerOf(taken)
    // What was edited by hand until now is told from what this turn does. While others run nobody can tell.
    if (present.size === 0) void lookAroundSafely()
    present.add(turn)
    return () => {
      const dealt = lookAroundSafely()
      // Where it is not done yet it stays to blame; in what happens from here on it has no part.
      present.delete(turn)
      return dealt
    }
  }

  async function begin(interrupted: readonly Interrupted[]): Promise<void> {
    await files.sweepAside()
    const before = changes.known()
    const doers = interrupted.map(doerOf)
    const first = new Map<string, Version>()
    for (const file of new Set([...files.names(), ...before.keys()])) {
      const was = before.get(file)
      if (was) known.set(file, was)
      // Never looked at before: there is nothing to compare with. A skill is new, once others were looked at.
      else if (before.size === 0 || !file.startsWith('skills/')) {
        const now = files.look(file)
        if (now.what !== 'unreadable') first.set(file, now)
        if (now.what === 'other') tell({ type: 'workspace-trouble', file, why: notKept })
      }
      if (doers.length > 0) blame(file, doers)
    }
    for (const [file, version] of first) known.set(file, version)
    if (first.size > 0) await changes.keep(first)
    for (const { file, now } of changed()) {
      // Put back in vain before the last stop.
      const again = changes.waiting(file, standingIn(file), now)
      if (again) blame(file, [again])
      await settle(file)
    }
  }

  const inDoubt = (file: string): boolean =>
    [...present, ...(blamed.get(file) ?? [])].some(({ owner }) => !owner) && !isUnkept(standingIn(file))

  return {
    ...openMemoryLog({ ...parts, files, known, inOrder, catchUp, wait, shown }),
    own: openOwnFiles({ dir: parts.dir, files, changes, known, standingIn, inDoubt, settle, inOrder, shown }),
    attend,
    catchUp: () => inOrder(catchUp),
    approved: file => (inDoubt(file) ? standingIn(file).text : undefined),
    noteFor(lane) {
      const note = notes.get(lane) ?? null
      notes.delete(lane)
      return note
    },
    begin: interrupted => inOrder(() => begin(interrupted)),
  }
}
