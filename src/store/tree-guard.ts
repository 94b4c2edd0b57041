// Around each turn: what widens power is checked in every turn, the whole workspace in a guest's, unless a wall holds the guest.
import { visible } from '../base/scrub.ts'
import type { Emit } from '../base/signal.ts'
import type { Clock } from '../base/time.ts'
import { type Actor, together } from './actor.ts'
import type { Change, Changes } from './changes.ts'
import type { Version } from './guarded-files.ts'
import { createTree, type Difference, type Tree, type TreeLimits } from './tree.ts'
import { asText, contentOf, type Exceptions, examine, fromText, pathsIn, type Surroundings } from './tree-places.ts'
import { createRevert, type Revert } from './tree-revert.ts'

export interface TreeGuardParts extends Pick<Exceptions, 'isNamed' | 'holdsNamed'> {
  readonly dir: string
  readonly changes: Changes
  readonly clock: Clock
  readonly emit: Emit
  readonly around: Surroundings
  readonly limits: TreeLimits | undefined
  waits(change: Change): void
  /** What the agent is told in its next turn. */
  noteTo(actors: readonly Actor[], text: string): void
  configChanged(): void | Promise<void>
}

export interface TreeGuard {
  /** At the start: handles what turns left that were killed. `suspectsOf`: who may have changed this path; nobody: it was edited by hand. */
  begin(suspectsOf: ((path: string) => readonly Actor[]) | null): Promise<void>
  /** Before a turn. `others`: the turns that run already. Returns why a turn must not run: it could not be guarded. */
  enter(turn: Actor, others: readonly Actor[], isHeld: boolean): Promise<string | null>
  /** The files that are links now and were not before a guest's turn, or the other way round. */
  swapped(turn: Actor, files: Iterable<string>): readonly Difference[]
  /** Puts them back, and leaves it to the owner to approve the changes. */
  putBack(found: readonly Difference[], actors: readonly Actor[]): Promise<void>
  /** After a turn. `actors`: who may have made a change. */
  leave(turn: Actor, actors: readonly Actor[]): Promise<void>
  /** Before the gateway reads or writes a file on behalf of somebody else than a guest: without what a guest made of it. */
  settle(file: string): Promise<void>
  /** The gateway wrote this file itself. */
  wrote(file: string): void
  /** A guest may just have made or changed it. */
  isInDoubt(file: string): boolean
  apply(change: Change, from: Version, to: Version): string | undefined
  close(): void
}

/** Editors often empty a file before they write it. */
const steadyMs = 30
const never = new AbortController().signal

