// What the gateway adds when an agent asks: until the request is on the page, and from the answer to the agent; and what open ones cost.
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Request } from '../src/base/requests.ts'
import { connect, type Frame } from '../test/harness/client.ts'
import { token } from '../test/harness/gateway.ts'
import { type Figure, median, ms, percentile } from './figures.ts'
import { residentMb, settleMs } from './memory.ts'
import { echo, type Gateway, pause, withGateway, withHome } from './rig.ts'

const rounds = 200
const warmUp = 20
const open = 1000
const pairs = 3
const budget = { shown: 15, answered: 10, mb: 5 }
const agent = { AGENT_BACKEND: 'claude', BACKEND_CLI_PATH: join(import.meta.dirname, 'asker.mjs') }
const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }

export async function askFigures(): Promise<readonly Figure[]> {
  const { shown, answered } = await withHome(home => withGateway(home, agent, askAndAnswer))
  const costs: { readonly more: number; readonly listed: number }[] = []
  for (let i = 0; i < pairs; i++) costs.push(await costOfOpen())
  const many = `${open.toLocaleString('en-US')} open requests`
  const more = costs.map(one => one.more)
  return [
    latency('request of the CLI to shown in WebChat', shown.slice(warmUp), budget.shown),
    latency('answer to the CLI', answered.slice(warmUp), budget.answered),
    { ...memory(many, more), budget: `< ${budget.mb} MB`, ok: median(more) < budget.mb },
    memory(
      '… after listing them all once',
      costs.map(one => one.listed),
    ),
  ]
}

const memory = (name: string, mb: readonly number[]): Figure => ({
  ...{ name, value: `${median(mb).toFixed(1)} MB (${mb.map(one => one.toFixed(1)).join(', ')})` },
  ...{ baseline: 'a gateway without any', budget: '', ok: null },
})

function latency(name: string, samples: readonly number[], most: number): Figure {
  const [p50, p99] = [median(samples), percentile(samples, 0.99)]
  const value = `p50 ${ms(p50)}, p99 ${ms(p99)} (${samples.length})`
  return { name, value, baseline: '', budget: `p50 ≤ ${most} ms`, ok: p50 <= most }
}

const now = () => performance.timeOrigin + performance.now()

/** One message after the other in one conversation, each with a request that is allowed once it is shown. */
async function askAndAnswer({ url }: Gateway) {
  const shown: number[] = []
  const answered: number[] = []
  let heard: (frame: Frame, at: number) => void = () => undefined
  const client = await connect(url, 'asks', frame => heard(frame, now()))
  for (let i = 0; i < warmUp + rounds; i++) {
    const requested = new Promise<Request>(done => {
      heard = (frame, at) => {
        const { request } = frame as Frame & { request?: Request }
        if (frame.type !== 'request' || request?.state !== 'open') return
        shown.push(at - askedAt(request))
        done(request)
      }
    })
    client.say(`m${i}`, 'go')
    const { id } = await requested
    const sent = now()
    await fetch(`${url}/api/requests`, { method: 'POST', headers, body: JSON.stringify({ id, allow: true }) })
    const final = await client.final(`m${i}`)
    answered.push(Number(final.text) - sent)
    await pause(5)
  }
  await client.close()
  return { shown, answered }
}

function askedAt({ ask }: Request): number {
  const command = ask.kind === 'tool' && ask.use.work.kind === 'command' ? ask.use.work.command : ''
  return Number(command.slice('echo '.length))
}

/** How much more memory a gateway uses that has found open requests at its start, and after it has listed all of them once. */
const costOfOpen = (): Promise<{ readonly more: number; readonly listed: number }> =>
  withHome(many =>
    withHome(async none => {
      const db = new DatabaseSync(join(many.configDir, '.aetheel/aetheel.db'))
      const add = db.prepare('INSERT INTO requests (at, lane, event, digest, body) VALUES (?, ?, ?, ?, ?)')
      db.exec('BEGIN')
      // Those of events that are over would be withdrawn, except for questions that outlive their turn.
      for (let i = 0; i < open; i++) add.run(Date.now(), `webchat:c${i}`, i, `digest-${i}`, JSON.stringify(stored(i)))
      db.exec('COMMIT')
      db.close()
      return withGateway(many, echo, busy =>
        withGateway(none, echo, async idle => {
          await pause(settleMs)
          const more = residentMb(busy.pid) - residentMb(idle.pid)
          for (const { url } of [busy, idle]) {
            const answer = await fetch(`${url}/api/requests`, { headers })
            const { requests } = (await answer.json()) as { requests: readonly Request[] }
            const expected = url === busy.url ? open : 0
            if (requests.length !== expected) throw new Error(`${requests.length} open requests, not ${expected}`)
          }
          await pause(settleMs)
          return { more, listed: residentMb(busy.pid) - residentMb(idle.pid) }
        }),
      )
    }),
  )

const stored = (i: number) => ({
  ...{ key: `webchat:c${i}:1`, person: null, owner: true, source: 'webchat', backend: 'claude', folder: '/workspace' },
  ask: { kind: 'tool', use: { tool: 'Bash', work: { kind: 'command', command: `make ${'target '.repeat(100)}${i}` } } },
  place: { chat: 'webchat', conversation: `c${i}` },
  replyTo: { chat: 'webchat', conversation: `c${i}` },
  ...{ rule: `Bash(make ${i})`, lasting: true },
})
