// Runs of a gateway that was killed: their processes are ended and their folders removed before anything starts.
import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { descendants, isAlive, startedAt } from './proc.ts'
import { signalGroup, signalOne } from './process.ts'

/** Ends what earlier runs left in `runsDir`; returns how many processes that were. */
export async function endStrays(runsDir: string): Promise<number> {
  let ended = 0
  for (const name of await readdir(runsDir).catch(() => [])) {
    const dir = join(runsDir, name)
    const pid = await strayPid(dir)
    if (pid !== null) {
      const tree = [pid, ...descendants(pid)]
      signalGroup(pid, 'SIGKILL')
      for (const one of tree) signalOne(one, 'SIGKILL')
      for (let i = 0; i < 200 && tree.some(isAlive); i++) await new Promise(resolve => setTimeout(resolve, 10))
      ended += tree.length
    }
    await rm(dir, { recursive: true, force: true })
  }
  return ended
}

/** Only a process that has the number and the birth time that were noted is ours. */
async function strayPid(dir: string): Promise<number | null> {
  try {
    const noted = JSON.parse(await readFile(join(dir, 'pid'), 'utf8')) as { pid: number; startedAt: string | null }
    return noted.startedAt !== null && startedAt(noted.pid) === noted.startedAt ? noted.pid : null
  } catch {
    return null
  }
}
