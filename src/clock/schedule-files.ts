// heartbeat.md and agents.md: read when they change, edited whole or not at all.
import { isUtf8 } from 'node:buffer'
import { constants, type FSWatcher, statSync, watch } from 'node:fs'
import { chmod, open, realpath, rename, rm } from 'node:fs/promises'
import { join, sep } from 'node:path'
import type { Job, JobKind, JobTrouble } from '../base/jobs.ts'
import type { Caller } from '../base/tools.ts'
import { readCronJobs } from './cron-file.ts'
import { readHeartbeats } from './heartbeat-file.ts'

export const fileOf: Readonly<Record<JobKind, string>> = { heartbeat: 'heartbeat.md', cron: 'agents.md' }
const kinds = ['heartbeat', 'cron'] as const

export interface Schedules {
  readonly jobs: readonly Job[]
  readonly troubles: readonly JobTrouble[]
  /** False: a file could not be read, and its jobs are those of the last time. */
  readonly whole: boolean
}

export type Edited = { readonly ok: true } | { readonly ok: false; readonly why: string }

/** Whoever knows who changed the files; without, they are what stands on the disk. */
export interface ScheduleKeeper {
  /** What counts where somebody who may not change the file was at it; null: no file. Undefined: what stands on the disk. */
  approved(file: string): string | null | undefined
  /** Whole or not at all, also while others are at it. `by`: the turn that does it; null: no turn. */
  edit(file: string, by: Caller | null, change: (markdown: string | null) => string): Promise<Edited>
}

const mostBytes = 1024 * 1024

export function openScheduleFiles(dir: string, keeper: ScheduleKeeper | null = null) {
  const last = new Map<JobKind, { text: string; jobs: readonly Job[]; troubles: readonly JobTrouble[] }>()

  const readCounting = async (file: string, path: string): ReturnType<typeof readText> => {
    const found = await readText(path)
    // Asked for after the file was read: whoever was at it before that is known by now.
    const approved = keeper?.approved(file)
    return approved === undefined ? found : { ok: true, text: approved && withoutMark(approved), mode: 0o600 }
  }

  const readKind = async (kind: JobKind): Promise<Schedules> => {
    const found = await readCounting(fileOf[kind], join(dir, fileOf[kind]))
    const before = last.get(kind)
    if (!found.ok) {
      const trouble = { file: fileOf[kind], name: '', why: found.why }
      return { jobs: before?.jobs ?? [], troubles: [trouble], whole: false }
    }
    const text = found.text ?? ''
    if (before?.text === text) return { ...before, whole: true }
    const { jobs, troubles } = await (kind === 'cron' ? readCronJobs(text) : readHeartbeats(text))
    last.set(kind, { text, jobs, troubles })
    return { jobs, troubles, whole: true }
  }

  return {
    /** What the files say now. Never rejects; a missing file has no jobs. */
    async read(): Promise<Schedules> {
      const read = await Promise.all(kinds.map(readKind))
      return {
        jobs: read.flatMap(({ jobs }) => jobs),
        troubles: read.flatMap(({ troubles }) => troubles),
        whole: read.every(({ whole }) => whole),
      }
    },
    /** Two at a time would lose one: the caller lets them follow each other. */
    async edit(kind: JobKind, by: Caller | null, change: (markdown: string) => string): Promise<Edited> {
      const file = fileOf[kind]
      const target = await targetOf(dir, file)
      if (target === null)
        return { ok: false, why: `${file} is a link that leads out of the workspace; edit it by hand.` }
      if (keeper) {
        const found = await readCounting(file, target)
        if (!found.ok) return { ok: false, why: `${file} ${found.why}.` }
        if (change(found.text ?? '') === (found.text ?? '')) return { ok: true }
        return keeper.edit(file, by, markdown => change(withoutMark(markdown ?? '')))
      }
      // Somebody else may save it meanwhile; then theirs is the text to change.
      for (let attempt = 0; attempt < 5; attempt++) {
        const found = await readText(target)
        if (!found.ok) return { ok: false, why: `${file} ${found.why}.` }
        const written = await replace(target, found, change(found.text ?? ''))
        if (written === 'done') return { ok: true }
        if (written === 'failed')
          return { ok: false, why: `${file} could not be written; check free space and permissions of its folder.` }
      }
      return { ok: false, why: `${file} is being changed by somebody else; try again.` }
    },
  }
}

