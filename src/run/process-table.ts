// The process table, as far as ending a run needs it. Reads /proc if there is one, and uses ps elsewhere.
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** One process, distinct from a later one with the same pid. `started`: in ticks since boot; 0 where unknown. */
export interface Identity {
  readonly pid: number
  readonly started: number
}

interface Row extends Identity {
  readonly parent: number
  readonly group: number
  readonly session: number
  readonly dead: boolean
}

/** Null: there is no such process. */
export function identify(pid: number): Identity | null {
  if (process.platform !== 'linux') return isAlive(pid) ? { pid, started: 0 } : null
  const row = readRow(pid)
  return row && { pid, started: row.started }
}

/** Whether this process, not another with the same pid, still runs. */
export function isRunning({ pid, started }: Identity): boolean {
  const row = process.platform === 'linux' ? readRow(pid) : null
  return row ? row.started === started && !row.dead : isAlive(pid)
}

export function isAlive(pid: number): boolean {
  const row = readRow(pid)
  if (row) return !row.dead
  try {
    // Works even if nothing can be read, for example without free descriptors.
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Does not signal another process that has the same pid by now. */
export function signalTo(one: Identity, signal: NodeJS.Signals): void {
  if (isRunning(one)) signalOne(one.pid, signal)
}

export function signalOne(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // Already gone.
  }
}

/** What identifies the processes of runs. */
export interface Signs {
  readonly roots: readonly Identity[]
  /** A process that exited just now: its pid cannot belong to another one yet. */
  readonly left?: Identity | null
  /** Complete environment entries. */
  readonly tags: readonly string[]
  /** The first process of the run and its age: no other process of the run can be older. */
  readonly first?: { readonly pid: number; readonly ms: number } | null
}

/**
 * All running processes that belong to them: the roots, every process in their groups or sessions, all descendants, and every process
 * that inherited a tag, even if it detached itself.
 */
export function belongingTo({ roots, left, tags, first = null }: Signs): readonly Identity[] {
  const rows = table(first).filter(row => row.pid !== process.pid)
  const wanted = new Map(roots.map(root => [root.pid, root.started]))
  const leaders = new Set(rows.filter(row => wanted.get(row.pid) === row.started).map(row => row.pid))
  if (left && !rows.some(row => row.pid === left.pid)) leaders.add(left.pid)
  // No process is older than its run. This avoids reading most environments.
  const oldest = Math.min(...[...roots, ...(left ? [left] : [])].map(root => root.started))
  const since = Number.isFinite(oldest) ? oldest : 0
  const isOurs = (row: Row) =>
    leaders.has(row.pid) ||
    leaders.has(row.group) ||
    leaders.has(row.session) ||
    (row.started >= since && !row.dead && hasTag(row.pid, tags))
  const ours = new Set(rows.filter(isOurs))
  for (let level = [...ours]; level.length > 0; ) {
    const parents = new Set(level.map(row => row.pid))
    level = rows.filter(row => parents.has(row.parent) && !ours.has(row))
    for (const row of level) ours.add(row)
  }
  return [...ours].filter(row => !row.dead).map(({ pid, started }) => ({ pid, started }))
}

/** All descendants of `root`, including those that left its process group. */
export function descendants(root: number): readonly number[] {
  const children = new Map<number, number[]>()
  for (const { pid, parent } of table()) children.set(parent, [...(children.get(parent) ?? []), pid])
  const found: number[] = []
  for (let level = [root]; level.length > 0; ) {
    level = level.flatMap(pid => children.get(pid) ?? [])
    found.push(...level)
  }
  return found
}

/** Resident memory of a process and all its descendants, in bytes. */
export function treeMemory(root: number): number {
  const pids = [root, ...descendants(root)]
  if (process.platform === 'linux') return pids.reduce((sum, pid) => sum + residentPages(pid) * 4096, 0)
  const listing = spawnSync('ps', ['-o', 'rss=', '-p', pids.join(',')], { encoding: 'utf8' }).stdout ?? ''
  return listing.split('\n').reduce((sum, line) => sum + Number(line.trim() || 0) * 1024, 0)
}

/** Processes with an environment entry that starts with `entry`. Empty where the system does not show environments. */
export function withEnvironment(entry: string): readonly Identity[] {
  if (process.platform !== 'linux') return []
  return table().filter(row => !row.dead && environmentOf(row.pid).includes(`\0${inBytes(entry)}`))
}

function hasTag(pid: number, tags: readonly string[]): boolean {
  if (tags.length === 0 || process.platform !== 'linux') return false
  const environment = environmentOf(pid)
  return tags.some(tag => environment.includes(`\0${inBytes(tag)}\0`))
}

const inBytes = (text: string) => Buffer.from(text).toString('latin1')

function environmentOf(pid: number): string {
  try {
    return `\0${readFileSync(`/proc/${pid}/environ`, 'latin1')}`
  } catch {
    return '' // already gone, or owned by another user
  }
}

/** Whether a process or a descendant holds a TCP connection. True where the system does not show connections. */
export function isConnected(root: number): boolean {
  if (process.platform !== 'linux') return true
  return [root, ...descendants(root)].some(pid => {
    const open = new Set(socketsOf(pid))
    return open.size > 0 && ['tcp', 'tcp6'].some(kind => connectionsIn(`/proc/${pid}/net/${kind}`, open))
  })
}

/** The inodes of its sockets. */
function socketsOf(pid: number): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).flatMap(fd => inodeOf(`/proc/${pid}/fd/${fd}`) ?? [])
  } catch {
    return [] // already gone
  }
}

