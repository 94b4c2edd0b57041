// The files that say who the agent is, as they stand on the disk: looked at cheaply, replaced whole and only if they are as expected.
import { isUtf8 } from 'node:buffer'
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
import { configFiles } from '../base/config-files.ts'
import { absent, type Version, versionOf } from './changes.ts'
import { writeWhole } from './files.ts'

export interface Found extends Version {
  /** `other`: not a text that can be kept: a folder, a link that leads out of the workspace, too large, not UTF-8. */
  readonly what: 'text' | 'absent' | 'other'
}
export type Look = Found | { readonly what: 'unreadable'; readonly why: string }

export interface KeptFiles {
  /** Relative to the workspace, those that are not there too. */
  names(): readonly string[]
  /**
   * Synchronously: no turn can begin between a look and what is made of it, and the way through the thread pool takes longer than
   * looking at twenty files.
   */
  look(file: string): Look
  /** Whole or not at all; null removes it. False, and nothing is done: it is not as expected any more. `done` runs in the same moment. */
  replace(file: string, expected: Version, text: string | null, done?: () => void): Promise<boolean>
  /** Moves what stands there out of the way. False: it is not as expected any more. */
  setAside(file: string, expected: Version, aside: string): Promise<boolean>
  /** A text that is kept beside the log. */
  writeAside(aside: string, text: string): Promise<void>
  /** Null: it is not there any more. */
  readAside(aside: string): Promise<string | null>
  dropAside(aside: string): Promise<void>
  /** Only the newest stay. */
  sweepAside(): Promise<void>
}

const asideFolder = '.aetheel/aside'
const mostAside = 50

/** They sort by their age. */
export const asideNameFor = (file: string, at: number): string => `${asideFolder}/${at}-${file.replaceAll('/', '_')}`

/** The last ones are what the CLIs take from their working folder: rules of their own, and programs that they start. */
const fixed = [
  ...['memory.md', 'identity.md', 'soul.md', 'agents.md', 'user.md', 'tools.md', 'heartbeat.md', 'boot.md'],
  ...['CLAUDE.md', 'persona.md', ...configFiles],
  ...['AGENTS.md', 'GEMINI.md', 'CLAUDE.local.md', '.mcp.json', '.claude/settings.json', '.claude/settings.local.json'],
  ...['.gemini/settings.json', '.codex/config.toml', 'opencode.json'],
]
const mostSkills = 500
const largest = 4 * 1024 * 1024
/** Clocks of file systems are coarse: a second change within this time can leave the same times behind. */
const unsureMs = 2000

interface Seen {
  readonly sign: string
  readonly found: Found
  readonly at: number
  sure: boolean
}

export function openKeptFiles(dir: string): KeptFiles {
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
      return folders.slice(0, mostSkills).map(({ name }) => `skills/${name}/SKILL.md`)
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

  /** A link that leads out is one and the same thing, whatever becomes of what it leads to. */
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
    // Without O_NONBLOCK a named pipe in the place of the file would hold us for ever.
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

  /** Where a file is to be written. Throws rather than leave the workspace. */
  async function wayTo(file: string): Promise<string> {
    const path = join(dir, file)
    let there = dirname(path)
    while (!existsSync(there)) there = dirname(there)
    // Also the folders on the way: they would be made on the other side of a link.
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
      // From here on nothing is awaited: nobody of ours comes in between, and others have next to no time to.
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
      // There is more in it, which is not ours.
    }
  }

  const roomFor = (aside: string) => mkdir(dirname(join(dir, aside)), { recursive: true, mode: 0o700 })

  return {
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
  // One that a kill left behind, or a link that somebody laid there.
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

/** Not the times alone: these can be set back, all but that of the last change. */
const signOf = ({ dev, ino, size, mtimeNs, ctimeNs, mode }: BigIntStats): string =>
  `${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs} ${mode}`

const otherThing = (sign: string): Found => ({ text: null, hash: `other ${sign}`, what: 'other' })

/** Where a link leads; null: nowhere. */
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

/** On disks that take upper and lower case for the same. */
function isSameFile(one: string, other: string): boolean {
  const [a, b] = [one, other].map(path => lstatSync(path, { bigint: true, throwIfNoEntry: false }))
  return a !== undefined && b !== undefined && a.ino === b.ino && a.dev === b.dev
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
