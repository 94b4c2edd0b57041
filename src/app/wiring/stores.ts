// The stores in the database: the queue, sessions, history, usage, pairing and more, and how long each is kept.
import { randomInt } from 'node:crypto'
import { join } from 'node:path'
import type { Emit } from '../../base/signal.ts'
import { type Clock, day } from '../../base/time.ts'
import type { LiveConfig } from '../../config/index.ts'
import {
  createBootStore,
  createChatStates,
  createConversationList,
  createConversationSettings,
  createDescentStore,
  createHistory,
  createMirrorFile,
  createPairing,
  createQueueStore,
  createRequestStore,
  createSubAgentStore,
  createUploadStore,
  createUsage,
  type Database,
  openSessions,
} from '../../store/index.ts'

/** Usage records are small and worth looking back at. */
const usageDays = 400

export interface StoresParts {
  readonly live: LiveConfig
  readonly db: Database
  readonly clock: Clock
  readonly emit: Emit
}

export type Stores = ReturnType<typeof createStores>

export function createStores({ live, db, clock, emit }: StoresParts) {
  const queueStore = createQueueStore(db, clock, true)
  const sessionsFile = createMirrorFile(
    join(live.current().configDir, 'sessions.json'),
    () => `${JSON.stringify(sessions.latestOnes(), null, 2)}\n`,
    300,
    error => emit({ type: 'workspace-trouble', file: 'sessions.json', why: String(error) }),
  )
  const sessions = openSessions(db, clock, sessionsFile.touch)
  const history = createHistory(db)
  const requests = createRequestStore(db, clock)
  const conversations = createConversationList(db, history, 'webchat', requests)
  const conversationSettings = createConversationSettings(db, clock)
  const usage = createUsage(db, clock)
  const chatStates = createChatStates(db, clock)
  const store = createSubAgentStore(db, clock)
  const descents = createDescentStore(db, clock)
  const uploadStore = createUploadStore(db, clock)
  const boots = createBootStore(db, clock)
  const pairing = createPairing(db, clock, below => randomInt(below))

  return {
    ...{
      queueStore,
      sessions,
      history,
      conversations,
      conversationSettings,
      usage,
      chatStates,
      store,
      descents,
      boots,
      uploadStore,
      requests,
      pairing,
    },
    async forgetOld(signal: AbortSignal) {
      const cutoff = clock.now() - live.current().retentionDays * day
      await store.forgetBefore(cutoff)
      await descents.forgetBefore(Math.min(cutoff, clock.now() - day))
      await chatStates.forgetBefore(cutoff)
      await requests.forgetBefore(cutoff)
      await usage.forgetBefore(Math.min(cutoff, clock.now() - usageDays * day))
      return queueStore.forgetBefore(cutoff, signal)
    },
    flush: sessionsFile.flush,
  }
}
