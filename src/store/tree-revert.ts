// Puts back what a turn changed in the guarded trees. Each change is recorded before it is reverted, so a kill in between loses nothing.
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { visible } from '../base/scrub.ts'
import type { Emit } from '../base/signal.ts'
import { errorCode } from '../base/unknown.ts'
import type { Actor } from './actor.ts'
import { type Change, type Changes, longestText } from './changes.ts'
import { absent, type Version } from './guarded-files.ts'
import { type Difference, nameIn, shortText, type Tree } from './tree.ts'
import { contentOf, examine, fromText, hashOf, onDisk } from './tree-places.ts'

export interface RevertParts {
  readonly dir: string
  readonly tree: Tree
  readonly changes: Changes
  readonly emit: Emit
  now(): number
  /** A change waits now. */
  waits(change: Change): void
}

/** So many changes of one turn have their own entry in the log; the others share one. */
const mostSingle = 10
const mostNamed = 200
/** A file that is read to be recorded. */
const largest = 16 * 1024 * 1024
const prefix = 'tree '

/** The change was found in the guarded trees, not in one of the files that have a history. */
export const isOfTree = ({ before, after }: Pick<Change, 'before' | 'after'>): boolean =>
  before.hash.startsWith(prefix) || after.hash.startsWith(prefix)

export type Revert = ReturnType<typeof createRevert>

