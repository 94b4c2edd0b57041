// The guarded files on disk: cheap to check, and replaced whole and only if they are as expected.

import { isUtf8 } from 'node:buffer'
import { hash as digest } from 'node:crypto'
import {
  type BigIntStats,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
} from 'node:fs'
import { mkdir, open, readdir, readFile, rm } from 'node:fs/promises'
import { dirname, join, sep } from 'node:path'
import { configFiles, permissionsFile } from '../base/config-files.ts'
import { errorCode } from '../base/unknown.ts'
import { writeWhole } from './files.ts'

/** The content of a file. Without a text: there was no file (the hash is empty), or the text was not stored. */
export interface Version {
  readonly text: string | null
  readonly hash: string
}

export const absent: Version = { text: null, hash: '' }
export const versionOf = (text: string | null): Version =>
  text === null ? absent : { text, hash: digest('sha256', text) }

/** There was content, but its text was not stored: only its hash. */
export const isUnkept = ({ text, hash }: Version): boolean => text === null && hash !== ''

export interface Found extends Version {
  /** `other`: not a text that can be stored: a folder, a link that leads out of the workspace, too large, not UTF-8. */
  readonly what: 'text' | 'absent' | 'other'
}
export type Look = Found | { readonly what: 'unreadable'; readonly why: string }

export interface GuardedFiles {
  /** One of those that are guarded even if they do not exist. */
  isFixed(file: string): boolean
  /** Whatever is changed in it, it may give the agent more power. */
  isPower(file: string): boolean
  /** Relative to the workspace, including files that do not exist. */
  names(): readonly string[]
  /**
   * Synchronous: no turn can start between a check and its consequence, and going through the thread pool takes longer than checking
   * twenty files.
   */
  look(file: string): Look
  /**
   * Whole or not at all; null removes the file. False: it is no longer as expected and nothing was done. `done` runs synchronously with
   * it.
   */
  replace(file: string, expected: Version, text: string | null, done?: () => void): Promise<boolean>
  /** Moves the file out of the way. False: it is no longer as expected. */
  setAside(file: string, expected: Version, aside: string): Promise<boolean>
  /** Stores a text beside the log. */
  writeAside(aside: string, text: string): Promise<void>
  /** Null: it no longer exists. */
  readAside(aside: string): Promise<string | null>
  dropAside(aside: string): Promise<void>
  /** Keeps only the newest. */
  sweepAside(): Promise<void>
}

const asideFolder = '.aetheel/aside'
const mostAside = 50

/** The names sort by age. */
export const asideNameFor = (file: string, at: number): string => `${asideFolder}/${at}-${file.replaceAll('/', '_')}`

const power = [
  ...['.mcp.json', '.claude/settings.json', '.claude/settings.local.json', '.gemini/settings.json'],
  ...['.codex/config.toml', 'opencode.json', permissionsFile],
]
/** The last ones are files that the CLIs read from their working directory: their own rules, and programs that they start. */
const fixed = [
  ...['memory.md', 'identity.md', 'soul.md', 'agents.md', 'user.md', 'tools.md', 'heartbeat.md', 'boot.md'],
  ...['CLAUDE.md', 'persona.md', ...configFiles],
  ...['AGENTS.md', 'GEMINI.md', 'CLAUDE.local.md', ...power],
]
const largest = 4 * 1024 * 1024
/** File system clocks are coarse: a second change within this time can leave the same timestamps. */
const unsureMs = 2000

interface Seen {
  readonly sign: string
  readonly found: Found
  readonly at: number
  sure: boolean
}

