// Logins of browsers in the database: only a hash of each secret, which also depends on the token. A new token ends them all.
import { createHash, randomBytes } from 'node:crypto'
import type { Login, Logins } from '../base/logins.ts'
import { type Clock, day } from '../base/time.ts'
import type { Database } from './database.ts'

interface Stored extends Login {
  readonly hash: string
}

const most = 50
/** A login that is not used for this long ends. */
const idleMs = 30 * day
/** The time of the last use is written at most this often. */
const noteEveryMs = 3_600_000

export function createLogins(db: Database, clock: Clock, token: string): Logins {
  const add = db.prepare('INSERT INTO logins (id, hash, name, at, used_at) VALUES (?, ?, ?, ?, ?)')
  const use = db.prepare('UPDATE logins SET used_at = ? WHERE id = ?')
  const remove = db.prepare('DELETE FROM logins WHERE id = ?')
  const gateway = String(db.prepare('SELECT name FROM gateway').get()?.name)
  const hashOf = (secret: string) => createHash('sha256').update(`${token}\0${secret}`).digest('hex')
  const listeners: ((id: string) => void)[] = []
  const byHash = new Map<string, Stored>()
  for (const row of db.prepare('SELECT id, hash, name, at, used_at FROM logins ORDER BY at').all()) {
    const {
      id,
      hash,
      name,
      at,
      used_at: usedAt,
    } = row as Record<'id' | 'hash' | 'name', string> & Record<'at' | 'used_at', number>
    byHash.set(hash, { id, hash, name, at, usedAt })
  }

  const isOver = ({ usedAt }: Stored) => clock.now() - usedAt > idleMs
  const open = () => [...byHash.values()].filter(one => !isOver(one)).sort((a, b) => b.usedAt - a.usedAt)

  async function end(ended: readonly Stored[]): Promise<number> {
    for (const { hash } of ended) byHash.delete(hash)
    await db.write(() => {
      for (const { id } of ended) remove.run(id)
    })
    for (const { id } of ended) for (const listener of listeners) listener(id)
    return ended.length
  }

  return {
    cookie: `aetheel_${gateway}`,
    async open(name) {
      await end([...[...byHash.values()].filter(isOver), ...open().slice(most - 1)])
      const secret = randomBytes(24).toString('base64url')
      const now = clock.now()
      const login = { id: randomBytes(3).toString('hex'), hash: hashOf(secret), name, at: now, usedAt: now }
      await db.write(() => add.run(login.id, login.hash, name, now, now))
      byHash.set(login.hash, login)
      return secret
    },
    check(secret) {
      // A lookup by hash tells nothing about the secret by the time it takes.
      const login = byHash.get(hashOf(secret))
      if (!login || isOver(login)) return null
      const now = clock.now()
      if (now - login.usedAt > noteEveryMs) {
        byHash.set(login.hash, { ...login, usedAt: now })
        db.write(() => use.run(now, login.id)).catch(() => undefined)
      }
      return login.id
    },
    list: async () => open().map(({ hash: _, ...login }) => login),
    revoke: which => end([...byHash.values()].filter(({ id }) => which === 'all' || id === which)),
    onRevoked: listener => void listeners.push(listener),
  }
}
