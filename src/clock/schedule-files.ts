// Reads heartbeat.md and agents.md when they change, and edits them atomically.

import { isUtf8 } from 'node:buffer'
import { constants, type FSWatcher, statSync, watch } from 'node:fs'
import { chmod, open, realpath, rename, rm, writeFile } from 'node:fs/promises'
import { join, sep } from 'node:path'
import type { Job, JobKind, JobTrouble } from '../base/jobs.ts'
import type { Caller } from '../base/tools.ts'
import { isMissing } from '../base/unknown.ts'
import { readCronJobs } from './cron-file.ts'
import { readHeartbeats } from './heartbeat-file.ts'

export const fileOf: Readonly<Record<JobKind, string>> = { heartbeat: 'heartbeat.md', cron: 'agents.md' }
const kinds = ['heartbeat', 'cron'] as const

export interface Schedules {
  readonly jobs: readonly Job[]
  readonly troubles: readonly JobTrouble[]
  /** False if a file could not be read; its last known jobs are used then. */
  readonly whole: boolean
  /** Files that do not exist. */
  readonly missing: readonly string[]
}

export type Edited = { readonly ok: true } | { readonly ok: false; readonly why: string }

/** The file guard, which knows who changed the files. Without it, the files on disk are used. */
export interface ScheduleGuard {
  /** The text in effect if somebody without permission has changed the file; null for no file. Undefined: the text on disk. */
  approved(file: string): string | null | undefined
  /** Atomic, even while others edit the file. `by` is the turn that edits; null if it is not a turn. */
  edit(file: string, by: Caller | null, change: (markdown: string | null) => string): Promise<Edited>
}

const mostBytes = 1024 * 1024

export function createScheduleFiles(dir: string, fileGuard: ScheduleGuard | null = null) {
  const last = new Map<JobKind, { text: string; jobs: readonly Job[]; troubles: readonly JobTrouble[] }>()

  const readInEffect = async (file: string, path: string): ReturnType<typeof readText> => {
    const found = await readText(path)
    // Asked after reading: by now the guard knows of any change made before the read.
    const approved = fileGuard?.approved(file)
    return approved === undefined ? found : { ok: true, text: approved && withoutByteOrderMark(approved), mode: 0o600 }
  }

  const readKind = async (kind: JobKind): Promise<Schedules> => {
    const found = await readInEffect(fileOf[kind], join(dir, fileOf[kind]))
    const before = last.get(kind)
    if (!found.ok) {
      const trouble = { file: fileOf[kind], name: '', why: found.why }
      return { jobs: before?.jobs ?? [], troubles: [trouble], whole: false, missing: [] }
    }
    const text = found.text ?? ''
    const missing = found.text === null ? [fileOf[kind]] : []
    if (before?.text === text) return { ...before, whole: true, missing }
    const { jobs, troubles } = await (kind === 'cron' ? readCronJobs(text) : readHeartbeats(text))
    last.set(kind, { text, jobs, troubles })
    return { jobs, troubles, whole: true, missing }
  }

  return {
    /** Reads the current files. Never rejects; a missing file has no jobs. */
    async read(): Promise<Schedules> {
      const read = await Promise.all(kinds.map(readKind))
      return {
        jobs: read.flatMap(({ jobs }) => jobs),
        troubles: read.flatMap(({ troubles }) => troubles),
        whole: read.every(({ whole }) => whole),
        missing: read.flatMap(({ missing }) => missing),
      }
    },
    /** Concurrent edits would lose one: the caller must serialize them. */
    async edit(kind: JobKind, by: Caller | null, change: (markdown: string) => string): Promise<Edited> {
      const file = fileOf[kind]
      const target = await targetOf(dir, file)
      if (target === null)
        return { ok: false, why: `${file} is a link to a file outside the workspace; edit it by hand.` }
      if (fileGuard) {
        const found = await readInEffect(file, target)
        if (!found.ok) return { ok: false, why: `${file} ${found.why}.` }
        if (change(found.text ?? '') === (found.text ?? '')) return { ok: true }
        return fileGuard.edit(file, by, markdown => change(withoutByteOrderMark(markdown ?? '')))
      }
      // Somebody else may save it in the meantime; then the edit is applied to their text.
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

/** Reads the files of a workspace without a gateway. Never rejects. */
export const readSchedules = (dir: string): Promise<Schedules> => createScheduleFiles(dir).read()

/** The current agents.md. Empty if it is missing or unusable; readSchedules reports that. Never rejects, and does not block on a pipe. */
export async function readAgentsFile(dir: string): Promise<string> {
  const found = await readText(join(dir, fileOf.cron))
  return found.ok ? (found.text ?? '') : ''
}

/** Reads agents.md, or its approved text while a change of it waits for approval. */
export const agentsFileReader =
  (dir: string, approved: (file: string) => string | null | undefined) => async (): Promise<string> => {
    const text = approved(fileOf.cron)
    return text === undefined ? readAgentsFile(dir) : (text ?? '')
  }

/** Calls `changed` shortly after one of the files changed. May fail silently: the caller also polls. */
export function openWatch(dir: string, changed: () => void) {
  const names: readonly string[] = Object.values(fileOf)
  let open: { watcher: FSWatcher; inode: number } | null = null
  let settling: NodeJS.Timeout | null = null
  const close = () => {
    open?.watcher.close()
    open = null
  }
  return {
    /** Watches again after the folder was missing or has been replaced, since a watch stays with the old folder. */
    ensure() {
      try {
        const inode = statSync(dir).ino
        if (open?.inode === inode) return
        close()
        const watcher = watch(dir, (_, file) => {
          if (file !== null && !names.includes(file)) return
          // Gives an editor that truncates the file first the time to write it.
          settling ??= setTimeout(() => {
            settling = null
            changed()
          }, 50)
        })
        watcher.on('error', close)
        open = { watcher, inode }
      } catch {
        // No such folder, or out of watches: polling has to do.
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

const withoutByteOrderMark = (text: string) => text.replace(/^\uFEFF/, '')

async function readText(path: string): Promise<Text | { readonly ok: false; readonly why: string }> {
  try {
    // Opening a named pipe would block until somebody writes to it.
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      const stat = await file.stat()
      if (!stat.isFile()) return { ok: false, why: 'is not a regular file; replace it by one' }
      if (stat.size > mostBytes) return { ok: false, why: 'is larger than 1 MB; shorten it' }
      const bytes = await file.readFile()
      if (!isUtf8(bytes)) return { ok: false, why: 'is not UTF-8 text; save it as UTF-8' }
      return { ok: true, text: withoutByteOrderMark(bytes.toString()), mode: stat.mode & 0o777 }
    } finally {
      await file.close()
    }
  } catch (error) {
    if (isMissing(error)) return { ok: true, text: null, mode: 0o600 }
    return { ok: false, why: 'cannot be read; check its permissions' }
  }
}

/** The file's real path. Null if it is outside the workspace. */
async function targetOf(dir: string, file: string): Promise<string | null> {
  const path = join(dir, file)
  try {
    const [home, target] = await Promise.all([realpath(dir), realpath(path)])
    return target.startsWith(`${home}${sep}`) ? target : null
  } catch {
    // It does not exist yet: renaming to this path replaces even a dangling link by a file in the workspace.
    return path
  }
}

async function replace(path: string, before: Text, text: string): Promise<'done' | 'changed' | 'failed'> {
  if (text === before.text) return 'done'
  const draft = `${path}.${process.pid}.tmp`
  try {
    await writeFile(draft, text, { mode: before.mode, flush: true })
    // Restores the bits that the umask removed.
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
