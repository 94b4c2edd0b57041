// The file guard: records who changed the files that define the agent, and reverts changes made on behalf of anybody but the owner.
import { type ConfigFileName, isConfigFile } from '../base/config-files.ts'
import type { NewEvent } from '../base/event.ts'
import type { Taken } from '../base/lanes.ts'
import type { MemoryChange } from '../base/memory.ts'
import { visible } from '../base/scrub.ts'
import { createSerial } from '../base/serial.ts'
import { type Actor, actorOf, byHand, createLastAlive, createSuspects, createTurnNotes, together } from './actor.ts'
import { type Change, isTooLong, shownChange } from './changes.ts'
import type { FileGuard, FileGuardParts, Killed, Leave } from './file-guard-parts.ts'
import { absent, asideNameFor, createGuardedFiles, type Found, isUnkept, type Version } from './guarded-files.ts'
import { createMemoryLog } from './memory-log.ts'
import { createPersonaFiles } from './persona-files.ts'
import { createTreeGuard, tooMuchToGuard } from './tree-guard.ts'
import { isOfTree } from './tree-revert.ts'

export type { FileGuard, Killed } from './file-guard-parts.ts'

/** What the workspace creates if memory.md is missing, also in the middle of a turn. */
const emptyMemory = '# Memory\n'
const mostTries = 5
/** New skills of a guest's turn that are looked at one by one; the tree finds the others. */
const mostNewSkills = 20
/** Editors often empty a file before they write it: a file is restored only after it has been unchanged for this long. */
const steadyMs = 30
const notKept =
  'is not a text file inside the workspace of at most 4 MB: its changes can be neither recorded nor reverted'
const never = new AbortController().signal

