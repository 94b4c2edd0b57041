// CONFIG_DIR/.aetheel: the database, the token, and the discovery file of the running gateway.

import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { errorCode } from '../base/unknown.ts'
import { writeWhole } from '../store/index.ts'
import { type GatewayNote, noteFile, stateDir } from './discovery-file.ts'

export { stateDir } from './discovery-file.ts'

export interface StateFolder {
  readonly database: string
  readonly runs: string
  readonly log: string
  token(): Promise<string>
  leaveNote(note: GatewayNote): Promise<void>
  takeNoteAway(): Promise<void>
}

export async function createStateFolder(configDir: string): Promise<StateFolder> {
  const dir = stateDir(configDir)
  try {
    await makeFolder(dir)
    await chmod(dir, 0o700)
    // Reports a read-only or full disk here, and not at the first message.
    const probe = join(dir, `.probe-${process.pid}`)
    await writeFile(probe, 'x')
    await rm(probe)
  } catch (error) {
    throw new Error(
      `${dir} cannot be written (${codeOf(error)}). Check free space and permissions, or choose another folder with CONFIG_DIR.`,
      { cause: error },
    )
  }
  return {
    database: databaseFile(configDir),
    runs: join(dir, 'runs'),
    log: logDir(configDir),
    token: () => readOrMakeToken(join(dir, 'token')),
    leaveNote: note => writeWhole(noteFile(configDir), `${JSON.stringify(note)}\n`),
    takeNoteAway: () => rm(noteFile(configDir), { force: true }),
  }
}

/** Level by level: with `recursive`, mkdir loops forever if a parent exists but refuses children (/proc). */
export async function makeFolder(dir: string): Promise<void> {
  const make = () => mkdir(dir, { mode: 0o700 })
  try {
    await make()
  } catch (error) {
    const code = errorCode(error)
    if (code === 'EEXIST') return
    if (code !== 'ENOENT' || existsSync(dirname(dir))) throw cannotBeMade(dir, error)
    await makeFolder(dirname(dir))
    await make().catch(again => Promise.reject(cannotBeMade(dir, again)))
  }
}

const cannotBeMade = (dir: string, error: unknown) =>
  Object.assign(
    new Error(
      `the folder ${dir} cannot be created (${codeOf(error)}). Check permissions, or choose another one with CONFIG_DIR or --config-dir.`,
      { cause: error },
    ),
    { code: codeOf(error) },
  )

/** Such as ENOSPC, or the error as text if it has no code. */
export const codeOf = (error: unknown): string => errorCode(error) ?? String(error)

export const databaseFile = (configDir: string) => join(stateDir(configDir), 'aetheel.db')
export const logDir = (configDir: string) => join(configDir, logFolder)
/** Relative to the workspace. */
export const logFolder = '.aetheel/log'

async function readOrMakeToken(file: string): Promise<string> {
  const existing = await readFile(file, 'utf8').catch(() => '')
  // The same rule as for HTTP_TOKEN: it is used in headers, links and cookies.
  if (/^[!-~]{16,512}$/.test(existing.trim())) return existing.trim()
  const made = randomBytes(24).toString('base64url')
  await writeWhole(file, `${made}\n`)
  return made
}
