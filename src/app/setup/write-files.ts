// Writes several files: all of them or none.
import { chmod, constants, copyFile, readFile, realpath, rm, rmdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { writeWhole } from '../../store/index.ts'
import { makeFolder } from '../state-folder.ts'

export interface NewText {
  readonly path: string
  /** The text that `text` was made from. Null if the file did not exist. */
  readonly before: string | null
  readonly text: string
  /** Where a copy of the old file is kept. Null for no copy. */
  readonly copy: string | null
}

/** Readable by the owner only. `undo` restores everything, including folders. */
export async function writeTogether(files: readonly NewText[]): Promise<{ undo(): Promise<void> }> {
  const back: (() => Promise<unknown>)[] = []
  const undo = async () => {
    for (const step of back.splice(0).reverse()) await step()
  }
  try {
    for (const file of files) await writeOne(file, back)
  } catch (error) {
    await undo()
    throw error
  }
  return { undo }
}

async function writeOne(
  { path, before: expected, text, copy }: NewText,
  back: (() => Promise<unknown>)[],
): Promise<void> {
  const made = await missingAbove(path)
  await makeFolder(dirname(path))
  // A folder that has been filled in the meantime stays.
  back.push(async () => {
    for (const dir of made) await rmdir(dir).catch(() => undefined)
  })
  // Keeps a link, and writes its target.
  const real = await realpath(path).catch(() => path)
  const before = await readFile(real).catch(() => null)
  // Somebody may have edited the file while the user was asked to confirm.
  if ((before?.toString('utf8') ?? null) !== expected)
    throw new Error(`${path} was changed in the meantime; nothing was written`)
  const mode = before === null ? 0 : (await stat(real)).mode
  if (copy !== null) {
    await copyFile(real, copy, constants.COPYFILE_EXCL)
    back.push(() => rm(copy, { force: true }))
    await chmod(copy, 0o600)
  }
  await writeWhole(real, text)
  back.push(async () => {
    if (before === null) return rm(real, { force: true })
    await writeWhole(real, before.toString('utf8'))
    return chmod(real, mode)
  })
}

/** The parent folders that do not exist yet, innermost first. */
async function missingAbove(path: string): Promise<readonly string[]> {
  const missing: string[] = []
  for (let dir = dirname(path); ; dir = dirname(dir)) {
    const there = await stat(dir).then(
      () => true,
      () => false,
    )
    if (there || dir === dirname(dir)) return missing
    missing.push(dir)
  }
}
