// Describes the machine without names or paths.
import { readFileSync } from 'node:fs'
import { availableParallelism, cpus, loadavg, release, tmpdir, totalmem, type } from 'node:os'
import { join } from 'node:path'

export function describeMachine(): string {
  const memory = `${Math.round(totalmem() / 2 ** 30)} GB`
  const processor = cpus()[0]?.model.trim() || process.arch
  return `${availableParallelism()} cores (${processor}), ${memory} of memory, ${type()} ${release().split('-')[0]}, temporary files on ${fileSystem()}, Node ${process.version}`
}

/** Runnable processes, averaged over the last minute. Above the number of cores, times include waiting for the CPU. */
export const load = (): string => loadavg()[0]?.toFixed(1) ?? '?'

/** The type of the file system with the databases: fsync costs nothing in memory and much on a disk. */
function fileSystem(): string {
  const dir = join(tmpdir(), '/')
  try {
    const mounts = readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .map(line => line.split(' '))
      .filter(([, at = '']) => at !== '' && dir.startsWith(join(at, '/')))
    return mounts.toSorted(([, a = ''], [, b = '']) => a.length - b.length).at(-1)?.[2] ?? 'an unknown file system'
  } catch {
    return 'an unknown file system'
  }
}
