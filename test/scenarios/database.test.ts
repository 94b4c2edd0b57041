// Problems of the database while the gateway runs, or between a kill and the next start: they are reported, and nothing counts as accepted that is not stored.
import { openSync, readdirSync, renameSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'vitest'
import { smallDisk, whyNoSmallDisk } from '../fakes/small-disk.ts'
import { eventually, exitOf, type TemporaryHome, temporaryHome } from '../fakes/temporary.ts'
import { connect } from '../harness/client.ts'
import { type RunningGateway, runCommand, token } from '../harness/gateway.ts'

const fileIn = (home: TemporaryHome) => join(home.configDir, '.aetheel', 'aetheel.db')

async function health({ url }: RunningGateway) {
  const answer = await fetch(`${url}/healthz`)
  return { code: answer.status, ...((await answer.json()) as { status: string; why?: string }) }
}

/** What `aetheel status` prints, with its exit code. */
async function statusOf(home: TemporaryHome, env: Record<string, string> = {}) {
  const run = runCommand(home, ['status'], env)
  const code = await run.exit
  return { code, text: run.stdout() + run.stderr() }
}

const troubleOf = async ({ url }: RunningGateway) => {
  const answer = await fetch(`${url}/api/status`, { headers: { authorization: `Bearer ${token}` } })
  return (await answer.json()) as { trouble: string | null; notes: string[] }
}

describe.concurrent('the database file', () => {
  const losses: Record<string, (file: string) => void> = {
    'is deleted': file => rmSync(file),
    'is deleted with all that SQLite keeps beside it': file => {
      for (const name of readdirSync(join(file, '..')))
        if (name.startsWith('aetheel.db')) rmSync(join(file, '..', name))
    },
    'is replaced': file => {
      const other = new DatabaseSync(`${file}.other`)
      other.exec('CREATE TABLE a (b)')
      other.close()
      renameSync(`${file}.other`, file)
    },
  }
  for (const [how, lose] of Object.entries(losses))
    test(`${how} while it runs: nothing is accepted any more, this is reported, and no second gateway starts`, async ({
      expect,
    }) => {
      await using home = await temporaryHome()
      const gateway = await home.start({ AGENT_BACKEND: 'echo' })
      const client = await connect(gateway.url, 'talk')
      client.say('before', 'while it is there')
      await client.final('before')
      expect(await health(gateway)).toEqual({ code: 200, status: 'ok' })
      lose(fileIn(home))
      for (const id of ['1', '2', '3']) client.say(id, 'and now?')
      for (const id of ['1', '2', '3']) {
        const answer = await client.next(frame => frame.id === id && /accepted|refused/.test(frame.type))
        expect(answer).toMatchObject({ type: 'refused', reason: expect.stringMatching(/^Not stored/) })
      }
      expect(await health(gateway)).toEqual({
        ...{
          code: 503,
          status: 'trouble',
          why: expect.stringMatching(/deleted or replaced while the gateway was running/),
        },
      })
      expect(gateway.output()).toMatch(/deleted or replaced/)
      const status = await statusOf(home)
      expect(status).toEqual({ code: 1, text: expect.stringMatching(/accepts nothing[\s\S]*deleted or replaced/) })
      const second = runCommand(home, ['start'], { AGENT_BACKEND: 'echo' })
      expect(await exitOf({ exit: second.exit, output: second.stderr })).toBe(1)
      expect(second.stderr()).toMatch(/another gateway \(pid \d+, .*\) already uses/)
      expect(await gateway.stop()).toBe(0)
      const next = await home.start({ AGENT_BACKEND: 'echo' }).catch((error: Error) => error)
      // A foreign database in its place is refused; without one it starts empty.
      if (next instanceof Error)
        expect([how, next.message]).toEqual(['is replaced', expect.stringContaining('aetheel.db')])
      else expect(await health(next)).toEqual({ code: 200, status: 'ok' })
    })

  test('that lost its write-ahead log after a kill counts as older, which the start, status and doctor report', {
    timeout: 60_000,
  }, async ({ expect }) => {
    await using home = await temporaryHome()
    const first = await home.start({ AGENT_BACKEND: 'echo' })
    const client = await connect(first.url, 'talk')
    client.say('1', 'kept')
    await client.final('1')
    await first.stop()
    const second = await home.start({ AGENT_BACKEND: 'echo' })
    const again = await connect(second.url, 'talk')
    again.say('2', 'lost')
    await again.final('2')
    await second.stop('SIGKILL')
    rmSync(`${fileIn(home)}-wal`)

    const words = /older at the start than when it was last written: its \d+ newest/
    const doctor = runCommand(home, ['doctor'], { AGENT_BACKEND: 'echo' })
    await doctor.exit
    expect(doctor.stdout()).toMatch(words)
    const third = await home.start({ AGENT_BACKEND: 'echo', OUTPUT_CHANNEL_ID: 'webchat:home' })
    expect(third.output()).toMatch(words)
    expect((await troubleOf(third)).notes).toEqual([expect.stringMatching(words)])
    const owner = await connect(third.url, 'home')
    await owner.next(({ type, text }) => type === 'final' && words.test(String(text)))
    expect(await health(third)).toEqual({ code: 200, status: 'ok' })
    await third.stop()
    const fourth = await home.start({ AGENT_BACKEND: 'echo' })
    expect(fourth.output()).not.toMatch(words)
  })
})

/** Damages pages of an index that the start does not read. */
function spoil(file: string, index: string, from: number): void {
  const db = new DatabaseSync(file)
  const pages = db
    .prepare(`SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path`)
    .all(index)
    .map(({ pageno }) => Number(pageno))
  db.close()
  const handle = openSync(file, 'r+')
  for (const page of pages.slice(Math.floor(pages.length * from)))
    writeSync(handle, Buffer.alloc(4096, 0xff), 0, 4096, (page - 1) * 4096)
}

/** A folder with a long history. */
async function longUsedHome(): Promise<TemporaryHome> {
  const home = await temporaryHome()
  const gateway = await home.start({ AGENT_BACKEND: 'echo' })
  await gateway.stop()
  const db = new DatabaseSync(fileIn(home))
  db.exec('BEGIN')
  const insert = db.prepare(
    `INSERT INTO items (queue, lane, key, state, body, at, ended_at) VALUES (?, ?, ?, 'done', '{}', 1, 1)`,
  )
  for (const queue of ['in', 'out'])
    for (let i = 0; i < 3000; i++) insert.run(queue, `cron:${i}`, `webchat:old-${i}:${'k'.repeat(60)}`)
  db.exec('COMMIT')
  db.close()
  return home
}

describe.concurrent('a damaged page that the start does not read', () => {
  test('is reported when it is read: accepted messages fail visibly, and nothing more is accepted', async ({
    expect,
  }) => {
    await using home = await longUsedHome()
    // Keys of deliveries are at its end: messages are accepted, but their answers cannot be stored.
    spoil(fileIn(home), 'sqlite_autoindex_items_1', 0.6)
    const gateway = await home.start({ AGENT_BACKEND: 'echo' })
    const client = await connect(gateway.url, 'talk')
    client.say('1', 'hello')
    await client.next(frame => frame.type === 'accepted')
    const final = await client.final('1')
    expect(final).toMatchObject({ ok: false, text: expect.stringMatching(/The database is damaged/) })
    client.say('2', 'and now?')
    await client.next(frame => frame.type === 'refused' && frame.id === '2')
    expect(await health(gateway)).toEqual({
      ...{ code: 503, status: 'trouble', why: expect.stringMatching(/^The database is damaged/) },
    })
    expect(await statusOf(home)).toEqual({
      ...{ code: 1, text: expect.stringMatching(/accepts nothing[\s\S]*The database is damaged/) },
    })
    expect((await gateway.output().match(/malformed/g))?.length ?? 0).toBeLessThan(10)
    expect(await gateway.stop()).toBe(0)
  })

  test('in the history prevents no connection and causes no reconnect loop', async ({ expect }) => {
    await using home = await longUsedHome()
    spoil(fileIn(home), 'items_of_lane', 0)
    const gateway = await home.start({ AGENT_BACKEND: 'echo' })
    const client = await connect(gateway.url, 'old-7')
    let closed = false
    void client.closed.then(() => {
      closed = true
    })
    expect((await client.final('trouble')).text).toMatch(/^Something went wrong here/)
    client.say('1', 'hello')
    await client.next(frame => frame.type === 'refused' && frame.id === '1')
    expect(closed).toBe(false)
    expect((await health(gateway)).code).toBe(503)
    await client.close()
  })
})

const noDisk = whyNoSmallDisk()
const skipReason = noDisk === null ? '' : ` (skipped: ${noDisk})`

describe.skipIf(noDisk !== null)(`a disk that takes nothing${skipReason}`, { concurrent: true }, () => {
  test('because it is full is reported by health and status until there is room', async ({ expect }) => {
    using disk = smallDisk(8)
    await using home = await temporaryHome()
    const env = { CONFIG_DIR: join(disk.dir, 'config'), AGENT_BACKEND: 'echo' }
    const gateway = await home.start(env)
    disk.fill()
    expect(await health(gateway)).toEqual({
      code: 503,
      status: 'trouble',
      why: expect.stringMatching(/^The disk is full/),
    })
    expect(await statusOf(home, env)).toEqual({ code: 1, text: expect.stringContaining('The disk is full') })
    disk.makeRoom()
    await eventually('health', async () => (await health(gateway)).code === 200)
    expect(await troubleOf(gateway)).toMatchObject({ trouble: null })
  })

  test('does not delay a stop, however long the pauses between retries are', async ({ expect }) => {
    using disk = smallDisk(8)
    await using home = await temporaryHome()
    const gateway = await home.start({ CONFIG_DIR: join(disk.dir, 'config') })
    const client = await connect(gateway.url, 'talk')
    client.say('1', 'in the middle of it [[tool:500]]')
    await client.next(frame => frame.type === 'action')
    disk.fill()
    await eventually('the end of the turn', () => gateway.output().includes('"msg":"turn ended"'))
    // By then, the pauses between the attempts to store it have grown to several seconds.
    await new Promise(resolve => setTimeout(resolve, 7000))
    gateway.child.kill('SIGTERM')
    expect(await exitOf(gateway)).toBe(0)
  })
})