function inodeOf(link: string): string | null {
  try {
    return /^socket:\[(\d+)\]$/.exec(readlinkSync(link))?.[1] ?? null
  } catch {
    return null // closed in the meantime
  }
}

/** Lines of `local remote state … inode`; state 01 is an established connection. */
function connectionsIn(file: string, open: ReadonlySet<string>): boolean {
  try {
    return readFileSync(file, 'utf8')
      .split('\n')
      .map(line => line.trim().split(/\s+/))
      .some(fields => fields[3] === '01' && open.has(fields[9] ?? ''))
  } catch {
    return false // already gone, or this protocol is not available
  }
}

function table(first: Signs['first'] = null): readonly Row[] {
  if (process.platform === 'linux')
    return youngerThan(first, numbered('/proc')).flatMap(pid => {
      const row = readRow(pid)
      return row ? [row] : []
    })
  if (process.platform === 'win32') return []
  const listing = spawnSync('ps', ['-axo', 'pid=,ppid=,pgid=,stat='], { encoding: 'utf8' }).stdout ?? ''
  return listing.split('\n').flatMap(line => {
    const [pid, parent, group, state = ''] = line.trim().split(/\s+/)
    if (!Number(pid)) return []
    const of = { pid: Number(pid), parent: Number(parent), group: Number(group) }
    return [{ ...of, session: of.group, started: 0, dead: state.startsWith('Z') }]
  })
}

function numbered(dir: string): readonly number[] {
  try {
    return readdirSync(dir)
      .filter(name => /^\d+$/.test(name))
      .map(Number)
  } catch {
    return [] // no descriptors left: the caller can still signal the process group
  }
}

/** A pid is reused only after all others were used. No machine uses up more pids per millisecond than this. */
const numbersPerMs = 10

/** The pids that came after it, in the order in which pids are assigned. This avoids reading all of them, at 20 µs each. */
function youngerThan(first: Signs['first'], pids: readonly number[]): readonly number[] {
  if (!first) return pids
  try {
    if (first.ms * numbersPerMs > Number(readFileSync('/proc/sys/kernel/pid_max', 'latin1')) / 2) return pids
    const last = Number(readFileSync('/proc/loadavg', 'latin1').trim().split(' ')[4])
    if (!(last > 0)) return pids
    return pids.filter(pid => (last >= first.pid ? pid >= first.pid && pid <= last : pid >= first.pid || pid <= last))
  } catch {
    return pids
  }
}

function residentPages(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1])
  } catch {
    return 0 // already gone
  }
}

function readRow(pid: number): Row | null {
  if (process.platform !== 'linux') return null
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The name is in parentheses and may itself contain spaces and parentheses.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const [state, parent, group, session] = fields
    return {
      ...{ pid, parent: Number(parent), group: Number(group), session: Number(session) },
      ...{ started: Number(fields[19]), dead: state === 'Z' || state === 'X' },
    }
  } catch {
    return null
  }
}
