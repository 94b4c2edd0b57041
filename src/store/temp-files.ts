// Removes temporary files of whole writes that a kill has left behind.
import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** A write takes milliseconds: the process that started this one is gone. */
const longGoneMs = 3_600_000
const draft = /\.(md|json)\.\d+\.tmp$/
/** In these folders all such names are ours. */
const ownDraft = /\.\d+\.tmp$/

/** In the folders where the gateway writes whole files. What cannot be read or removed stays. */
export async function sweepDrafts(workspace: string, now: number): Promise<void> {
  const skills = await readdir(join(workspace, 'skills')).catch(() => [])
  await sweep(join(workspace, '.aetheel'), ownDraft, now)
  for (const folder of ['', ...skills.map(name => join('skills', name))])
    await sweep(join(workspace, folder), draft, now)
}

async function sweep(folder: string, isDraft: RegExp, now: number): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    if (!isDraft.test(name)) continue
    const path = join(folder, name)
    const found = await stat(path).catch(() => null)
    if (found?.isFile() && found.mtimeMs < now - longGoneMs) await rm(path, { force: true }).catch(() => undefined)
  }
}
