// Deliberate changes to the guarded files, with a known author: the owner's decisions (approve, deny, undo), and the tools remember and forget.
import { type ConfigFileName, isConfigFile } from '../base/config-files.ts'
import type { ChangeResult, MemoryChange, MemoryLog } from '../base/memory.ts'
import type { Caller, ToolAnswer } from '../base/tools.ts'
import { errorCode } from '../base/unknown.ts'
import { type Actor, actorCalling } from './actor.ts'
import type { Change, Changes } from './changes.ts'
import { absent, type Found, type GuardedFiles, isUnkept, type Version, versionOf } from './guarded-files.ts'
import { asItem, type Forgotten, hasItem, longestItem, withItem, withoutItems } from './memory-items.ts'
import { merge } from './merge.ts'
import type { TreeGuard } from './tree-guard.ts'
import { isOfTree } from './tree-revert.ts'

/** Maps the current text to the new text; null: no file. Undefined: not possible. */
export type Edit = (text: string | null) => string | null | undefined

export interface MemoryEdits {
  /** An edit by the gateway on somebody's behalf. On behalf of a guest it waits for approval. */
  edit(file: string, by: Actor, edit: Edit): Promise<ChangeResult>
  remember(text: string, caller: Caller): Promise<ToolAnswer>
  forget(text: string, caller: Caller): Promise<ToolAnswer>
}

export interface MemoryLogParts {
  readonly files: GuardedFiles
  readonly changes: Changes
  readonly known: Map<string, Version>
  inOrder<T>(work: () => Promise<T>): Promise<T>
  catchUp(): Promise<void>
  wait(file: string, before: Version, after: Found, by: Actor): Promise<Change>
  shown(change: Change): MemoryChange
  readonly tree: Pick<TreeGuard, 'apply'>
  checkConfig(file: ConfigFileName, text: string): Promise<string | null>
  configChanged(): void | Promise<void>
}

type Applied =
  | { readonly ok: true; readonly before: Version; readonly after: Version }
  | { readonly ok: false; readonly why: string }

const memory = 'memory.md'
const mostTries = 5