export function createRevert({ dir, tree, changes, emit, now, waits }: RevertParts) {
  const { base } = tree

  /** Returns what was recorded. */
  async function revert(found: readonly Difference[], by: Actor): Promise<readonly Change[]> {
    const topmost = topmostOf(found)
    const aside = `.aetheel/aside/${now()}-tree`
    const made: Change[] = []
    const single = topmost.length > mostSingle + 1 ? topmost.slice(0, mostSingle) : topmost
    for (const [index, one] of single.entries()) made.push(await record(one, by, `${aside}/${index}`))
    const others = topmost.slice(single.length)
    if (others.length > 0) made.push(await recordGroup(others, by, `${aside}/others`))
    for (const [index, one] of topmost.entries()) {
      const isSingle = index < single.length
      const to = isSingle ? (made[index]?.aside ?? null) : `${aside}/others/${index}`
      attempt(one, () => takeAway(one, to))
    }
    for (const one of found) attempt(one, () => restore(one))
    return made
  }

  function attempt(one: Difference, work: () => void): void {
    try {
      work()
    } catch (error) {
      const why = `was changed and could not be put back (${errorCode(error) ?? String(error)}); check its permissions`
      emit({ type: 'workspace-trouble', file: visible(nameIn(tree, one.path)), why })
    }
  }

  async function record(one: Difference, by: Actor, aside: string): Promise<Change> {
    const [before, after] = [versionBefore(one), versionAfter(one)]
    const file = nameIn(tree, one.path)
    const same = changes.waiting(file, before, after)
    if (same && (same.aside === null || existsSync(join(dir, same.aside)) === false)) return same
    const isText = (version: Version) => version.hash === '' || version.text !== null
    const to = one.now === null || (isText(before) && isText(after)) ? null : aside
    const change = await changes.record({ file, before, after, ...by, state: 'waiting', aside: to }, null)
    waits(change)
    return change
  }

  async function recordGroup(all: readonly Difference[], by: Actor, aside: string): Promise<Change> {
    const names = all.slice(0, mostNamed).map(one => visible(nameIn(tree, one.path)))
    const more = all.length > mostNamed ? [`and ${all.length - mostNamed} more`] : []
    const text = [...names, ...more].map(line => `${line}\n`).join('')
    const after = { text, hash: `${prefix}group ${aside}` }
    const file = `(${all.length} more files and folders)`
    const change = await changes.record({ file, before: absent, after, ...by, state: 'waiting', aside }, null)
    waits(change)
    return change
  }

  function versionBefore({ path, was }: Difference): Version {
    if (was === null) return absent
    const text = was.kind === 'file' ? shortText(base.content(path), longestText) : null
    return { text, hash: `${prefix}${was.mode.toString(8)} ${was.hash}` }
  }

  function versionAfter({ path, now: there }: Difference): Version {
    if (there === null) return absent
    const content = there.kind === 'file' ? contentOf(path, largest) : null
    const text = shortText(content, longestText)
    return { text, hash: `${prefix}${there.mode.toString(8)} ${hashOf(there, content)}` }
  }

  /** `to`: null if the log has the content. */
  function takeAway({ path, was, now: before }: Difference, to: string | null): void {
    const there = examine(path)
    if (there === null || before === null) return
    if (was?.kind === 'folder' && there.kind === 'folder') return
    if (to === null) return was === null ? rmSync(onDisk(path), { force: true }) : undefined
    moveAside(path, to)
  }

  function moveAside(path: string, to: string): void {
    const target = onDisk(fromText(join(dir, to)))
    mkdirSync(dirname(join(dir, to)), { recursive: true, mode: 0o700 })
    // A folder can be moved only by somebody who may write to it.
    if (examine(path)?.kind === 'folder') chmodSync(onDisk(path), 0o700)
    try {
      renameSync(onDisk(path), target)
    } catch (error) {
      if (errorCode(error) !== 'EXDEV') throw error
      cpSync(onDisk(path).toString(), join(dir, to), { recursive: true, verbatimSymlinks: true })
      rmSync(onDisk(path), { recursive: true, force: true })
    }
  }

  function restore({ path, was }: Difference): void {
    if (was === null) return
    const there = examine(path)
    if (was.kind === 'folder') {
      if (there?.kind !== 'folder') mkdirSync(onDisk(path), { mode: 0o700 })
      chmodSync(onDisk(path), was.mode)
    } else if (was.kind === 'link') replaceBy(path, draft => symlinkSync(onDisk(was.target), draft))
    else if (was.kind === 'file' && was.kept) write(path, base.content(path) ?? Buffer.alloc(0), was.mode)
    else if (there?.kind === was.kind && there.size === was.size) chmodSync(onDisk(path), was.mode)
    else {
      base.drop(path)
      throw new Error('its earlier content was too large to be kept')
    }
    const again = examine(path)
    if (again) base.put(path, { ...was, sign: again.sign, unsure: was.kept })
  }

  const write = (path: string, content: Uint8Array, mode: number) =>
    replaceBy(path, draft => {
      writeFileSync(draft, content, { flag: 'wx', mode: 0o600, flush: true })
      chmodSync(draft, mode)
    })

  /** Whole or not at all, and never through a link in place of a folder on the way. */
  function replaceBy(path: string, make: (draft: Buffer) => void): void {
    const folder = dirname(path)
    if (fromText(realpathSync(onDisk(folder))) !== folder && !isValid(folder))
      throw new Error('its folder was replaced')
    const draft = onDisk(`${path}.${process.pid}.tmp`)
    rmSync(draft, { force: true, recursive: true })
    try {
      make(draft)
      if (lstatSync(onDisk(path), { throwIfNoEntry: false })?.isDirectory()) rmSync(onDisk(path), { recursive: true })
      renameSync(draft, onDisk(path))
    } finally {
      rmSync(draft, { force: true })
    }
  }

  /** `realpath` returns text, in which a name that is not UTF-8 differs. */
  const isValid = (folder: string) => fromText(onDisk(folder).toString('utf8')) !== folder

  /** Makes the change between two versions of it. Undefined: done; otherwise why not. */
  function apply({ file, aside, after }: Change, from: Version, to: Version): string | undefined {
    if (after.hash.startsWith(`${prefix}group`)) return `They are kept in ${aside}: copy what you want to have by hand.`
    const path = tree.places.pathOf(fromText(file))
    const there = versionAfter({ path, was: null, now: examine(path) })
    // What could not be restored leaves its place empty.
    const isLost = from.text === null && there.hash === ''
    if (there.hash !== from.hash && !isLost)
      return `${file} was changed since, so this cannot be merged; edit it by hand.`
    const mode = Number.parseInt(to.hash.slice(prefix.length), 8)
    if (to.hash === '') rmSync(onDisk(path), { recursive: true, force: true })
    else if (to.text !== null) {
      mkdirSync(onDisk(dirname(path)), { recursive: true, mode: 0o700 })
      write(path, Buffer.from(to.text), mode)
    } else if (to === after && aside !== null && isIntact(aside, after)) {
      rmSync(onDisk(path), { recursive: true, force: true })
      mkdirSync(onDisk(dirname(path)), { recursive: true, mode: 0o700 })
      renameSync(join(dir, aside), onDisk(path))
    } else return `What it would be is no longer stored; edit ${file} by hand.`
    acceptAll(path)
    return undefined
  }

  /** The copy is what was recorded: an agent may have written to it since. What a folder or a huge file contained is not recorded. */
  function isIntact(aside: string, { hash }: Version): boolean {
    const path = fromText(join(dir, aside))
    const there = examine(path)
    const [, , recorded = ''] = hash.split(' ')
    if (there === null || !/^[0-9a-f]{64}$/.test(recorded)) return there !== null
    return there.kind === 'file' && hashOf(there, contentOf(path, largest)) === recorded
  }

  function acceptAll(path: string): void {
    for (const known of base.entries.keys()) if (known.startsWith(`${path}/`)) tree.acceptPath(known)
    tree.acceptPath(path)
  }

  return { revert, apply }
}

/** Without what lies in a folder that is new, gone or replaced itself. */
function topmostOf(found: readonly Difference[]): readonly Difference[] {
  const whole = new Set(
    found.filter(({ was, now }) => was?.kind !== 'folder' || now?.kind !== 'folder').map(({ path }) => path),
  )
  const isPart = (path: string): boolean => {
    for (let at = dirname(path); at.length > 1; at = dirname(at)) if (whole.has(at)) return true
    return false
  }
  return found.filter(({ path }) => !isPart(path))
}
