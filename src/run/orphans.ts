// Cleans up the runs of a killed gateway before anything starts: ends their processes and removes their folders.

import { readdir, rm } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { runTag } from './end-processes.ts'
import { signalTo, withEnvironment } from './process-table.ts'

/** Ends the processes of earlier runs in `runsDir`; returns how many there were. */
export async function endOrphans(runsDir: string): Promise<number> {
  const ended = new Set<number>()
  // Does not rely on folders: the folder of a run is removed at its end, but a process of it may be left. Repeats until there is
  // none, because one may have started another in the meantime.
  for (let round = 0; round < 300; round++) {
    const orphans = withEnvironment(`${runTag}=${runsDir}${sep}`)
    if (orphans.length === 0) break
    for (const orphan of orphans) {
      signalTo(orphan, 'SIGKILL')
      ended.add(orphan.pid)
    }
    await sleep(10)
  }
  const left = await readdir(runsDir).catch(() => [])
  await Promise.all(left.map(name => rm(join(runsDir, name), { recursive: true, force: true })))
  return ended.size
}
