// Writes that may be lost: after this round of the event loop, all in one transaction. The caller is on the path from a person to an agent and
// must not wait.
import type { Database } from './database.ts'

export interface OptionalWrites {
  later(write: () => void): void
  /** Writes what is pending now, so that it can be read. */
  settle(): void
  /** Calls the listener when writes are lost. */
  onLoss(listener: () => void): void
}

export function createOptionalWrites(db: Database): OptionalWrites {
  const begin = db.prepare('BEGIN')
  const commit = db.prepare('COMMIT')
  const rollback = db.prepare('ROLLBACK')
  const listeners: (() => void)[] = []
  let pending: (() => void)[] = []

  const settle = () => {
    const writes = pending
    pending = []
    if (writes.length === 0) return
    db.writeOptionally(() => {
      begin.run()
      try {
        for (const write of writes) write()
        commit.run()
      } catch (error) {
        for (const listener of listeners) listener()
        rollback.run()
        throw error
      }
    })
  }

  return {
    settle,
    later(write) {
      if (pending.length === 0) setImmediate(settle)
      pending.push(write)
    },
    onLoss: listener => void listeners.push(listener),
  }
}
