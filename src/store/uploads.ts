// Which files were uploaded in WebChat, and which message each belongs to.
import type { Uploaded, UploadStore } from '../base/attachments.ts'
import type { Clock } from '../base/time.ts'
import type { Database } from './database.ts'

export function createUploadStore(db: Database, clock: Clock): UploadStore {
  const add = db.prepare('INSERT INTO uploads (id, conversation, name, type, bytes, at) VALUES (?, ?, ?, ?, ?, ?)')
  const find = db.prepare('SELECT id, name, type, bytes FROM uploads WHERE id = ? AND conversation = ?')
  const knows = db.prepare('SELECT 1 FROM uploads WHERE id = ?')
  const claim = db.prepare(
    `UPDATE uploads SET event = ?1, at = ?3 WHERE id = ?2 AND NOT EXISTS
       (SELECT 1 FROM items WHERE queue = 'in' AND key = uploads.event AND state <> 'cancelled')`,
  )
  const forgotten = db.prepare(
    `SELECT id FROM uploads WHERE at < ? AND NOT EXISTS (SELECT 1 FROM items WHERE queue = 'in' AND key = uploads.event)`,
  )
  const remove = db.prepare('DELETE FROM uploads WHERE id = ?')
  return {
    add: async (conversation, { id, name, type, bytes }) =>
      void (await db.write(() => add.run(id, conversation, name, type, bytes, clock.now()))),
    find(conversation, id) {
      const row = find.get(id, conversation) as unknown as Uploaded | undefined
      return row ? { id: row.id, name: row.name, bytes: row.bytes, type: row.type } : null
    },
    knows: id => knows.get(id) !== undefined,
    claim: async (ids, eventKey) =>
      void (await db.write(() => {
        for (const id of ids) claim.run(eventKey, id, clock.now())
      })),
    forgotten: cutoff => forgotten.all(cutoff).map(({ id }) => String(id)),
    remove: async id => void (await db.write(() => remove.run(id))),
  }
}