export function createFileGuard(parts: FileGuardParts): FileGuard {
  const { changes, clock, emit } = parts
  const files = createGuardedFiles(parts.dir)
  const alive = createLastAlive(parts.dir, parts.deadAfterMs)
  /** The accepted content of each file: everything that was found and not reverted. */
  const known = new Map<string, Version>()
  const present = new Set<Actor>()
  /** Who may have made a change that is not handled yet. */
  const blamed = new Map<string, ReadonlySet<Actor>>()
  const reported = new Map<string, string>()
  const { noteTo, noteFor } = createTurnNotes()
  /** One at a time: each step reads the disk, decides and writes. */
  const inOrder = createSerial()

  const tree = createTreeGuard({
    ...parts,
    around: parts.around ?? { home: null, cwd: null },
    limits: parts.treeLimits,
    isNamed: file => (files.isFixed(file) || known.has(file)) && !isUnkept(currentIn(file)),
    holdsNamed: folder => [...known].some(([file, { hash }]) => hash !== '' && file.startsWith(`${folder}/`)),
    waits: change => parts.notify(shown(change)),
    noteTo,
  })

  function trouble(file: string, why: string): void {
    if (reported.get(file) === why) return
    reported.set(file, why)
    emit({ type: 'workspace-trouble', file, why })
  }

  const currentIn = (file: string): Version => known.get(file) ?? absent

  function dealtWith(file: string): void {
    blamed.delete(file)
    reported.delete(file)
  }

  function blame(file: string, actors: Iterable<Actor>): ReadonlySet<Actor> {
    const all = new Set([...(blamed.get(file) ?? []), ...actors])
    blamed.set(file, all)
    return all
  }

  /** The files that differ from their accepted content. Synchronous: only turns that are running now can have changed them. */
  function changed(): readonly { readonly file: string; readonly now: Found; readonly actors: ReadonlySet<Actor> }[] {
    const names = files.names()
    const isNew = (file: string) => !known.has(file) && !files.isFixed(file)
    const isCrowded = [...present].some(({ owner }) => !owner)
    const left = new Set(isCrowded ? names.filter(isNew).slice(mostNewSkills) : [])
    return [...new Set([...names, ...known.keys()])].flatMap(file => {
      if (left.has(file)) return []
      const now = files.look(file)
      if (now.what === 'unreadable') trouble(file, now.why)
      else if (now.hash === currentIn(file).hash) {
        dealtWith(file)
        return []
      }
      const actors = blame(file, present)
      return now.what === 'unreadable' ? [] : [{ file, now, actors }]
    })
  }

  /** Changes that may stay are accepted immediately, before another turn can start; the rest takes longer. */
  async function handleChanges(which: 'all' | 'power'): Promise<void> {
    const suspects = which === 'power' ? new Set(present) : present // A turn that starts meanwhile wrote none of it.
    const work = changed().map(({ file, now, actors }) => {
      const before = currentIn(file)
      const by = actorFor(file, before, now, actors)
      const isPower = isConfigFile(file) || widens(file, before, now)
      if (which === 'power' && !isPower) return undefined
      if (!by.owner || (by !== byHand && isPower)) return inOrder(() => settle(file, suspects))
      known.set(file, now)
      dealtWith(file)
      return inOrder(() => recordMade(file, before, now, by))
    })
    await Promise.all(work)
  }

  async function settle(file: string, suspects = present): Promise<void> {
    try {
      for (let tries = 0; tries < mostTries; tries++) {
        const now = files.look(file)
        if (now.what === 'unreadable') {
          blame(file, suspects)
          return trouble(file, now.why)
        }
        const before = currentIn(file)
        if (now.hash === before.hash) break
        if (await deal(file, before, now, blame(file, suspects))) break
        if (tries === mostTries - 1) return trouble(file, 'keeps changing; its changes could not be recorded yet')
      }
      // If the file was changed again meanwhile, the new suspects must be remembered.
      if (isStill(file, currentIn(file))) dealtWith(file)
    } catch (error) {
      blame(file, suspects)
      trouble(file, `was changed, and the change could not be handled yet (${String(error)})`)
    }
  }

  /** False: the file has changed again meanwhile. */
  function deal(file: string, before: Version, now: Found, actors: ReadonlySet<Actor>): Promise<boolean> {
    const by = actorFor(file, before, now, actors)
    if (!by.owner) return holdBack(file, before, now, by, actors)
    if (by === byHand) return adopt(file, before, now, by)
    if (isConfigFile(file)) return admitConfig(file, before, now, by, actors)
    return widens(file, before, now) ? holdBack(file, before, now, by, actors) : adopt(file, before, now, by)
  }

  const widens = (file: string, before: Version, now: Version): boolean =>
    files.isPower(file) || (parts.widens?.(file, before.text, now.text) ?? false)

  const actorFor = (file: string, before: Version, now: Version, actors: ReadonlySet<Actor>): Actor => {
    const isOurs = file === 'memory.md' && before.hash === '' && now.text === emptyMemory
    return actors.size === 0 || isOurs ? byHand : together([...actors])
  }

  const isStill = (file: string, expected: Version): boolean => {
    const now = files.look(file)
    return now.what !== 'unreadable' && now.hash === expected.hash
  }

  /** Accepts the content immediately; the record follows. */
  function adopt(file: string, before: Version, now: Found, by: Actor): Promise<boolean> {
    known.set(file, now)
    return recordMade(file, before, now, by)
  }

  async function recordMade(file: string, before: Version, now: Found, by: Actor): Promise<boolean> {
    // Makes the secrets known that are in it and nowhere else any more.
    if (isConfigFile(file) && before.text !== null) await parts.checkConfig(file, before.text)
    await changes.record({ file, before, after: now, ...by, state: 'made', aside: null }, currentIn(file))
    if (now.what === 'other') emit({ type: 'workspace-trouble', file, why: notKept })
    if (isConfigFile(file) && by === byHand) await tryConfig(file, now)
    return true
  }

  /** The owner may be in the middle of an edit: the file stays as it is, and the running configuration is kept. */
  async function tryConfig(file: ConfigFileName, now: Found): Promise<void> {
    const why = await configTrouble(file, now)
    if (why === null) await parts.configChanged()
    else
      emit({ type: 'workspace-trouble', file, why: `does not load, the last good configuration stays in use: ${why}` })
  }

  const configTrouble = async (file: ConfigFileName, now: Found): Promise<string | null> => {
    if (now.what === 'absent') return null
    return now.text === null ? 'it is not a text file' : parts.checkConfig(file, now.text)
  }

  async function admitConfig(
    file: ConfigFileName,
    before: Version,
    now: Found,
    by: Actor,
    actors: ReadonlySet<Actor>,
  ): Promise<boolean> {
    const why = isUnkept(before) ? null : await configTrouble(file, now)
    if (!isStill(file, now)) return false
    if (why === null) {
      if (widens(file, before, now)) return holdBack(file, before, now, by, actors)
      await adopt(file, before, now, by)
      await parts.configChanged()
      return true
    }
    const aside = `${file}.refused`
    if (now.text !== null) await files.writeAside(aside, now.text)
    const refused = { file, before, after: now, ...by, state: 'denied', aside } as const
    await changes.record(refused, before)
    if (!(await putBack(file, before, now, aside))) return false
    noteTo(actors, `your change to ${file} was refused: ${why} The text is in ${aside}.`)
    return true
  }

  /** Recorded before it is reverted: a kill in between loses nothing, and the change is recognized when it is found again. */
  async function holdBack(file: string, before: Version, now: Found, by: Actor, actors: ReadonlySet<Actor>) {
    await clock.sleep(steadyMs, never)
    if (!isStill(file, now)) return false
    if (isUnkept(before)) {
      // Left to the tree, which can restore what is not text.
      if (!by.owner) return true
      emit({ type: 'workspace-trouble', file, why: `was changed by the agent and ${notKept}` })
      return adopt(file, before, now, by)
    }
    const change = await wait(file, before, now, by)
    if (!(await putBack(file, before, now, change.aside))) return false
    // The restored file loads; after a kill the gateway was started with the changed one.
    if (isConfigFile(file)) await parts.configChanged()
    noteTo(
      actors,
      `your change to ${visible(file)} was reverted and waits for your owner's approval (change ${change.id}).`,
    )
    return true
  }

  async function wait(file: string, before: Version, after: Found, by: Actor): Promise<Change> {
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

  function shown(change: Change): MemoryChange {
    const whole = shownChange(change)
    return isConfigFile(change.file) || isOfTree(change) ? { ...whole, diff: parts.scrub(whole.diff) } : whole
  }

  async function catchUp(): Promise<void> {
    if (present.size > 0) return
    for (const { file } of changed()) await settle(file)
  }

  const handleChangesSafely = (which: 'all' | 'power') =>
    handleChanges(which).catch(error =>
      trouble('the workspace', `was changed, and the change could not be recorded yet (${String(error)})`),
    )

  function guardTurn(taken: Taken<NewEvent>, isHeld = false): Leave {
    const turn = actorOf(taken)
    if (isHeld) return Object.assign(async () => undefined, { ready: Promise.resolve(null) })
    const others = [...present]
    // Separates edits by hand from those of this turn. If others run this is impossible, but it must not load power that they have written.
    const handled = handleChangesSafely(others.length === 0 ? 'all' : 'power')
    present.add(turn)
    const watched = alive.watch()
    const enter = () => inOrder(() => tree.enter(turn, others, false))
    const ready = (others.length === 0 ? enter() : handled.then(enter)).then(
      why => (why === null ? null : tooMuchToGuard(why)),
      (error: unknown) => {
        trouble('the workspace', `cannot be guarded (${String(error)})`)
        return turn.owner ? null : tooMuchToGuard('could not be read')
      },
    )
    const leave = () => {
      const actors = [...present]
      const look = () => {
        const looked = handleChangesSafely('all')
        // The turn stays a suspect for unhandled changes, but not for later ones.
        present.delete(turn)
        return looked
      }
      // Otherwise a file would be restored through the link that a guest has put in its place.
      const swapped = tree.swapped(turn, new Set([...files.names(), ...known.keys()]))
      const looked = swapped.length === 0 ? look() : inOrder(() => tree.putBack(swapped, actors)).then(look, look)
      return looked
        .then(() => inOrder(() => tree.leave(turn, actors)))
        .then(lookAtUnkept)
        .catch((error: unknown) => trouble('the workspace', `could not be restored (${String(error)})`))
        .finally(watched)
    }
    return Object.assign(leave, { ready })
  }

  /** What the tree has restored is a new file with the same content. */
  function lookAtUnkept(): void {
    for (const [file, version] of known) {
      const now = isUnkept(version) ? files.look(file) : null
      if (now?.what === 'other') known.set(file, now)
    }
  }

  async function begin(killed: readonly Killed[], survived: boolean): Promise<void> {
    await files.sweepAside()
    const before = changes.known()
    const suspectsOf = createSuspects(killed.map(actorOf), survived ? () => 'unclear' : alive.afterKill())
    const first = new Map<string, Version>()
    for (const file of new Set([...files.names(), ...before.keys()])) {
      const was = before.get(file)
      if (was) known.set(file, was)
      // Not checked before: there is nothing to compare with. A skill counts as new if other files were checked before.
      else if (before.size === 0 || !file.startsWith('skills/')) {
        const now = files.look(file)
        if (now.what !== 'unreadable') first.set(file, now)
        if (now.what === 'other') emit({ type: 'workspace-trouble', file, why: notKept })
      }
      const now = was ? files.look(file) : null
      blame(file, suspectsOf(file, was !== undefined && now?.what === 'text' && widens(file, was, now)))
    }
    for (const [file, version] of first) known.set(file, version)
    if (first.size > 0) await changes.keep(first)
    for (const { file, now } of changed()) {
      // It could not be reverted before the last stop.
      const again = changes.waiting(file, currentIn(file), now)
      if (again) blame(file, [again])
      await settle(file)
    }
    await tree.begin(killed.length === 0 ? null : path => suspectsOf(path, true))
  }

  const inDoubt = (file: string): boolean =>
    [...present, ...(blamed.get(file) ?? [])].some(({ owner }) => !owner) && !isUnkept(currentIn(file))

  function approved(file: string): string | null | undefined {
    if (inDoubt(file)) return currentIn(file).text
    if (present.size === 0 || isUnkept(currentIn(file))) return undefined
    const now = files.look(file)
    const before = currentIn(file)
    if (now.what === 'unreadable' || now.hash === before.hash) return undefined
    return widens(file, before, now) ? before.text : undefined
  }

  return {
    ...createMemoryLog({ ...parts, files, known, inOrder, catchUp, wait, shown, tree }),
    tree: { ...tree, settle: async file => (tree.isInDoubt(file) ? inOrder(() => tree.settle(file)) : undefined) },
    own: createPersonaFiles({ dir: parts.dir, files, changes, known, currentIn, inDoubt, settle, inOrder, shown }),
    guardTurn,
    catchUp: () => inOrder(catchUp),
    approved,
    noteFor,
    begin: (killed, survived = false) => inOrder(() => begin(killed, survived)),
  }
}
