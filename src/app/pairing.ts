// The pairing of a gateway that does not run, read and written where it is kept.
import { randomInt } from 'node:crypto'
import { existsSync } from 'node:fs'
import type { PairingDesk } from '../base/pairing.ts'
import { openDatabase, openPairing } from '../store/index.ts'
import { systemClock as clock } from './clock.ts'
import { databaseFile } from './folder.ts'

/** Rejects where no gateway has been, and while one that cannot be reached holds the database. */
export async function openStoredPairing(configDir: string): Promise<PairingDesk & { close(): Promise<void> }> {
  const file = databaseFile(configDir)
  // To make one here would hide that the folder is the wrong one.
  if (!existsSync(file))
    throw new Error(`no gateway has run in ${configDir} yet. Start it once, or name its folder with --config-dir.`)
  const db = openDatabase(file)
  return { ...openPairing(db, clock, below => randomInt(below)), close: db.close }
}
