// The folder ipc/outbound with sent/ and failed/: created if missing, used only while no part of its path is a link.

import { lstat, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import type { Clock } from '../base/time.ts'
import { errorCode } from '../base/unknown.ts'

export interface OutboundFolder {
  readonly dir: string
  /** The inode of the folder, or why it cannot be used. */
  ready(): Promise<{ readonly inode: number } | { readonly why: string }>
  /** Names of possible messages, sorted. */
  names(): Promise<readonly string[]>
  /** Rejects if it cannot be moved; then it stays where it is. */
  toSent(name: string): Promise<void>
  toFailed(name: string, why: string): Promise<void>
  /** Keeps only the newest files of sent/. */
  prune(): Promise<void>
}

const kept = 500
const folders = ['ipc', 'ipc/outbound', 'ipc/outbound/sent', 'ipc/outbound/failed']
const inFlight = /^\.|\.(?:tmp|part)$|~$/i

export function createFolder(workspace: string, clock: Pick<Clock, 'now'>): OutboundFolder {
  const dir = join(workspace, 'ipc/outbound')

  /** A path without extension that is free with each of the endings. */
  async function freeIn(folder: string, stem: string, endings: readonly string[]): Promise<string> {
    for (let i = 0; ; i += 1) {
      const base = join(dir, folder, i === 0 ? stem : `${stem}.${clock.now().toString(36)}${i === 1 ? '' : `-${i}`}`)
      const taken = await Promise.all(endings.map(ending => isThere(`${base}${ending}`)))
      if (!taken.includes(true)) return base
    }
  }

  return {
    dir,
    async ready() {
      try {
        for (const folder of folders) {
          const path = join(workspace, folder)
          await mkdir(path, { mode: 0o700 }).catch(unlessThere)
          const stats = await lstat(path)
          if (!stats.isDirectory()) return { why: `${folder} is not a folder. Nothing is sent from there until it is.` }
        }
        return { inode: (await lstat(dir)).ino }
      } catch (error) {
        return { why: `ipc/outbound cannot be used (${codeOf(error)}). Check the permissions of the workspace.` }
      }
    },
    async names() {
      const all = await readdir(dir)
      return all.filter(name => name !== 'sent' && name !== 'failed' && !inFlight.test(name)).sort()
    },
    async toSent(name) {
      const [stem, ending] = nameParts(name)
      await rename(join(dir, name), `${await freeIn('sent', stem, [ending])}${ending}`)
    },
    async toFailed(name, why) {
      const [stem, ending] = nameParts(name)
      const base = await freeIn('failed', stem, [ending, '.reason.txt'])
      await rename(join(dir, name), `${base}${ending}`)
      // wx: neither overwrites an existing file nor follows a link.
      await writeFile(`${base}.reason.txt`, `${why}\n`, { flag: 'wx', mode: 0o600 })
    },
    async prune() {
      const sent = join(dir, 'sent')
      const names = await readdir(sent)
      if (names.length <= kept) return
      const aged: { name: string; at: number }[] = []
      for (const name of names) {
        const stats = await lstat(join(sent, name)).catch(() => null) // it was removed in the meantime
        // ctime is the time of the move; mtime says nothing about when it was sent.
        if (stats && !stats.isDirectory()) aged.push({ name, at: stats.ctimeMs })
      }
      aged.sort((a, b) => b.at - a.at || (a.name < b.name ? 1 : -1))
      for (const { name } of aged.slice(kept)) await rm(join(sent, name), { force: true })
    },
  }
}

/** Without control characters, and short enough to append a suffix. */
function nameParts(name: string): readonly [stem: string, ending: string] {
  const plain = name.replace(/\p{Cc}/gu, '_')
  const ending = extname(plain).length <= 8 ? extname(plain) : ''
  const stem = plain.slice(0, plain.length - ending.length)
  return [Buffer.byteLength(stem) > 200 ? stem.slice(0, 50).toWellFormed() : stem, ending]
}

const isThere = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  )

const unlessThere = (error: unknown): void => {
  if (errorCode(error) !== 'EEXIST') throw error
}

export const codeOf = (error: unknown): string => errorCode(error) ?? 'unknown error'