export function createTreeGuard(parts: TreeGuardParts): TreeGuard {
  const { dir, emit, clock } = parts
  /** Guests without a wall whose turns run, or ran beside one that does. */
  const walkers = new Set<Actor>()
  const free = new Set<string>()
  let opened: { readonly tree: Tree; readonly revert: Revert } | null = null

  /** Not before the workspace exists. */
  function open(): { readonly tree: Tree; readonly revert: Revert } {
    if (opened) return opened
    const isFree = (file: string) => free.size > 0 && free.has(file.split('/').slice(0, 2).join('/'))
    const { isNamed, holdsNamed, limits, around } = parts
    const tree = createTree({
      ...around,
      dir,
      emit,
      now: clock.now,
      isNamed,
      holdsNamed,
      isFree,
      ...(limits && { limits }),
    })
    const { changes, waits } = parts
    opened = { tree, revert: createRevert({ dir, tree, changes, emit, now: clock.now, waits }) }
    return opened
  }

  async function check(reach: 'power' | 'all', actors: readonly Actor[]): Promise<void> {
    const { tree } = open()
    if ((await tree.differences(reach)).length === 0) return
    await clock.sleep(steadyMs, never)
    await putBack(await tree.differences(reach), together(actors), actors)
  }

  async function putBack(found: readonly Difference[], by: Actor, actors: readonly Actor[]): Promise<void> {
    const { tree, revert } = open()
    const held = found.filter(one => !(by.owner && isOwnNote(tree, one)))
    for (const one of found) if (!held.includes(one)) tree.acceptPath(one.path)
    if (held.length === 0) return
    const recorded = await revert.revert(held, by)
    for (const { file, id } of recorded)
      parts.noteTo(
        actors,
        `your change to ${visible(file)} was reverted and waits for your owner's approval (change ${id}).`,
      )
    // The gateway may have read it meanwhile.
    if (held.some(({ path }) => /\/\.env[^/]*$/.test(path))) await parts.configChanged()
  }

  async function enter(turn: Actor, others: readonly Actor[], isHeld: boolean): Promise<string | null> {
    const { tree } = open()
    if (others.length === 0) await tree.accept('power')
    else await check('power', others)
    if (turn.owner || isHeld) return null
    const folder = turn.folder ?? null
    if (walkers.size === 0) {
      free.clear()
      const why = await tree.accept('rest')
      if (why !== null) return why
      tree.base.setActive(true)
    }
    if (folder !== null) free.add(folder)
    walkers.add(turn)
    return null
  }

  async function leave(turn: Actor, actors: readonly Actor[]): Promise<void> {
    const isWalker = walkers.has(turn)
    await check(isWalker ? 'all' : 'power', actors)
    if (!isWalker) return
    walkers.delete(turn)
    if (walkers.size === 0) open().tree.base.setActive(false)
  }

  async function begin(suspectsOf: ((path: string) => readonly Actor[]) | null): Promise<void> {
    const { tree } = open()
    const { base } = tree
    // Without turns that were killed, and without an earlier state, there is nobody to suspect.
    if (suspectsOf === null || base.entries.size === 0) await tree.accept('power')
    else {
      const judged = (await tree.differences(base.isActive() ? 'all' : 'power')).flatMap(one =>
        judge(tree, one, suspectsOf),
      )
      for (const { one } of judged.filter(({ actors }) => actors.length === 0)) tree.acceptPath(one.path)
      const held = Map.groupBy(
        judged.filter(({ actors }) => actors.length > 0),
        ({ actors }) => JSON.stringify(actors),
      )
      for (const group of held.values()) {
        const [first] = group
        if (first)
          await putBack(
            group.map(({ one }) => one),
            together(first.actors),
            first.actors,
          )
      }
    }
    base.setActive(false)
  }

  function* swapped(turn: Actor, files: Iterable<string>): Generator<Difference> {
    if (!opened || !walkers.has(turn)) return
    const { places, base } = opened.tree
    for (const file of files) {
      const path = places.pathOf(fromText(file))
      const [was = null, now] = [base.entries.get(path), examine(path)]
      const isLink = now?.kind === 'link'
      if (isLink !== (was?.kind === 'link') || (isLink && now.target !== was?.target)) yield { path, was, now }
    }
  }

  return {
    begin,
    enter,
    leave,
    swapped: (turn, files) => [...swapped(turn, files)],
    putBack: (found, actors) => putBack(found, together(actors), actors),
    async settle(file) {
      if (walkers.size === 0) return
      const { tree } = open()
      const found = tree.differenceAt(tree.places.pathOf(fromText(file)))
      if (found) await putBack([found], together([...walkers]), [...walkers])
    },
    wrote(file) {
      if (opened && walkers.size > 0) opened.tree.acceptPath(opened.tree.places.pathOf(fromText(file)))
    },
    isInDoubt(file) {
      if (!opened || walkers.size === 0) return false
      const { tree } = opened
      return tree.differenceAt(tree.places.pathOf(fromText(file))) !== null
    },
    apply: (change, from, to) => open().revert.apply(change, from, to),
    close() {
      opened?.tree.close()
      opened = null
    },
  }
}

interface Judged {
  readonly one: Difference
  readonly actors: readonly Actor[]
}

/** Into a new folder that was changed by hand, to find what was there before. */
function judge(tree: Tree, one: Difference, suspectsOf: (path: string) => readonly Actor[]): readonly Judged[] {
  const actors = suspectsOf(asText(one.path))
  if (actors.length > 0 || one.was !== null || one.now?.kind !== 'folder') return [{ one, actors }]
  const inside = pathsIn(one.path).map(path => ({ path, was: null, now: examine(path) }))
  return [{ one, actors }, ...inside.flatMap(each => judge(tree, each, suspectsOf))]
}

const trust = /^\[projects\.[^\n]*\]\n(?:trust_level[^\n]*\n?)?\n*/gm

/** codex notes by itself which folders it may work in. */
function isOwnNote(tree: Tree, { path, was, now }: Difference): boolean {
  if (!path.endsWith('/.codex/config.toml') || now?.kind !== 'file' || (was !== null && !was.kept)) return false
  const text = (content: Buffer | null) => (content?.toString() ?? '').replace(trust, '').trim()
  return text(was === null ? null : tree.base.content(path)) === text(contentOf(path, 1 << 20))
}

/** For messages about it. */
export const tooMuchToGuard = (why: string): string =>
  `The workspace ${why}, which is too much to guard against changes by guests. Move what does not belong to the agent elsewhere, or let guests work behind a wall.`
