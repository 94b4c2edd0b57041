// Which paths are guarded: the whole workspace, and what the CLIs read as instructions, code or configuration above it and in the home
// folder. What widens the agent's power is guarded in every turn, the rest while a guest's turn runs.

import { hash as digest } from 'node:crypto'
import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { dirname } from 'node:path'

export type Reach = 'power' | 'all'

export interface Surroundings {
  /** The home folder in which the CLIs look for their files; null: none is guarded. */
  readonly home: string | null
  /** Where the gateway was started: its `.env` is there. */
  readonly cwd: string | null
}

export interface Places {
  /** The paths to start from. All are byte strings. */
  roots(reach: Reach): readonly string[]
  isPower(path: string): boolean
  /** The gateway's own state, or a file that is guarded elsewhere. */
  isSkipped(path: string, reach: Reach): boolean
  /** A folder that may be new because of what is in it: folders that are skipped, or a file that the owner has just made. */
  isFrame(path: string): boolean
  /** How people see it: relative to the workspace, or with `~/` or `../` in front. */
  nameOf(path: string): string
  pathOf(name: string): string
}

/** Rewritten by the gateway while turns run. */
const own = [
  '.aetheel',
  'messages',
  'conversations',
  'files/in',
  'ipc/calls',
  'ipc/outbound/sent',
  'ipc/outbound/failed',
]
const frames = ['guests', 'files', 'ipc', 'ipc/outbound']
const ownFile =
  /^(?:sessions\.json|activity-log\.json(?:\.damaged)?|(?:brain|tasks|content-items)\.json\.(?:lost|lost-before|broken)[^/]*|(?:bot-)?config\.json\.refused)$/

const settings = ['settings.json', 'settings.local.json']
/** Claude runs hooks that are written in these. */
const withHooks = ['agents', 'commands', 'skills']
/** In a project folder: the workspace and those above it. */
const projectPower = [
  ...['.mcp.json', 'opencode.json', 'opencode.jsonc', '.env', '.env.local'],
  ...[...settings, 'hooks', 'plugins', ...withHooks].map(name => `.claude/${name}`),
]
const projectTrees = ['.opencode', '.codex', '.gemini', '.pi']
const projectRules = [
  ...[
    'CLAUDE.md',
    'CLAUDE.local.md',
    'AGENTS.md',
    'AGENTS.override.md',
    'GEMINI.md',
    '.agents',
    '.git/hooks',
    '.git/config',
  ],
  ...['CLAUDE.md', 'rules', 'output-styles'].map(name => `.claude/${name}`),
]
const opencode = [
  ...['opencode.json', 'opencode.jsonc', 'config.json', 'plugin', 'plugins', 'tool', 'tools'],
  ...['agent', 'agents', 'command', 'commands', 'mode', 'modes'],
]
const homePower = [
  ...[...settings, 'hooks', ...withHooks].map(name => `.claude/${name}`),
  // Its rules name commands that run outside of its sandbox.
  ...['config.toml', 'hooks.json', 'rules'].map(name => `.codex/${name}`),
  ...['settings.json', '.env', 'extensions', 'policies', 'hooks', 'agents'].map(name => `.gemini/${name}`),
  ...opencode.map(name => `.config/opencode/${name}`),
  ...['settings.json', 'models.json', 'extensions', 'tools', 'hooks'].map(name => `.pi/agent/${name}`),
]
const homeRules = [
  ...['CLAUDE.md', 'rules', 'output-styles'].map(name => `.claude/${name}`),
  ...['AGENTS.md', 'AGENTS.override.md', 'prompts', 'skills'].map(name => `.codex/${name}`),
  ...['GEMINI.md', 'commands', 'skills'].map(name => `.gemini/${name}`),
  ...['AGENTS.md', 'skill', 'skills'].map(name => `.config/opencode/${name}`),
  ...['AGENTS.md', 'SYSTEM.md', 'APPEND_SYSTEM.md', 'prompts', 'skills'].map(name => `.pi/agent/${name}`),
  ...[
    '.agents',
    '.gitconfig',
    '.config/git',
    '.npmrc',
    '.profile',
    '.bashrc',
    '.bash_profile',
    '.bash_login',
    '.bash_logout',
  ],
  ...[
    '.zshrc',
    '.zshenv',
    '.zprofile',
    '.zlogin',
    '.ssh/config',
    '.ssh/rc',
    '.ssh/authorized_keys',
    '.ssh/environment',
  ],
  ...['.config/systemd/user', '.config/autostart', '.config/fish'],
]
/** The CLIs install into these by themselves. */
const installed = /\/(?:node_modules|\.opencode\/(?:package\.json|package-lock\.json|bun\.lockb?|\.gitignore))(?:\/|$)/

/** All are given names relative to the workspace. */
export interface Exceptions {
  /** The file guard looks after this file itself. */
  isNamed(file: string): boolean
  /** There is such a file in this folder, and it is accepted. */
  holdsNamed(folder: string): boolean
  /** A guest may write there now. */
  isFree(file: string): boolean
}