export function createMemoryLog(parts: MemoryLogParts): MemoryLog & MemoryEdits {
  const { files, changes, known, shown } = parts
  const currentIn = (file: string) => known.get(file) ?? absent

  /** Changes of turns that are not handled yet stay on disk and stay theirs: the edit is applied to both texts. */
  async function apply(file: string, edit: Edit): Promise<Applied> {
    for (let tries = 0; tries < mostTries; tries++) {
      const disk = files.look(file)
      const before = currentIn(file)
      if (disk.what === 'unreadable') return refused(`${file} ${disk.why}.`)
      if (disk.what === 'other' || isUnkept(before)) return refused(`${file} is not a text file of the workspace.`)
      const after = edit(before.text)
      const text = disk.hash === before.hash ? after : edit(disk.text)
      if (after === undefined || text === undefined) return refused(contradiction(file))
      const wrong = isConfigFile(file) && text !== null ? await parts.checkConfig(file, text) : null
      if (wrong !== null) return refused(`${file} would not load with this change: ${wrong}`)
      let from = before
      const done = await files.replace(file, disk, text, () => {
        // The content of the disk may have been accepted in the meantime.
        from = currentIn(file)
        known.set(file, versionOf(from === before ? after : (edit(from.text) ?? after)))
      })
      if (!done) continue
      if (isConfigFile(file)) await parts.configChanged()
      return { ok: true, before: from, after: currentIn(file) }
    }
    return refused(`${file} keeps changing; try again.`)
  }

  async function edit(file: string, by: Actor, change: Edit): Promise<ChangeResult> {
    if (by.owner) {
      const applied = await apply(file, change)
      if (!applied.ok) return applied
      const { before, after } = applied
      const made = { file, before, after, ...by, state: 'made', aside: null } as const
      return { ok: true, change: shown(await changes.record(made, after)) }
    }
    const before = currentIn(file)
    const text = isUnkept(before) ? undefined : change(before.text)
    if (text === undefined) return refused(contradiction(file))
    const after: Found = { ...versionOf(text), what: text === null ? 'absent' : 'text' }
    return { ok: true, change: shown(await parts.wait(file, before, after, by)) }
  }

  async function decide(change: Change, state: 'approved' | 'undone', from: Version, to: Version) {
    if (isOfTree(change)) return decideTree(change, state, from, to)
    const merging = editBetween(from, to, currentIn(change.file), changes.isRedacted)
    if (!merging) return refused(`Change ${change.id} is too large to be merged; edit ${change.file} by hand.`)
    const applied = await apply(change.file, merging)
    if (!applied.ok) return applied
    const { before, after } = applied
    // An approved change shows its merged result; an undone change is still shown as it was.
    const decided = state === 'approved' ? { ...change, state, before, after, aside: null } : { ...change, state }
    const result = { ok: true, change: shown(await changes.decide(decided, after)) } as const
    if (state === 'approved' && change.aside !== null) await files.dropAside(change.aside)
    return result
  }

  async function decideTree(change: Change, state: 'approved' | 'undone', from: Version, to: Version) {
    const why =
      to.text !== null && changes.isRedacted(to.text) ? contradiction(change.file) : parts.tree.apply(change, from, to)
    if (why !== undefined) return refused(why)
    const decided = await changes.decide({ ...change, state, aside: null }, null)
    // It may be a `.env` that the configuration reads.
    await parts.configChanged()
    return { ok: true, change: shown(decided) } as const
  }

  async function undo(id: number | null): Promise<ChangeResult> {
    const change = id === null ? changes.newest(['made', 'approved']) : changes.find(id)
    if (!change) return refused(id === null ? 'There is no change to undo.' : unknown(id))
    if (change.state !== 'made' && change.state !== 'approved') return refused(notInPlace(change))
    if (isUnkept(change.before) || isUnkept(change.after))
      return refused(
        `Change ${change.id} was too large to be stored, so it cannot be undone; edit ${change.file} by hand.`,
      )
    return decide(change, 'undone', change.after, change.before)
  }

  async function approve(id: number): Promise<ChangeResult> {
    const change = changes.find(id)
    if (!change) return refused(unknown(id))
    if (change.state !== 'waiting') return refused(notWaiting(change))
    return decide(change, 'approved', change.before, isOfTree(change) ? change.after : await whole(change))
  }

  async function whole({ after, aside }: Change): Promise<Version> {
    if (!isUnkept(after) || aside === null || after.hash.startsWith('other')) return after
    const text = await files.readAside(aside)
    // Only what was there when the change was made: an agent may have written to the copy since.
    const stored = text === null ? after : versionOf(text)
    return stored.hash === after.hash ? stored : after
  }

  async function deny(id: number): Promise<ChangeResult> {
    const change = changes.find(id)
    if (!change) return refused(unknown(id))
    if (change.state !== 'waiting') return refused(notWaiting(change))
    const current = isOfTree(change) ? null : currentIn(change.file)
    const denied = await changes.decide({ ...change, state: 'denied' }, current)
    if (change.aside !== null) await files.dropAside(change.aside)
    return { ok: true, change: shown(denied) }
  }

  async function remember(text: string, caller: Caller): Promise<ToolAnswer> {
    const item = asItem(text)
    if (item === '') return no('There is nothing to remember in this text.')
    if (item.length > longestItem) {
      return no(`That is too long: ${item.length} characters, at most ${longestItem}. Use fewer words.`)
    }
    if (hasItem(currentIn(memory).text, item)) return { ok: true, text: 'That is already in memory.md.' }
    const result = await edit(memory, actorCalling(caller), now => withItem(now, item))
    return result.ok ? { ok: true, text: answered(result.change, 'Remembered in memory.md.') } : no(result.why)
  }

  async function forget(words: string, caller: Caller): Promise<ToolAnswer> {
    if (words.trim() === '') return no('Give some words of the item to forget.')
    const without = (text: string | null): Forgotten | 'too-many' => withoutItems(text ?? '', words)
    const found = without(currentIn(memory).text)
    if (found === 'too-many')
      return no('More than 5 items of memory.md contain that. Give more words of the one you mean.')
    if (found.removed.length === 0) return no('No item of memory.md contains that.')
    const result = await edit(memory, actorCalling(caller), now => {
      const left = without(now)
      return left === 'too-many' ? undefined : now === null ? null : left.text
    })
    if (!result.ok) return no(result.why)
    const removed = found.removed.map(item => `- ${item}`).join('\n')
    return { ok: true, text: answered(result.change, `Removed from memory.md:\n${removed}`) }
  }

  /** Edits by hand are recorded first, so that they are not mistaken for part of what follows. */
  const afterAll = <T>(work: () => Promise<T>): Promise<T> =>
    parts.inOrder(async () => {
      await parts.catchUp()
      return work()
    })
  const orWhy = (work: () => Promise<ChangeResult>): Promise<ChangeResult> => afterAll(work).catch(failed)
  const orNo = (work: () => Promise<ToolAnswer>) => afterAll(work).catch(error => no(failed(error).why))

  return {
    list: most => afterAll(async () => changes.list(most).map(shown)),
    undo: id => orWhy(() => undo(id)),
    approve: id => orWhy(() => approve(id)),
    deny: id => orWhy(() => deny(id)),
    edit: (file, by, change) => orWhy(() => edit(file, by, change)),
    remember: (text, caller) => orNo(() => remember(text, caller)),
    forget: (text, caller) => orNo(() => forget(text, caller)),
  }
}

/** The change between two versions, as an edit of a text that may have changed since. Null: the original text is not stored. */
function editBetween(from: Version, to: Version, current: Version, isRedacted: (text: string) => boolean): Edit | null {
  // Of a large text only the hash is stored, which is enough if nothing else has changed.
  const base = isUnkept(from) && from.hash === current.hash ? current : from
  if (isUnkept(base) || isUnkept(to)) return null
  return text => {
    // A secret that the log no longer has must not become a mask in the file.
    const unlessMasked = (result: string | null) =>
      result !== null && isRedacted(result) && !isRedacted(text ?? '') ? undefined : result
    if (text === base.text || text === to.text) return unlessMasked(to.text)
    if (text === null || base.text === null || to.text === null) return undefined
    const merged = merge(base.text, text, to.text)
    return merged.ok ? unlessMasked(merged.text) : undefined
  }
}

const refused = (why: string) => ({ ok: false, why }) as const
const no = (text: string): ToolAnswer => ({ ok: false, text })
const failed = (error: unknown) =>
  refused(
    `The files could not be written or read (${codeOf(error)}). Check free space and permissions. Nothing was lost.`,
  )

const answered = ({ id, state }: MemoryChange, done: string): string =>
  state === 'waiting'
    ? `This waits for your owner's approval (change ${id}). memory.md is unchanged until then.`
    : `${done} (change ${id})`

const unknown = (id: number) => `There is no change ${id}.`
const notWaiting = ({ id, state }: Change) => `Change ${id} is not waiting for approval; it is ${state}.`
const notInPlace = ({ id, state }: Change) => `Change ${id} is not in effect; it is ${state}.`
const contradiction = (file: string) =>
  `The same lines of ${file} were changed since, so this cannot be merged; nothing was changed. Edit the file by hand.`

const codeOf = (error: unknown): string => {
  const { cause = error } = error instanceof Error ? error : {}
  return errorCode(cause) ?? 'unknown error'
}
