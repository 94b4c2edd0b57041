// The servers for the SSE benchmark: the product's own, and one of bare sockets for comparison.
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { defaultLimits } from '../src/ui/http/options.ts'
import { openHttp } from '../src/ui/http/server.ts'
import { fakeHttp } from '../test/fakes/http-options.ts'
import { fakeMission } from '../test/fakes/mission.ts'

export interface Ports {
  readonly events: number
  readonly bare: number
  readonly request: string
}
/** Processor time of each, in milliseconds. */
export interface Broadcasts {
  readonly broadcasts: readonly number[]
  readonly writes: readonly number[]
}

const rounds = 100
const text = 'claude answered in 2.1 s (webchat:home)'
const token = 'a-token-for-the-benchmark'

const mission = fakeMission()
const http = await openHttp(
  fakeHttp({ address: { token }, admin: { mission }, warn: (_, what) => console.error(what) }),
  { ...defaultLimits, gatherMs: 1, statusMs: 100_000_000 },
  new AbortController().signal,
)
const sockets: Socket[] = []
const bare = createServer(socket => void sockets.push(socket.on('error', () => undefined)))
await new Promise<void>(done => bare.listen(0, '127.0.0.1', done))

process.once('message', async () => process.send?.(await measure()))
process.once('disconnect', () => process.exit())
process.send?.({
  events: http.port,
  bare: (bare.address() as AddressInfo).port,
  request: `GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n\r\n`,
} satisfies Ports)

async function measure(): Promise<Broadcasts> {
  const broadcasts: number[] = []
  const writes: number[] = []
  for (let i = 0; i < rounds; i++) {
    broadcasts.push(await worked(() => void mission.happen(text)))
    const bytes = Buffer.from(`id: ${i}\nevent: activity\ndata: ${JSON.stringify({ text, lane: 'webchat:home' })}\n\n`)
    writes.push(
      await worked(() => {
        for (const socket of sockets) socket.write(bytes)
      }),
    )
  }
  return { broadcasts, writes }
}

/** Including its consequences: the write itself, and the work when it has completed. */
async function worked(work: () => void): Promise<number> {
  const before = process.cpuUsage()
  work()
  await sleep(60)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
