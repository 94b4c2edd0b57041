// The home of a guest's CLI: its own sessions and settings, the login of the owner, and nothing else of the owner's.
import { existsSync, lstatSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import type { Profile } from '../base/profile.ts'

type Environment = Readonly<Record<string, string>>

/** What matters of a CLI when its turns are confined. */
export interface Confined {
  /** The files of its login, below HOME. A guest's turn gets them read-only. */
  readonly logins: readonly string[]
  /** Of these files below HOME a guest's turn gets what `keep` leaves of them. */
  readonly settings?: readonly { readonly file: string; keep(text: string): string }[]
  /** Changes variables that would give a guest more than the way to the model. */
  variables?(env: Readonly<Record<string, string>>): Readonly<Record<string, string>>
  /** What it writes below HOME, besides the cache. */
  readonly state: readonly string[]
  /** Its own tools for files stay inside its working folder, so that they cannot read its login. */
  readonly staysInFolder: boolean
  /** With its own flags alone, files outside of its working folder are safe from these tools. */
  readonly heldByFlags: boolean
  /** The hosts of its models. `logins` is the text of its files of logins. */
  services(env: Readonly<Record<string, string>>, logins: string, model: string | null): readonly string[]
  /** Of its files above, those that name services of models by their URL. */
  readonly naming?: readonly string[]
  /** It has a mode in which it listens on a port. */
  readonly listens?: true
}

interface ConfinedCli {
  readonly confined: Confined
}

/** Variables that would lead a CLI out of the home it is given. */
const elsewhere =
  /^(?:XDG_.*|CLAUDE_CONFIG_DIR|CODEX_HOME|PI_CODING_AGENT_DIR|PI_CODING_AGENT_SESSION_DIR|GEMINI_CLI_HOME|OPENCODE_CONFIG|OPENCODE_CONFIG_DIR|TMPDIR)$/

/** The environment in the home of this profile. */
export function homeEnvironment(env: Environment, { home }: Profile, dialect: ConfinedCli): Record<string, string> {
  if (home === null) return { ...env }
  const kept = Object.entries(env).filter(([name]) => !elsewhere.test(name))
  const given = Object.fromEntries(kept)
  return { ...given, ...dialect.confined.variables?.(given), HOME: home }
}

export interface Mount {
  readonly from: string
  readonly at: string
}

/**
 * Creates the home. Returns what belongs into it read-only: the owner's login, and of the owner's settings what the CLI needs to reach
 * its model. In a box these are mounted; otherwise they are links.
 */
export function prepareHome(profile: Profile, dialect: ConfinedCli, env: Environment): readonly Mount[] {
  const { home, wall } = profile
  if (home === null) return []
  mkdirSync(home, { recursive: true, mode: 0o700 })
  const owners = (file: string) => placeOf(file, env, env.HOME ?? '')
  const logins = dialect.confined.logins.map(file => ({ file, from: owners(file) })).filter(one => existsSync(one.from))
  const settings = (dialect.confined.settings ?? []).flatMap(({ file, keep }) => {
    const text = readOr(owners(file))
    return text === null ? [] : { file, from: written(join(`${home}.settings`, file), keep(text)) }
  })
  return [...logins, ...settings].map(({ file, from }) => {
    const at = join(home, file)
    makeRealFolder(home, dirname(file))
    if (wall !== 'bwrap') {
      rmSync(at, { force: true })
      symlinkSync(from, at)
    } else if (isLink(at)) rmSync(at)
    return { from, at }
  })
}

/** `folder` below `home`. A guest may have put a link there, which must not lead the gateway to other files. */
export function makeRealFolder(home: string, folder: string): void {
  let path = home
  for (const name of folder.split(sep)) {
    path = join(path, name)
    if (isLink(path)) rmSync(path)
    mkdirSync(path, { recursive: true, mode: 0o700 })
  }
}

const isLink = (path: string) => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true

/** Not in the home itself, where the guest may write. */
function written(file: string, text: string): string {
  if (readOr(file) === text) return file
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  writeFileSync(file, text, { mode: 0o600 })
  return file
}

function readOr(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return null // there is none
  }
}

/** Folders below HOME that can be moved, and the variable for each. */
const moved: Readonly<Record<string, string>> = {
  '.local/share/': 'XDG_DATA_HOME',
  '.config/': 'XDG_CONFIG_HOME',
  '.claude/': 'CLAUDE_CONFIG_DIR',
  '.codex/': 'CODEX_HOME',
  '.pi/agent/': 'PI_CODING_AGENT_DIR',
}

/** Where this file below HOME really is. */
export function placeOf(file: string, environment: Readonly<Record<string, string | undefined>>, home: string): string {
  const folder = Object.keys(moved).find(one => file.startsWith(one)) ?? ''
  const elsewhere = environment[moved[folder] ?? '']?.trim()
  return elsewhere ? join(elsewhere, file.slice(folder.length)) : join(home, file)
}
