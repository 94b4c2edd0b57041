// Runs of a gateway that was killed: their processes are ended and their folders removed before anything starts.
import { readdir, rm } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { isAlive, withEnvironment } from './proc.ts'
import { signalOne } from './process.ts'

/** In the environment of every run, with its folder: there before the process is, unlike a note of its number. */
export const runMark = 'AETHEEL_RUN'

/** Ends what earlier runs left in `runsDir`; returns how many processes that were. */
export async function endStrays(runsDir: string): Promise<number> {
  const left = await readdir(runsDir).catch(() => [])
  if (left.length === 0) return 0
  const ended = new Set<number>()
  // Again until there is none: one may have started another in the meantime.
  for (let round = 0; round < 300; round++) {
    const strays = withEnvironment(`${runMark}=${runsDir}${sep}`).filter(isAlive)
    if (strays.length === 0) break
    for (const pid of strays) {
      signalOne(pid, 'SIGKILL')
      ended.add(pid)
    }
    await new Promise(resolve => setTimeout(resolve, 10))
  }
  await Promise.all(left.map(name => rm(join(runsDir, name), { recursive: true, force: true })))
  return ended.size
}
