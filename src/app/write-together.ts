// Several files, all of them or none.
import { chmod, constants, copyFile, readFile, realpath, rm, rmdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { writeWhole } from '../store/index.ts'
import { makeFolder } from './folder.ts'

export interface NewText {
  readonly path: string
  /** As it was when `text` was made of it; null: it was not there. */
  readonly before: string | null
  readonly text: string
  /** Where the file as it was is kept; null: nowhere. */
  readonly copy: string | null
}

/** Readable by the owner alone. `undo` leaves everything as it was, also the folders. */
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
  // One that was filled meanwhile stays.
  back.push(async () => {
    for (const dir of made) await rmdir(dir).catch(() => undefined)
  })
  // A link stays one: what it leads to is written.
  const real = await realpath(path).catch(() => path)
  const before = await readFile(real).catch(() => null)
  // Somebody may have edited it while they were asked whether it is to be written.
  if ((before?.toString('utf8') ?? null) !== expected)
    throw new Error(`${path} was changed meanwhile; nothing was written`)
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

/** The folders above it that are not there yet, the innermost first. */
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
