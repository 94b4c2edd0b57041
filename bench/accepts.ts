// How many messages per second are stored and acknowledged, with a hundred sockets that each wait for the previous one.
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { connect } from '../test/harness/client.ts'
import type { Home } from '../test/harness/gateway.ts'
import { type Figure, times, whole } from './figures.ts'
import { fastAgent, type Gateway, pause, withGateway, withHome } from './rig.ts'

const sockets = 100
const warmUpMs = 1000
const measuredMs = 4000
const budget = 3000

/** One turn that never ends, so that the gateway only accepts. */
const env = {
  ...fastAgent,
  BUSY: 'queue',
  MAX_CONCURRENT_QUERIES: '1',
  MAX_QUEUE_DEPTH: '1000000',
  STOP_TIMEOUT_MS: '0',
}

export async function acceptFigures(): Promise<readonly Figure[]> {
  return withHome(async home => {
    const single = await commitsPerSecond(home)
    const { perSecond, accepted } = await withGateway(home, env, flood)
    const kept = storedMessages(home)
    if (kept < accepted) throw new Error(`${accepted} messages were accepted, but only ${kept} are on disk`)
    return [
      {
        name: `durable accepts, ${sockets} sockets`,
        value: `${whole(perSecond)} a second = ${times(perSecond / single)} (${whole(accepted)} accepted, all found on disk)`,
        baseline: `one commit per insert: ${whole(single)} a second`,
        budget: `≥ ${whole(budget)} a second`,
        ok: perSecond >= budget,
      },
    ]
  })
}

async function flood(gateway: Gateway): Promise<{ perSecond: number; accepted: number }> {
  let accepted = 0
  let over = false
  const clients = await Promise.all(
    Array.from({ length: sockets }, async (_, i) => {
      let count = 0
      const client = await connect(gateway.url, `flood-${i}`, frame => {
        if (frame.type === 'accepted') {
          accepted++
          if (!over) client.say(`m${count++}`, 'hello')
        } else if (frame.type === 'refused') throw new Error(`refused: ${frame.reason}`)
      })
      return client
    }),
  )
  clients[0]?.say('first', 'hang')
  await pause(200)
  for (const client of clients.slice(1)) client.say('first', 'hello')
  await pause(warmUpMs)
  const [before, began] = [accepted, performance.now()]
  await pause(measuredMs)
  const perSecond = ((accepted - before) * 1000) / (performance.now() - began)
  over = true
  await pause(500)
  await Promise.all(clients.map(client => client.close()))
  return { perSecond, accepted }
}

/** The simple approach: a table of the same shape on the same disk, with one commit per insert. */
async function commitsPerSecond(home: Home): Promise<number> {
  const file = join(home.dir, 'baseline.db')
  const db = new DatabaseSync(file)
  try {
    db.exec(
      'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE items (id INTEGER PRIMARY KEY, body TEXT)',
    )
    const insert = db.prepare('INSERT INTO items (body) VALUES (?)')
    const body = 'x'.repeat(250)
    const began = performance.now()
    let count = 0
    for (; performance.now() - began < 1000; count++) insert.run(body)
    return (count * 1000) / (performance.now() - began)
  } finally {
    db.close()
    await rm(file)
  }
}

function storedMessages(home: Home): number {
  const db = new DatabaseSync(join(home.configDir, '.aetheel/aetheel.db'), { readOnly: true })
  try {
    return Number(db.prepare(`SELECT count(*) AS n FROM items WHERE queue = 'in'`).get()?.n)
  } finally {
    db.close()
  }
}