export function createGuardedFiles(dir: string): GuardedFiles {
  const seen = new Map<string, Seen>()
  const root = () => realpathSync(dir)

  function names(): readonly string[] {
    return [
      ...fixed.filter(file => file !== 'AGENTS.md' || !isSameFile(join(dir, file), join(dir, 'agents.md'))),
      ...skills(),
    ]
  }

  function skills(): readonly string[] {
    try {
      const folders = readdirSync(join(dir, 'skills'), { withFileTypes: true }).filter(one => !one.isFile())
      return folders.map(({ name }) => `skills/${name}/SKILL.md`)
    } catch {
      return [] // no folder, no skills
    }
  }

  function look(file: string): Look {
    try {
      const path = join(dir, file)
      const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false })
      if (!stat) return remember(file, 'absent', { ...absent, what: 'absent' })
      if (stat.isSymbolicLink()) return lookBehind(file, path, signOf(stat))
      return lookAt(file, path, signOf(stat))
    } catch (error) {
      seen.delete(file)
      const code = codeOf(error)
      if (code === 'ENOENT' || code === 'ENOTDIR') return { ...absent, what: 'absent' }
      return { what: 'unreadable', why: `cannot be read (${code}); check its permissions` }
    }
  }

  /** A link that leads out of the workspace has one fixed version, whatever happens to its target. */
  function lookBehind(file: string, path: string, link: string): Found {
    const target = linked(path)
    if (target === null || !isInside(target)) return otherThing(`${link} ${target}`)
    return lookAt(file, target, `${link} ${target} ${signOf(lstatSync(target, { bigint: true }))}`)
  }

  function lookAt(file: string, path: string, sign: string): Found {
    const last = seen.get(file)
    return last?.sign === sign && last.sure ? last.found : remember(file, sign, read(path, sign))
  }

  function remember(file: string, sign: string, found: Found): Found {
    const last = seen.get(file)
    const now = performance.now()
    if (last?.sign === sign && last.found.hash === found.hash) last.sure ||= now - last.at > unsureMs
    else seen.set(file, { sign, found, at: now, sure: sign === 'absent' })
    return found
  }

  function read(path: string, sign: string): Found {
    const other = otherThing(sign)
    if (!isInside(realpathSync(path))) return other
    // Without O_NONBLOCK, a named pipe in place of the file would block for ever.
    const handle = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      const stat = fstatSync(handle)
      if (!stat.isFile() || stat.size > largest) return other
      const bytes = readFileSync(handle)
      return isUtf8(bytes) ? { ...versionOf(bytes.toString('utf8')), what: 'text' } : other
    } finally {
      closeSync(handle)
    }
  }

  const isInside = (path: string) => path.startsWith(`${root()}${sep}`)

  /** The path to write a file to. Throws rather than leave the workspace. */
  async function wayTo(file: string): Promise<string> {
    const path = join(dir, file)
    let there = dirname(path)
    while (!existsSync(there)) there = dirname(there)
    // Also checks the folders on the way: they would be created on the other side of a link.
    if (!isInside(join(realpathSync(there), sep))) throw new Error(`${file} is not inside the workspace`)
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    const target = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()
      ? linked(path)
      : join(realpathSync(dirname(path)), path.slice(dirname(path).length + 1))
    if (target === null || !isInside(target)) throw new Error(`${file} is not inside the workspace`)
    return target
  }

  async function replace(file: string, expected: Version, text: string | null, done?: () => void): Promise<boolean> {
    const target = await wayTo(file)
    const draft = `${target}.${process.pid}.tmp`
    try {
      if (text !== null) await writeDraft(draft, text, modeOf(target))
      // Synchronous from here on: nothing in this process can interfere, and other processes have next to no time to.
      const now = look(file)
      if (now.what === 'unreadable' || now.hash !== expected.hash) return false
      if (text !== null) renameSync(draft, target)
      else removeWithFolder(file, target)
      seen.delete(file)
      done?.()
      return true
    } finally {
      await rm(draft, { force: true })
    }
  }

  function removeWithFolder(file: string, target: string): void {
    rmSync(target, { force: true })
    if (!file.startsWith('skills/')) return
    try {
      rmdirSync(dirname(target))
    } catch {
      // The folder contains other files, which are not ours.
    }
  }

  const roomFor = (aside: string) => mkdir(dirname(join(dir, aside)), { recursive: true, mode: 0o700 })

  return {
    isFixed: file => fixed.includes(file),
    isPower: file => power.includes(file),
    names,
    look,
    replace,
    async setAside(file, expected, aside) {
      await roomFor(aside)
      const now = look(file)
      if (now.what === 'unreadable' || now.hash !== expected.hash) return false
      renameSync(join(dir, file), join(dir, aside))
      seen.delete(file)
      return true
    },
    async writeAside(aside, text) {
      await roomFor(aside)
      await writeWhole(join(dir, aside), text)
    },
    readAside: aside => readFile(join(dir, aside), 'utf8').catch(() => null),
    dropAside: aside => rm(join(dir, aside), { force: true, recursive: true }),
    async sweepAside() {
      const all = await readdir(join(dir, asideFolder)).catch(() => [])
      const old = all.sort().slice(0, -mostAside)
      for (const name of old) await rm(join(dir, asideFolder, name), { force: true, recursive: true })
    },
  }
}

async function writeDraft(path: string, text: string, mode: number): Promise<void> {
  // Left behind by a kill, or a link that somebody placed there.
  await rm(path, { force: true })
  const file = await open(path, 'wx', mode)
  try {
    await file.chmod(mode)
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Not only the timestamps: they can be set back, except for ctime. */
const signOf = ({ dev, ino, size, mtimeNs, ctimeNs, mode }: BigIntStats): string =>
  `${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs} ${mode}`

const otherThing = (sign: string): Found => ({ text: null, hash: `other ${sign}`, what: 'other' })

/** The target of a link; null: it leads nowhere. */
function linked(path: string): string | null {
  try {
    return realpathSync(path)
  } catch {
    return null
  }
}

const modeOf = (path: string): number => {
  const stat = statSync(path, { throwIfNoEntry: false })
  return stat?.isFile() ? stat.mode & 0o777 : 0o600
}

/** For file systems that ignore case. */
function isSameFile(one: string, other: string): boolean {
  const [a, b] = [one, other].map(path => lstatSync(path, { bigint: true, throwIfNoEntry: false }))
  return a !== undefined && b !== undefined && a.ino === b.ino && a.dev === b.dev
}

const codeOf = (error: unknown): string => errorCode(error) ?? 'unknown error'
