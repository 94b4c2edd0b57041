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
  for (let todo = [root]; todo.length > 0; ) {
    todo = todo.flatMap(pid => children.get(pid) ?? [])
    found.push(...todo)
  }
  return found
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

/** Tells a process from a later one with the same number; null where the system does not tell. */
export function startedAt(pid: number): string | null {
  return readStat(pid)?.startedAt ?? null
}

function table(): readonly Row[] {
  if (process.platform === 'linux')
    return readdirSync('/proc').flatMap(name => {
      const stat = /^\d+$/.test(name) ? readStat(Number(name)) : null
      return stat ? [{ pid: Number(name), parent: stat.parent }] : []
    })
  if (process.platform === 'win32') return []
  const listing = spawnSync('ps', ['-axo', 'pid=,ppid='], { encoding: 'utf8' }).stdout ?? ''
  return listing.split('\n').flatMap(line => {
    const [pid, parent] = line.trim().split(/\s+/).map(Number)
    return pid && parent ? [{ pid, parent }] : []
  })
}

function readStat(pid: number): { state: string; parent: number; startedAt: string } | null {
  if (process.platform !== 'linux') return null
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name stands in brackets and may itself hold spaces and brackets.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return { state: fields[0] ?? '', parent: Number(fields[1]), startedAt: fields[19] ?? '' }
  } catch {
    return null
  }
}
