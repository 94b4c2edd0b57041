// The process table, as far as ending a tree needs it. Reads /proc where there is one, asks ps elsewhere.
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

interface Row {
  readonly pid: number
  readonly parent: number
}

/** All processes below `root`, also those that left its group. */
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

/** Resident memory of a process and all below it, in bytes. */
export function treeMemory(root: number): number {
  const pids = [root, ...descendants(root)]
  if (process.platform === 'linux') return pids.reduce((sum, pid) => sum + residentPages(pid) * 4096, 0)
  const listing = spawnSync('ps', ['-o', 'rss=', '-p', pids.join(',')], { encoding: 'utf8' }).stdout ?? ''
  return listing.split('\n').reduce((sum, line) => sum + Number(line.trim() || 0) * 1024, 0)
}

export function isAlive(pid: number): boolean {
  const stat = readStat(pid)
  if (stat) return stat.state !== 'Z'
  try {
    return process.platform !== 'linux' && process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Processes whose environment holds `entry` (or an entry that begins so). Empty where the system does not tell. */
export function withEnvironment(entry: string): readonly number[] {
  if (process.platform !== 'linux') return []
  return numbered('/proc').filter(pid => {
    try {
      return `\0${readFileSync(`/proc/${pid}/environ`, 'latin1')}`.includes(
        `\0${Buffer.from(entry).toString('latin1')}`,
      )
    } catch {
      return false // gone already, or somebody else's
    }
  })
}

function table(): readonly Row[] {
  if (process.platform === 'linux')
    return numbered('/proc').flatMap(pid => {
      const stat = readStat(pid)
      return stat ? [{ pid, parent: stat.parent }] : []
    })
  if (process.platform === 'win32') return []
  const listing = spawnSync('ps', ['-axo', 'pid=,ppid='], { encoding: 'utf8' }).stdout ?? ''
  return listing.split('\n').flatMap(line => {
    const [pid, parent] = line.trim().split(/\s+/).map(Number)
    return pid && parent ? [{ pid, parent }] : []
  })
}

const numbered = (dir: string) =>
  readdirSync(dir)
    .filter(name => /^\d+$/.test(name))
    .map(Number)

function residentPages(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1])
  } catch {
    return 0 // gone already
  }
}

function readStat(pid: number): { state: string; parent: number } | null {
  if (process.platform !== 'linux') return null
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name stands in brackets and may itself hold spaces and brackets.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return { state: fields[0] ?? '', parent: Number(fields[1]) }
  } catch {
    return null
  }
}
