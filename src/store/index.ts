// The entry point of store/: everything that survives a restart.
import type { LogReader } from './log-reader.ts'

export { createActivity } from './activity.ts'
export { actorCalling, byHand } from './actor.ts'
export { type Archive, createArchive } from './archive.ts'
export { createBootStore } from './boot-store.ts'
export { createChanges } from './changes.ts'
export { createConversationList } from './conversations.ts'
export { createChatStates, createOptionalWrites, type Database, openDatabase } from './database.ts'
export { DatabaseUnusable, inWords, lossNote } from './database-errors.ts'
export { createDescentStore } from './descents.ts'
export { createFileGuard, type FileGuard, type Killed } from './file-guard.ts'
export { followFiles } from './file-watch.ts'
export { createMirrorFile, type LogFile, openLogFile, writeWhole } from './files.ts'
export { createHistory } from './history.ts'
export { createJobStates } from './job-state.ts'
export { createLogins } from './logins.ts'
export { unified } from './merge.ts'
export { createPairing } from './pairing.ts'
export { createQueueStore } from './queue-store.ts'
export { createBrain, createContent, createTasks } from './record-files.ts'
export { createRequestStore } from './requests.ts'
export { openMemorySearch } from './search.ts'
export {
  type ConversationSettings,
  createConversationSettings,
  createSessionsAdmin,
  openSessions,
  type SessionStore,
} from './sessions.ts'
export { createSubAgentStore } from './subagents.ts'
export { sweepDrafts } from './temp-files.ts'
export { createTimeline } from './timeline.ts'
export type { Surroundings } from './tree-places.ts'
export { createUploadStore } from './uploads.ts'
export { createUsage, type UsageStore } from './usage.ts'

/** Loaded on demand: most runs never read the log. */
export const createLogReader = async (dir: string): Promise<LogReader> => {
  const reader = await import('./log-reader.ts')
  return reader.createLogReader(dir)
}
export { createWorkStore, type WorkStore } from './work.ts'
