// What a gateway keeps, opened where it is kept while none runs.
import { randomInt } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { ConfigTexts } from '../base/config-files.ts'
import type { NewEvent } from '../base/event.ts'
import type { Jobs } from '../base/jobs.ts'
import type { MemoryLog, MemorySearch } from '../base/memory.ts'
import type { PairingDesk } from '../base/pairing.ts'
import { readPlace } from '../base/place.ts'
import { scrubber } from '../base/scrub.ts'
import type { SessionsDesk } from '../base/sessions.ts'
import { openJobs } from '../clock/index.ts'
import {
  type Database,
  type Interrupted,
  openChanges,
  openConversations,
  openDatabase,
  openKeeper,
  openMarks,
  openMemorySearch,
  openMirrorFile,
  openPairing,
  openSessions,
  openSessionsDesk,
  openShelf,
} from '../store/index.ts'
import { systemClock as clock } from './clock.ts'
import { type Config, type Loaded, secretsOf, showProblems } from './config.ts'
import { chatNames } from './discord.ts'
import { databaseFile, stateDir } from './folder.ts'

type Ready = Extract<Loaded, { ok: true }>

type Stored<Desk> = Desk & { close(): Promise<void> }

/** What a desk is made of; `leave`, where there is one, comes before the database is closed. */
type OpenDesk<Desk> = (
  db: Database,
  config: Config,
) => Promise<{ readonly desk: Desk; readonly leave?: () => Promise<void> }>

/** Rejects where no gateway has been, and while one that cannot be reached holds the database. */
async function openStored<Desk extends object>(
  config: Config,
  open: OpenDesk<Desk>,
  { orNew = false } = {},
): Promise<Stored<Desk>> {
  const kept = databaseFile(config.configDir)
  const file = orNew && !existsSync(kept) && existsSync(config.configDir) ? ':memory:' : kept
  // To make one here would hide that the folder is the wrong one.
  if (file === kept && !existsSync(file))
    throw new Error(
      `no gateway has run in ${config.configDir} yet. Start it once, or name its folder with --config-dir.`,
    )
  const db = openDatabase(file)
  try {
    const { desk, leave } = await open(db, config)
    const close = async () => {
      await (leave?.() ?? Promise.resolve()).finally(db.close)
    }
    return { ...desk, close }
  } catch (error) {
    await db.close()
    throw error
  }
}

export const storedPairing = (config: Config): Promise<Stored<PairingDesk>> =>
  openStored(config, async db => ({ desk: openPairing(db, clock, below => randomInt(below)) }))

export const storedSessions = (config: Config): Promise<Stored<SessionsDesk>> =>
  openStored(config, async (db, { configDir }) => {
    let trouble: unknown = null
    const file = openMirrorFile(
      join(configDir, 'sessions.json'),
      () => `${JSON.stringify(sessions.all(), null, 2)}\n`,
      untilLeft,
      error => {
        trouble = error
      },
    )
    const sessions = openSessions(db, clock, file.touch)
    return {
      desk: openSessionsDesk(sessions, openConversations(db, clock), clock),
      async leave() {
        await file.flush()
        if (trouble) throw trouble
      },
    }
  })

/** Longer than any command takes: it is written when the desk is left. */
const untilLeft = 600_000

/** Only looked at and edited: nothing fires here. */
export const storedJobs = (config: Config): Promise<Stored<Jobs>> =>
  openStored(
    config,
    async (db, { configDir, timezone, heartbeat }) => {
      const { jobs } = openJobs({
        dir: configDir,
        clock,
        zone: () => timezone,
        marks: openMarks(db, clock),
        tell: () => undefined,
        run: async () => ({ ok: false, output: '' }),
        busy: () => false,
        placeOf: channel => readPlace(channel ?? heartbeat.defaultChannel, chatNames(config)),
        broke(error) {
          throw error
        },
      })
      return { desk: jobs }
    },
    // What is planned stands in the files; a workspace that was never run has no marks yet.
    { orNew: true },
  )

/** `load`: the configuration as it would be with these texts in its files. */
export const storedMemory = (
  { config, environment }: Ready,
  load: (instead: ConfigTexts) => Promise<Loaded>,
): Promise<Stored<MemorySearch & MemoryLog>> =>
  openStored(config, async (db, { configDir: dir, timezone }) => {
    const tell = () => undefined
    const search = openMemorySearch({ dir, file: join(stateDir(dir), 'search.db'), clock, tell, zone: () => timezone })
    const keeper = openKeeper({
      dir,
      changes: openChanges(db, clock),
      clock,
      tell,
      async checkConfig(file, text) {
        const loaded = await load({ [file]: text })
        return loaded.ok ? null : showProblems(loaded.problems)
      },
      configChanged: () => undefined,
      notify: () => undefined,
      scrub: scrubber(secretsOf(config, environment)),
    })
    const begun = onlyOnce(async () => keeper.begin(await interruptedIn(db)))
    const log: MemoryLog = {
      list: most => begun().then(() => keeper.list(most)),
      undo: id => begun().then(() => keeper.undo(id)),
      approve: id => begun().then(() => keeper.approve(id)),
      deny: id => begun().then(() => keeper.deny(id)),
    }
    return { desk: { search: search.search, sync: search.sync, ...log }, leave: search.close }
  })

/** What a killed gateway was at: its changes are not taken for those of somebody at the keyboard. The next start finds the same. */
async function interruptedIn(db: Database): Promise<readonly Interrupted[]> {
  const open = await openShelf(db, clock).recover('in')
  return open.filter(row => row.interrupted).map(({ id, body }) => ({ id, item: JSON.parse(body) as NewEvent }))
}

const onlyOnce = (work: () => Promise<void>): (() => Promise<void>) => {
  let done: Promise<void> | null = null
  return () => {
    done ??= work()
    return done
  }
}
