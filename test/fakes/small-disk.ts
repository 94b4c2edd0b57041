// A disk of a few megabytes that can be filled, emptied and made read-only. Needs the right to mount.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface SmallDisk extends Disposable {
  readonly dir: string
  /** Uses up all free space. */
  fill(): void
  makeRoom(): void
  makeReadOnly(): void
}

export function smallDisk(megabytes: number): SmallDisk {
  const dir = mkdtempSync(join(tmpdir(), 'aetheel-disk-'))
  const mounted = mount('-t', 'tmpfs', '-o', `size=${megabytes}m`, 'aetheel-test', dir)
  if (mounted !== null) {
    rmSync(dir, { recursive: true })
    throw new Error(`cannot mount: ${mounted}`)
  }
  const ballast = join(dir, 'ballast')
  return {
    dir,
    fill() {
      for (let size = 1 << 20; size >= 1; size = Math.floor(size / 16)) while (appended(ballast, size));
    },
    makeRoom: () => rmSync(ballast),
    makeReadOnly() {
      const trouble = mount('-o', 'remount,ro', dir)
      if (trouble !== null) throw new Error(`cannot remount: ${trouble}`)
    },
    [Symbol.dispose]() {
      spawnSync('umount', ['-l', dir])
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

/** Null if mounting is possible here; otherwise the reason. */
export function whyNoSmallDisk(): string | null {
  try {
    smallDisk(1)[Symbol.dispose]()
    return null
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

function appended(file: string, bytes: number): boolean {
  try {
    writeFileSync(file, Buffer.alloc(bytes), { flag: 'a' })
    return true
  } catch {
    return false // full
  }
}

function mount(...args: readonly string[]): string | null {
  const { status, stderr, error } = spawnSync('mount', args, { encoding: 'utf8' })
  return status === 0 ? null : (error?.message ?? stderr.trim())
}