export function createPlaces(
  workspace: string,
  { home, cwd }: Surroundings,
  { isNamed, holdsNamed, isFree }: Exceptions,
): Places {
  const root = fromText(workspace)
  const above = parentsOf(root)
  const atHome = home === null ? null : fromText(home)
  const inEach = (folders: readonly string[], names: readonly string[]) =>
    folders.flatMap(folder => names.map(name => `${folder === '/' ? '' : folder}/${name}`))
  const projects = above.filter(folder => folder !== atHome)
  const started = cwd === null ? [] : inEach([fromText(cwd)], ['.env', '.env.local'])
  const power = new Set([
    ...inEach([root, ...above], projectPower),
    ...inEach([root, ...projects], projectTrees),
    ...(atHome === null ? [] : inEach([atHome], homePower)),
    ...started,
  ])
  const outsideRules = [
    ...inEach(above, projectRules),
    ...(atHome === null ? [] : inEach([atHome], homeRules)),
    `${root}/.aetheel/token`,
  ]
  const inside = (path: string) => (path.startsWith(`${root}/`) ? path.slice(root.length + 1) : null)
  const isDotEnv = (path: string) => path.startsWith(`${root}/.env`) && !path.includes('/', root.length + 1)
  const isIn = (path: string, folders: readonly string[]) =>
    folders.some(folder => path === folder || path.startsWith(`${folder}/`))
  const draft = `.${process.pid}.tmp`

  function isPower(path: string): boolean {
    if (installed.test(path)) return false
    if (isDotEnv(path)) return true
    for (let at = path; at.length > 1; at = dirname(at)) if (power.has(at)) return true
    return false
  }

  return {
    roots(reach) {
      const dotEnv = pathsIn(root).filter(isDotEnv)
      const narrow = [...new Set([...power, ...dotEnv])]
      return reach === 'power' ? narrow : [root, ...narrow.filter(path => inside(path) === null), ...outsideRules]
    },
    isPower,
    isSkipped(path, reach) {
      const file = inside(path)
      if (file === null) return path !== root && installed.test(path)
      // The file guard looks through a link, at its content; that it is one is seen here.
      if (path.endsWith(draft) || (isNamed(file) && examine(path)?.kind !== 'link')) return true
      if (reach === 'power' && installed.test(path)) return true
      if (file === '.aetheel/token') return false
      return ownFile.test(file) || isIn(file, own) || isFree(file)
    },
    isFrame(path) {
      const file = inside(path)
      return file !== null && (frames.includes(file) || holdsNamed(file))
    },
    nameOf(path) {
      const file = inside(path)
      if (file !== null) return file.startsWith('~') || file.startsWith('/') ? `./${file}` : file
      if (atHome !== null && path.startsWith(`${atHome}/`)) return `~${path.slice(atHome.length)}`
      return path
    },
    pathOf(name) {
      if (name.startsWith('~/') && atHome !== null) return `${atHome}${name.slice(1)}`
      return name.startsWith('/') ? name : `${root}/${name.replace(/^\.\/(?=[~/])/, '')}`
    },
  }
}

function parentsOf(path: string): readonly string[] {
  const parents: string[] = []
  for (let at = dirname(path); ; at = dirname(at)) {
    parents.push(at)
    if (at === dirname(at)) return parents
  }
}

// What is at a path, without following links. Paths are strings of bytes ("latin1"), since a file name need not be valid UTF-8.

export interface Entry {
  /** `special`: a pipe, socket or device. */
  readonly kind: 'file' | 'folder' | 'link' | 'special'
  readonly mode: number
  readonly size: number
  /** Changes with every write. Of a folder only its mode counts, since its content has entries of its own. */
  readonly sign: string
  /** Milliseconds since the epoch. */
  readonly changedAt: number
  /** Of a link. */
  readonly target: string
}

/** A path as the file system wants it. */
export const onDisk = (path: string): Buffer => Buffer.from(path, 'latin1')
export const fromText = (path: string): string => Buffer.from(path).toString('latin1')
export const asText = (path: string): string => onDisk(path).toString('utf8')

/** Null: nothing is there, or it cannot be reached. */
export function examine(path: string): Entry | null {
  try {
    const stat = lstatSync(onDisk(path), { bigint: true, throwIfNoEntry: false })
    if (!stat) return null
    const mode = Number(stat.mode) & 0o7777
    const kind = stat.isFile() ? 'file' : stat.isDirectory() ? 'folder' : stat.isSymbolicLink() ? 'link' : 'special'
    const target = kind === 'link' ? readlinkSync(onDisk(path), { encoding: 'latin1' }) : ''
    const { dev, ino, size, mtimeNs, ctimeNs } = stat
    const sign = kind === 'folder' ? `${mode}` : `${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs} ${mode}`
    return { kind, mode, size: Number(size), sign, changedAt: Number(ctimeNs / 1_000_000n), target }
  } catch {
    return null
  }
}

/** The paths in a folder; none if it cannot be read. */
export function pathsIn(folder: string): readonly string[] {
  try {
    return readdirSync(onDisk(folder), { encoding: 'latin1' }).map(name => `${folder === '/' ? '' : folder}/${name}`)
  } catch {
    return []
  }
}

/** Null: not a file of at most `most` bytes, or it cannot be read. */
export function contentOf(path: string, most: number): Buffer | null {
  try {
    // A pipe in its place would block for ever, and a link would lead elsewhere.
    const handle = openSync(onDisk(path), constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
    try {
      const stat = fstatSync(handle)
      return stat.isFile() && stat.size <= most ? readFileSync(handle) : null
    } finally {
      closeSync(handle)
    }
  } catch {
    return null
  }
}

/** Identifies what is there: the same for the same content. */
export function hashOf({ kind, sign, target }: Entry, content: Uint8Array | null): string {
  if (kind === 'file') return content === null ? `file ${sign}` : digest('sha256', content)
  return kind === 'link' ? `link ${target}` : kind
}
