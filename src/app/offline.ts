// Opens what the gateway stores, directly on disk, while no gateway is running.

import { randomInt } from 'node:crypto'
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { ConfigTexts } from '../base/config-files.ts'
import { readPlace } from '../base/event.ts'
import type { Jobs } from '../base/jobs.ts'
import type { LoginsAdmin } from '../base/logins.ts'
import type { MemoryLog, MemorySearch } from '../base/memory.ts'
import { once } from '../base/once.ts'
import type { PairingAdmin } from '../base/pairing.ts'
import type { Decision, DecisionResult, Request } from '../base/requests.ts'
import { mask, scrubber, secretHider } from '../base/scrub.ts'
import type { SessionsAdmin } from '../base/sessions.ts'
import { createJobs } from '../clock/index.ts'
import { type Config, type Loaded, showProblems } from '../config/index.ts'
import { createRequests } from '../run/index.ts'
import {
  createChanges,
  createConversationSettings,
  createFileGuard,
  createJobStates,
  createLogins,
  createMirrorFile,
  createPairing,
  createQueueStore,
  createRequestStore,
  createSessionsAdmin,
  type Database,
  openDatabase,
  openMemorySearch,
  openSessions,
} from '../store/index.ts'
import { databaseFile, stateDir } from './state-folder.ts'
import { systemClock as clock } from './system-clock.ts'
import { chatNames } from './wiring/chat-names.ts'
import { placeObjection } from './wiring/place-objection.ts'
import { widens } from './wiring/power.ts'

type Ready = Extract<Loaded, { ok: true }>

type Stored<Admin> = Admin & { close(): Promise<void> }

/** Creates an admin API; `leave`, if given, runs before the database is closed. */
type OpenAdmin<Admin> = (
  db: Database,
  config: Config,
) => Promise<{ readonly admin: Admin; readonly leave?: () => Promise<void> }>

/** Rejects if no gateway ever ran here, or if one that cannot be reached holds the database. */
async function openStored<Admin extends object>(
  config: Config,
  open: OpenAdmin<Admin>,
  { orNew = false } = {},
): Promise<Stored<Admin>> {
  const databasePath = databaseFile(config.configDir)
  const file = orNew && !existsSync(databasePath) && existsSync(config.configDir) ? ':memory:' : databasePath
  // Creating a database here would hide that the folder is the wrong one.
  if (file === databasePath && !existsSync(file))
    throw new Error(
      `no gateway has run in ${config.configDir} yet. Start it once, or name its folder with --config-dir.`,
    )
  const db = openDatabase(file)
  try {
    const { admin, leave } = await open(db, config)
    const close = async () => {
      await (leave?.() ?? Promise.resolve()).finally(db.close)
    }
    return { ...admin, close }
  } catch (error) {
    await db.close()
    throw error
  }
}

export const storedPairing = (config: Config): Promise<Stored<PairingAdmin>> =>
  openStored(config, async db => ({ admin: createPairing(db, clock, below => randomInt(below)) }))

/** Listing and ending logins needs no token. */
export const storedLogins = (config: Config): Promise<Stored<LoginsAdmin>> =>
  openStored(config, async db => {
    const { list, revoke } = createLogins(db, clock, '')
    return { admin: { list, revoke } }
  })

export const storedSessions = (config: Config): Promise<Stored<SessionsAdmin>> =>
  openStored(config, async (db, { configDir }) => {
    let trouble: unknown = null
    const file = createMirrorFile(
      join(configDir, 'sessions.json'),
      () => `${JSON.stringify(sessions.latestOnes(), null, 2)}\n`,
      untilLeft,
      error => {
        trouble = error
      },
    )
    const sessions = openSessions(db, clock, file.touch)
    return {
      admin: createSessionsAdmin(sessions, createConversationSettings(db, clock), clock),
      async leave() {
        await file.flush()
        if (trouble) throw trouble
      },
    }
  })

