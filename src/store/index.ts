// What survives a restart.
export { openConversations } from './conversations.ts'
export { type Database, DatabaseUnusable, inWords, openDatabase } from './database.ts'
export { openMirrorFile, writeWhole } from './files.ts'
export { openHistory } from './history.ts'
export { openSessions } from './sessions.ts'
export { type Counts, openShelf } from './shelf.ts'
export { openUsage } from './usage.ts'
