// What a chat needs after a restart: its position, and what it has open there.
import type { ChatMemory } from '../base/chat.ts'
import type { Clock } from '../base/time.ts'
import type { Database } from './database.ts'

export interface ChatStates {
  of(chat: string): ChatMemory
  /** Deletes entries not touched since then. Entries without a colon in their name concern the chat as a whole and stay. */
  forgetBefore(cutoff: number): Promise<void>
}

export function createChatStates(db: Database, clock: Clock): ChatStates {
  const get = db.prepare('SELECT value FROM chat_state WHERE chat = ? AND name = ?')
  const put = db.prepare(
    `INSERT INTO chat_state (chat, name, value, updated_at) VALUES (?, ?, ?, ?)
     ON CONFLICT (chat, name) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at`,
  )
  const remove = db.prepare('DELETE FROM chat_state WHERE chat = ? AND name = ?')
  const list = db.prepare(
    'SELECT name, value FROM chat_state WHERE chat = ? AND name >= ? AND name < ? ORDER BY updated_at DESC',
  )
  const sweep = db.prepare(`DELETE FROM chat_state WHERE updated_at < ? AND name LIKE '%:%'`)
  return {
    of: chat => ({
      get: name => (get.get(chat, name) as { value: string } | undefined)?.value ?? null,
      put: (name, value) =>
        db.writeOptionally(() => (value === null ? remove.run(chat, name) : put.run(chat, name, value, clock.now()))),
      list: prefix =>
        (list.all(chat, prefix, `${prefix}\u{10ffff}`) as { name: string; value: string }[]).map(row => ({ ...row })),
    }),
    forgetBefore: async cutoff => void (await db.write(() => sweep.run(cutoff))),
  }
}
