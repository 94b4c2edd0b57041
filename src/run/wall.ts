// The wall around the processes of a turn: bubblewrap, where it works. Paths are the same inside and outside.
import { spawn } from 'node:child_process'
import { existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import type { LimitedNetwork, Profile, WallKind } from '../base/profile.ts'
import { findProgram } from './find-program.ts'
import { findPerl, withForwarder } from './network/forwarder.ts'
import type { BoxNetwork } from './network/proxy.ts'
import type { ProcessOrder } from './process.ts'

export interface Wall {
  readonly kind: WallKind
  /** The bubblewrap program; empty with any other wall. */
  readonly box: string
  /** Why this one. */
  readonly detail: string
  /** How a box gets a network of its own; null: it cannot have one, and shares that of this machine. */
  readonly network: Pick<LimitedNetwork, 'perl'> | null
}

export type WallChoice = 'auto' | WallKind

/** Tries bubblewrap once. `auto` and `bwrap` differ only in what the caller does if it does not work. */
export async function findWall(choice: WallChoice, path: string | undefined, signal: AbortSignal): Promise<Wall> {
  if (choice === 'none') return { kind: 'none', box: '', detail: 'WALL=none', network: null }
  if (choice === 'flags') return { kind: 'flags', box: '', detail: 'WALL=flags', network: null }
  const program = process.platform === 'linux' ? findProgram('bwrap', path) : null
  if (program === null)
    return {
      kind: 'flags',
      box: '',
      network: null,
      detail:
        process.platform === 'linux'
          ? 'bubblewrap is not installed (`apt-get install bubblewrap`)'
          : 'bubblewrap runs on Linux only',
    }
  const perl = findPerl(path)
  const alone = ['--unshare-net', ...system(), '--', ...withForwarder(nothing, perl, noPorts)]
  if ((await tryOut(program, alone, signal)) === null)
    return { kind: 'bwrap', box: program, detail: program, network: { perl } }
  const why = await tryOut(program, [...system(), '--', ...nothing], signal)
  return why === null
    ? { kind: 'bwrap', box: program, detail: program, network: null }
    : { kind: 'flags', box: '', detail: `${program} does not work here: ${why}`, network: null }
}

const nothing = ['/bin/sh', '-c', ':']
const noPorts = { dir: '/', outward: {}, inward: null }

/** With the same flags as a turn. User namespaces may be forbidden, or /proc may not be mountable in a container. */
function tryOut(program: string, args: readonly string[], signal: AbortSignal): Promise<string | null> {
  return new Promise(resolve => {
    const child = spawn(program, [...isolation, ...args], {
      env: {},
      stdio: ['ignore', 'ignore', 'pipe'],
      signal,
      timeout: 10_000,
    })
    let said = ''
    child.stderr.on('data', (chunk: Buffer) => {
      said = (said + chunk.toString('utf8')).slice(0, 300)
    })
    child.on('error', error => resolve(error.message))
    child.on('close', code => resolve(code === 0 ? null : said.trim() || `exit code ${code}`))
  })
}

/** What the process in the box needs besides what its profile lists. */
export interface BoxParts {
  /** The folder of the run. */
  readonly dir: string
  /** Programs that are started inside, by name or path; their packages become visible. */
  readonly programs: readonly string[]
  /** Files of the login: from the user's home to the home of the profile. */
  readonly logins: readonly { readonly from: string; readonly at: string }[]
  /** Folders in the user's home that the CLI writes to, for a profile without a home of its own. */
  readonly state: readonly string[]
  /** Null: it shares the network of this machine. */
  readonly network: BoxNetwork | null
}

/** The same order, inside the box. Unchanged if bubblewrap is not the wall of its profile. */
export function boxed(order: ProcessOrder, profile: Profile | undefined, parts: BoxParts): ProcessOrder {
  if (!profile || profile.box === '') return order
  const found = findProgram(order.file, order.env.PATH)
  // By its real path: behind a link, such as those that npm makes for global packages, it would not find its own modules.
  const file = found === null ? order.file : realpathSync(found)
  const command = [file, ...order.args]
  const { network } = parts
  const args = [
    ...isolation,
    ...(profile.seesAll ? wholeDisk(profile, parts) : listed(profile, parts, order.env, file)),
    ...(network ? ['--unshare-net'] : []),
    ...['--chdir', order.cwd, '--'],
    ...(network ? withForwarder(command, profile.network?.perl ?? null, network.forwarding) : command),
  ]
  if (!network) return { ...order, file: profile.box, args, cwd: '/' }
  return { ...order, file: profile.box, args, cwd: '/', env: { ...order.env, ...network.environment }, network }
}

/** A death of the first process, or of the gateway, ends everything in the namespace. */
const isolation = [
  ...['--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'],
  ...['--die-with-parent', '--new-session', '--cap-drop', 'ALL'],
]

/** The system's programs, and those parts of /etc that programs need. Nothing of /etc that holds secrets. */
function system(): readonly string[] {
  return [
    ...readOnly('/usr'),
    ...['/bin', '/lib', '/lib32', '/lib64', '/sbin'].flatMap(linkOrFolder),
    ...['/nix/store', '/gnu/store'].filter(existsSync).flatMap(readOnly),
    ...etc
      .map(name => join('/etc', name))
      .filter(existsSync)
      .flatMap(resolved),
    ...['--dev', '/dev', '--proc', '/proc', '--tmpfs', '/tmp'],
  ]
}

/** Few, because each one costs half a millisecond at the start of a box. */
const etc = [
  ...['alternatives', 'group', 'hosts', 'ld.so.cache', 'localtime', 'nsswitch.conf', 'passwd', 'resolv.conf'],
  ...['pki/ca-trust', 'pki/tls/certs', 'ssl/certs', 'ssl/openssl.cnf', 'static'],
  // Rules that an administrator has made for these CLIs.
  ...['claude-code', 'codex', 'gemini-cli', 'opencode'],
]

const readOnly = (path: string): readonly string[] => ['--ro-bind', path, path]

function linkOrFolder(path: string): readonly string[] {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (!found) return []
  return found.isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : readOnly(path)
}

/** A link is replaced by what it leads to, which may be outside of what is visible. */
const resolved = (path: string): readonly string[] => ['--ro-bind', realpathSync(path), path]

function listed(profile: Profile, parts: BoxParts, env: ProcessOrder['env'], file: string): readonly string[] {
  const programs = [file, ...parts.programs, 'node'].flatMap(name => findProgram(name, env.PATH) ?? [])
  return [
    ...system(),
    ...[...new Set(programs.flatMap(placesOf))].flatMap(readOnlyAt),
    ...(profile.home ? writable(profile.home) : []),
    ...parts.logins.filter(({ from }) => existsSync(from)).flatMap(({ from, at }) => ['--ro-bind', from, at]),
    ...profile.writable.flatMap(writable),
    ...profile.readable.filter(({ from }) => existsSync(from)).flatMap(({ from, at }) => ['--ro-bind', from, at]),
    ...hidden(profile, parts),
    ...certificates
      .flatMap(name => env[name] ?? [])
      .filter(existsSync)
      .flatMap(readOnly),
  ]
}

const certificates = ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR']

/** Everything can be read except what is hidden; only the listed folders, and the state of the CLI itself, can be written. */
function wholeDisk(profile: Profile, parts: BoxParts): readonly string[] {
  return [
    ...['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', '--tmpfs', '/tmp'],
    ...[...parts.state, ...profile.writable].filter(existsSync).flatMap(writable),
    ...profile.readable.filter(({ from }) => existsSync(from)).flatMap(({ from, at }) => ['--ro-bind', from, at]),
    ...hidden(profile, parts),
  ]
}

const writable = (path: string): readonly string[] => ['--bind', path, path]

/** Empty folders that stay empty, except for the folder of the run, which may be inside one of them. */
function hidden(profile: Profile, { dir }: BoxParts): readonly string[] {
  const folders = profile.hidden.filter(existsSync)
  return [
    ...folders.flatMap(path => ['--tmpfs', path]),
    ...readOnly(dir),
    ...folders.flatMap(path => ['--remount-ro', path]),
  ]
}

/** A place is a path, or `target -> link` for a link. */
const readOnlyAt = (place: string): readonly string[] => {
  const [from = place, at = from] = place.split('\0')
  return ['--ro-bind', from, at]
}

/**
 * What must be visible for a program to run: the file itself at the path by which it is called, and the folder of packages it belongs
 * to. A program outside of such a folder is visible with its own folder only if it is a script, because scripts load their neighbours.
 */
export function placesOf(program: string): readonly string[] {
  const real = realpathSync(program)
  const packages = outermost(real, 'node_modules')
  const places = packages ? [packages] : isScript(real) ? [dirname(real)] : [real]
  const visible = ['/usr', '/nix/store', '/gnu/store', ...places].some(place => isWithin(program, place))
  return [...places.filter(place => !isWithin(place, '/usr')), ...(visible ? [] : [`${real}\0${program}`])]
}

const isScript = (file: string) => /\.[cm]?[jt]s$/.test(file)

export const isWithin = (path: string, folder: string): boolean => path === folder || path.startsWith(folder + sep)

/** The folder of this name that is nearest to the root; null: there is none. */
function outermost(path: string, name: string): string | null {
  const parts = path.split(sep)
  const at = parts.indexOf(name)
  return at < 0 ? null : parts.slice(0, at + 1).join(sep)
}
