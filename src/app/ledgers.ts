// What the database keeps: the queue, sessions, what was said and used, whom people know; and how long.
import { randomInt } from 'node:crypto'
import { join } from 'node:path'
import type { Tell } from '../base/signal.ts'
import type { Clock } from '../base/time.ts'
import {
  type Database,
  openChatStates,
  openConversations,
  openHistory,
  openMirrorFile,
  openPairing,
  openSessions,
  openShelf,
  openSubAgentBook,
  openTalks,
  openUploadBook,
  openUsage,
} from '../store/index.ts'
import type { LiveConfig } from './live.ts'

const day = 86_400_000
/** What turns took is small and worth looking back at. */
const usageDays = 400

export interface LedgersParts {
  readonly live: LiveConfig
  readonly db: Database
  readonly clock: Clock
  readonly tell: Tell
}

export type Ledgers = ReturnType<typeof openLedgers>

export function openLedgers({ live, db, clock, tell }: LedgersParts) {
  const shelf = openShelf(db, clock, true)
  const sessionsFile = openMirrorFile(
    join(live.current().configDir, 'sessions.json'),
    () => `${JSON.stringify(sessions.all(), null, 2)}\n`,
    300,
    error => tell({ type: 'workspace-trouble', file: 'sessions.json', why: String(error) }),
  )
  const sessions = openSessions(db, clock, sessionsFile.touch)
  const history = openHistory(db)
  const talks = openTalks(db, history, 'webchat')
  const conversations = openConversations(db, clock)
  const usage = openUsage(db, clock)
  const chatStates = openChatStates(db, clock)
  const book = openSubAgentBook(db, clock)
  const uploadBook = openUploadBook(db, clock)
  const pairing = openPairing(db, clock, below => randomInt(below))

  return {
    ...{ shelf, sessions, history, talks, conversations, usage, chatStates, book, uploadBook, pairing },
    async forgetOld(signal: AbortSignal) {
      const cutoff = clock.now() - live.current().retentionDays * day
      await book.forgetBefore(cutoff)
      await chatStates.forgetBefore(cutoff)
      await usage.forgetBefore(Math.min(cutoff, clock.now() - usageDays * day))
      return shelf.forgetBefore(cutoff, signal)
    },
    flush: sessionsFile.flush,
  }
}
