// What survives a restart.
import type { LogReader } from './log-reader.ts'

export { openActivity } from './activity.ts'
export { type Archive, openArchive } from './archive.ts'
export { openBrain, openContent, openTasks } from './brain.ts'
export { openChanges } from './changes.ts'
export { openChatStates } from './chat-state.ts'
export { type Conversations, openConversations } from './conversations.ts'
export { type Database, DatabaseUnusable, inWords, openDatabase } from './database.ts'
export { byHand, doerCalling } from './doer.ts'
export { sweepDrafts } from './drafts.ts'
export { followFiles } from './file-news.ts'
export { openMirrorFile, writeWhole } from './files.ts'
export { openHistory } from './history.ts'
export { type Interrupted, type Keeper, openKeeper } from './keeping.ts'
export { type LogFile, openLogFile } from './log-file.ts'
export { openMarks } from './marks.ts'
export { unified } from './merge.ts'
export { openPairing } from './pairing.ts'
export { openMemorySearch } from './search.ts'
export { openSessions, type SessionStore } from './sessions.ts'
export { openSessionsDesk } from './sessions-desk.ts'
export { type Counts, openShelf } from './shelf.ts'
export { openSubAgentBook } from './subagents.ts'
export { openTalks } from './talks.ts'
export { openTimeline } from './timeline.ts'
export { openUploadBook } from './uploads.ts'
export { openUsage, type UsageBook } from './usage.ts'

/** Loaded when somebody looks at the log, which most who start a gateway never do. */
export const openLogReader = async (dir: string): Promise<LogReader> => {
  const reader = await import('./log-reader.ts')
  return reader.openLogReader(dir)
}
