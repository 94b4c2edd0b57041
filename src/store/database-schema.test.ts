// A database of the first release is migrated with everything in it.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { openDatabase } from './database.ts'
import { migrations } from './database-schema.ts'

test('events, job states and guarded files keep their content under their new names', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'aetheel-schema-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const path = join(dir, 'gateway.db')
  const old = new DatabaseSync(path)
  const before = migrations.findIndex(sql => sql.includes('RENAME COLUMN box'))
  for (const sql of migrations.slice(0, before)) old.exec(sql)
  old.exec(`PRAGMA user_version = ${before}`)
  const sender = { chat: 'discord', user: '7', roles: [], channel: '1', guild: null, where: 'a direct message' }
  const principal = { owner: false, person: '7' }
  const modelOverride = { backend: 'codex', model: null }
  const insert = old.prepare(
    `INSERT INTO items (box, lane, key, state, body, at) VALUES (?, 'discord:1', ?, 'waiting', ?, 1)`,
  )
  insert.run('in', 'all', JSON.stringify({ key: 'all', standing: sender, behalf: principal, wish: modelOverride }))
  insert.run('in', 'none', JSON.stringify({ key: 'none', what: { text: 'standing, behalf and "wish"' } }))
  insert.run('in', 'broken', '{"standing":')
  insert.run('out', 'reply', JSON.stringify({ text: 'hello' }))
  old.exec(`INSERT INTO job_marks (kind, name, schedule, since) VALUES ('cron', 'briefing', 'x', 5)`)
  old.exec(`INSERT INTO kept_files (file, text, hash) VALUES ('soul.md', 'text', 'h')`)
  old.exec(`INSERT INTO counts (box, name, n) VALUES ('in', 'answered', 3)`)
  old.exec(
    `INSERT INTO sessions (lane, backend, session, confirmed, updated_at, heard) VALUES ('discord:1', 'claude', 's', 1, 1, '{"event":7}')`,
  )
  old.close()

  const db = openDatabase(path)
  onTestFinished(() => db.close())
  const bodies = db.prepare(`SELECT body FROM items WHERE queue = 'in' ORDER BY id`).all() as { body: string }[]
  expect(JSON.parse(bodies[0]?.body ?? '')).toEqual({ key: 'all', sender, principal, modelOverride })
  expect(JSON.parse(bodies[1]?.body ?? '')).toEqual({ key: 'none', what: { text: 'standing, behalf and "wish"' } })
  expect(bodies[2]?.body).toBe('{"standing":')
  expect(db.prepare(`SELECT body FROM items WHERE queue = 'out'`).get()).toEqual({ body: '{"text":"hello"}' })
  expect(db.prepare('SELECT name, since FROM job_states').get()).toEqual({ name: 'briefing', since: 5 })
  expect(db.prepare('SELECT file, text FROM guarded_files').get()).toEqual({ file: 'soul.md', text: 'text' })
  expect(db.prepare('SELECT queue, n FROM counts').get()).toEqual({ queue: 'in', n: 3 })
  expect(db.prepare('SELECT received FROM sessions').get()).toEqual({ received: '{"event":7}' })
})