/** Answers wait for the turn, which is resumed when the gateway starts. */
export const storedApprovals = (config: Config): Promise<Stored<StoredApprovals>> =>
  openStored(config, async db => {
    const nobody = () => {
      throw new Error('nothing runs while the gateway is stopped')
    }
    const { admin } = createRequests({
      ...{ store: createRequestStore(db, clock), clock, emit: () => undefined, inbox: { lend: nobody } },
      ...{ rule: nobody, suggest: nobody, addRule: nobody, placeFor: nobody, show: nobody, accept: nobody },
      settings: nobody,
    })
    const stopped = { type: 'refused', why: 'This needs the gateway: start it, and answer again.' } as const
    return {
      admin: {
        list: async which => admin.list(which),
        find: async id => admin.find(id),
        async decide(id, decision) {
          const isLasting = admin.find(id)?.lasting === true
          // A rule is added, or a message is sent to the agent.
          if ((decision.allow && decision.always !== undefined) || isLasting) return stopped
          return admin.decide(id, decision, 'owner')
        },
      },
    }
  })

interface StoredApprovals {
  list(which: 'open' | 'all'): Promise<readonly Request[]>
  find(id: number): Promise<Request | null>
  decide(id: number, decision: Decision): Promise<DecisionResult>
}

/** Longer than any command takes: the file is written in `leave`. */
const untilLeft = 600_000

/** Only for listing and editing: nothing fires here. */
export const storedJobs = (config: Config): Promise<Stored<Jobs>> =>
  openStored(
    config,
    async (db, { configDir, timezone, heartbeat }) => {
      const { jobs } = createJobs({
        dir: configDir,
        clock,
        zone: () => timezone,
        states: createJobStates(db, clock),
        emit: () => undefined,
        run: async () => ({ ok: false, output: '' }),
        busy: () => false,
        heartbeats: () => heartbeat,
        placeOf: channel => readPlace(channel ?? heartbeat.defaultChannel, chatNames(config)),
        objection: place => placeObjection(config, place),
        broke(error) {
          throw error
        },
      })
      return { admin: jobs }
    },
    // The schedule is in the files. A workspace that never ran has no job states yet.
    { orNew: true },
  )

/** `load`: the configuration as it would be with these texts in its files. */
export const storedMemory = (
  { config, secrets }: Ready,
  load: (instead: ConfigTexts) => Promise<Loaded>,
): Promise<Stored<MemorySearch & MemoryLog>> =>
  openStored(config, async (db, { configDir: dir, timezone }) => {
    const emit = () => undefined
    const search = openMemorySearch({ dir, file: join(stateDir(dir), 'search.db'), clock, emit, zone: () => timezone })
    let hide = secretHider(secrets)
    const fileGuard = createFileGuard({
      dir,
      changes: createChanges(db, clock, { hide: text => hide(text), mask }),
      clock,
      emit,
      async checkConfig(file, text) {
        const loaded = await load({ [file]: text })
        if (loaded.ok) hide = secretHider([...secrets, ...loaded.secrets])
        return loaded.ok ? null : showProblems(loaded.problems)
      },
      configChanged: () => undefined,
      notify: () => undefined,
      scrub: scrubber(secrets),
      around: { home: process.env.HOME || homedir(), cwd: process.cwd() },
      widens,
    })
    const begun = once(async () => {
      const queueStore = createQueueStore(db, clock)
      await queueStore.recover('in')
      // Otherwise the changes of a killed turn would be attributed to the owner.
      await fileGuard.begin(queueStore.killed())
      await queueStore.killedDealtWith()
    })
    const log: MemoryLog = {
      list: most => begun().then(() => fileGuard.list(most)),
      undo: id => begun().then(() => fileGuard.undo(id)),
      approve: id => begun().then(() => fileGuard.approve(id)),
      deny: id => begun().then(() => fileGuard.deny(id)),
    }
    return {
      admin: { search: search.search, sync: search.sync, ...log },
      leave: () => search.close().then(fileGuard.tree.close),
    }
  })