/** What the files of a workspace say now, without a gateway. Never rejects. */
export const readSchedules = (dir: string): Promise<Schedules> => openScheduleFiles(dir).read()

/** agents.md as it is now; '' where it is missing or of no use, which the schedules tell. Never rejects, and waits for no pipe. */
export async function readAgentsFile(dir: string): Promise<string> {
  const found = await readText(join(dir, fileOf.cron))
  return found.ok ? (found.text ?? '') : ''
}

/** Calls `changed` a moment after one of the files changed. Going deaf is no trouble: whoever uses it also looks now and then. */
export function openWatch(dir: string, changed: () => void) {
  const names: readonly string[] = Object.values(fileOf)
  let open: { watcher: FSWatcher; inode: number } | null = null
  let settling: NodeJS.Timeout | null = null
  const close = () => {
    open?.watcher.close()
    open = null
  }
  return {
    /** Again after the folder was missing or has been replaced: a watch stays with the old one. */
    ensure() {
      try {
        const inode = statSync(dir).ino
        if (open?.inode === inode) return
        close()
        const watcher = watch(dir, (_, file) => {
          if (file !== null && !names.includes(file)) return
          // An editor that empties the file first is given the time to fill it.
          settling ??= setTimeout(() => {
            settling = null
            changed()
          }, 50)
        })
        watcher.on('error', close)
        open = { watcher, inode }
      } catch {
        // No such folder, or out of watches: the look now and then has to do.
        close()
      }
    },
    close() {
      if (settling) clearTimeout(settling)
      close()
    },
  }
}

type Text = { readonly ok: true; readonly text: string | null; readonly mode: number }

const withoutMark = (text: string) => text.replace(/^\uFEFF/, '')

async function readText(path: string): Promise<Text | { readonly ok: false; readonly why: string }> {
  try {
    // Opening a pipe would wait for somebody to write into it.
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      const stat = await file.stat()
      if (!stat.isFile()) return { ok: false, why: 'is not a regular file; replace it by one' }
      if (stat.size > mostBytes) return { ok: false, why: 'is larger than 1 MB; shorten it' }
      const bytes = await file.readFile()
      if (!isUtf8(bytes)) return { ok: false, why: 'is not UTF-8 text; save it as UTF-8' }
      return { ok: true, text: withoutMark(bytes.toString()), mode: stat.mode & 0o777 }
    } finally {
      await file.close()
    }
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') {
      return { ok: true, text: null, mode: 0o600 }
    }
    return { ok: false, why: 'cannot be read; check its permissions' }
  }
}

/** Where the file really is; null: outside of the workspace. */
async function targetOf(dir: string, file: string): Promise<string | null> {
  const path = join(dir, file)
  try {
    const [home, target] = await Promise.all([realpath(dir), realpath(path)])
    return target.startsWith(`${home}${sep}`) ? target : null
  } catch {
    // Not there yet: a rename to this name replaces also a link that leads nowhere, by a file in the workspace.
    return path
  }
}

async function replace(path: string, before: Text, text: string): Promise<'done' | 'changed' | 'failed'> {
  if (text === before.text) return 'done'
  const draft = `${path}.${process.pid}.tmp`
  try {
    const file = await open(draft, 'w', before.mode)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    // What the umask took away.
    await chmod(draft, before.mode)
    const now = await readText(path)
    if (!now.ok || now.text !== before.text) {
      await rm(draft, { force: true })
      return 'changed'
    }
    await rename(draft, path)
    return 'done'
  } catch {
    await rm(draft, { force: true }).catch(() => undefined)
    return 'failed'
  }
}
