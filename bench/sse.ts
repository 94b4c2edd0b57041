// The cost of sending one entry to a thousand open pages, compared with writing the same bytes to as many bare sockets.
import { fork } from 'node:child_process'
import { connect, type Socket } from 'node:net'
import { type Figure, median, ms, percentile, times } from './figures.ts'
import { node } from './rig.ts'
import type { Broadcasts, Ports } from './sse-server.ts'

const pages = 1000
const budgetMs = 30

export async function sseFigures(): Promise<readonly Figure[]> {
  // A separate process, because the cost of the clients is not to be measured.
  const server = fork(new URL('sse-server.ts', import.meta.url), {
    execPath: node,
    execArgv: ['--disable-warning=ExperimentalWarning'],
  })
  const end = () => server.kill()
  process.on('exit', end)
  const next = <PastMessage>() =>
    new Promise<PastMessage>((done, fail) => {
      server.once('message', said => done(said as PastMessage))
      server.once('exit', code => fail(new Error(`the server ended with ${code}`)))
    })
  const open: Socket[] = []
  try {
    const { events, bare, request } = await next<Ports>()
    for (let i = 0; i < pages; i++) open.push(await visit(events, request), await visit(bare, ''))
    server.send('begin')
    const { broadcasts, writes } = await next<Broadcasts>()
    const took = median(broadcasts)
    return [
      {
        name: `updating ${pages.toLocaleString('en-US')} pages, in processor time`,
        value: `${ms(took)} (p95 ${ms(percentile(broadcasts, 0.95))}) = ${times(took / median(writes))}`,
        baseline: `bare sockets: ${ms(median(writes))}`,
        budget: `≤ ${budgetMs} ms`,
        ok: took <= budgetMs,
      },
    ]
  } finally {
    process.off('exit', end)
    for (const socket of open) socket.destroy()
    end()
  }
}

/** Resolves once it is connected and, if it requests something, has a response. */
const visit = (port: number, request: string): Promise<Socket> =>
  new Promise((done, fail) => {
    const socket = connect(port, '127.0.0.1', () => {
      if (request === '') done(socket)
      else socket.write(request)
    })
    socket.once('data', () => done(socket))
    socket.on('error', fail)
    socket.resume()
  })
