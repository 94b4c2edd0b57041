// A scripted gateway for Mission Control: the real HTTP server with fake admin APIs, and in front of it a proxy that answers the live
// paths from the test data.
import { once } from 'node:events'
import { createServer, type IncomingMessage, request as passOn, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { JobView } from '../../src/base/jobs.ts'
import type { MemoryChange } from '../../src/base/memory.ts'
import type { PairingList } from '../../src/base/pairing.ts'
import type { SessionView } from '../../src/base/sessions.ts'
import { loginOf } from '../../src/ui/http/login-cookie.ts'
import { defaultLimits } from '../../src/ui/http/options.ts'
import { openHttp } from '../../src/ui/http/server.ts'
import { fakeHttp } from '../fakes/http-options.ts'
import { fakePermissions } from '../fakes/permissions.ts'
import { fakeFiles, fakeSkills } from '../fakes/persona-files.ts'
import { fakeRequests } from '../fakes/requests.ts'
import { sample } from './mission-sample.ts'
import { token } from './stage.ts'

/** They outlive a stage, as they outlive a restart of a gateway. */
const { logins } = fakeHttp({ address: { token } })

export type World = ReturnType<typeof sample>

export const openMission = async (port = 0, world: World = sample(Date.now())) => {
  const stopping = new AbortController()
  /** What the page has requested. */
  const orders: unknown[] = []
  const streams = new Set<ServerResponse>()
  /** The `after` of each connection. */
  const asked: (string | null)[] = []
  const requests = fakeRequests(({ id, state, event, lane }) =>
    broadcast(frame('requests', { open: requests.list('open').length, changed: { id, state, event, lane } })),
  )
  const options = fakeHttp({
    logins,
    address: { token },
    health: { version: '0.1.0', status: async () => world.overview.status },
    webchat: { message: () => Promise.reject(new Error('not in this test')) },
    admin: { ...adminOf(world, orders), requests, permissions: fakePermissions(orders) },
  })
  const inner = await openHttp(options, { ...defaultLimits, stopMs: 300 }, stopping.signal)

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '/', 'http://localhost')
    const live = liveSide(url, world)
    if (url.pathname !== '/events' && live === undefined) return forward(request, response, inner.port)
    if (loginOf(request, options.logins) === null) return json(response, 401, { error: 'no token' })
    if (url.pathname === '/events') {
      asked.push(url.searchParams.get('after'))
      response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' })
      response.write(': hello\n\n')
      response.write(frame('requests', { open: requests.list('open').length, changed: null }))
      const after = url.searchParams.get('after')
      for (const entry of after === null ? [] : world.entries.filter(({ id }) => id > Number(after)).reverse())
        response.write(frame('activity', entry, entry.id))
      streams.add(response)
      response.once('close', () => streams.delete(response))
      return
    }
    if (request.method === 'POST') {
      const order = JSON.parse(await bodyOf(request))
      orders.push(order)
      const agent = world.agents?.find(({ id }) => id === order.stop)
      if (agent) Object.assign(agent, { state: 'stopped', endedAt: Date.now() })
      return json(response, 200, { ok: true })
    }
    json(response, live === null ? 404 : 200, live ?? { error: 'There is nothing here.' })
  }
  const front = createServer((request, response) => void answer(request, response))
  front.listen(port, '127.0.0.1')
  await once(front, 'listening')
  const { port: open } = front.address() as AddressInfo

  const broadcast = (text: string): void => {
    for (const stream of streams) stream.write(text)
  }
  return {
    url: `http://127.0.0.1:${open}`,
    port: open,
    world,
    requests,
    orders,
    asked,
    listeners: () => streams.size,
    /** Adds an entry and sends it to all connected pages. */
    happens(entry: Partial<World['entries'][number]>) {
      const id = (world.entries[0]?.id ?? 0) + 1
      const whole = { id, at: Date.now(), type: 'noted', level: 'info', event: null, lane: null, text: '', ...entry }
      world.entries.unshift(whole)
      broadcast(frame('activity', whole, id))
    },
    tellStatus: () => broadcast(frame('status', { status: world.overview.status, running: world.overview.running })),
    async stop() {
      front.close()
      front.closeAllConnections()
      stopping.abort()
      await inner.closed
    },
  }
}

/** Undefined: not a live path. Null: a live path, but not found. */
const liveSide = (url: URL, world: World): object | null | undefined => {
  const { pathname, searchParams } = url
  if (pathname === '/api/overview') return world.overview
  if (pathname === '/api/activity') {
    const before = Number(searchParams.get('before') ?? Number.MAX_SAFE_INTEGER)
    return { entries: world.entries.filter(({ id }) => id < before).slice(0, Number(searchParams.get('limit') ?? 50)) }
  }
  if (pathname === '/api/event') return world.events.get(Number(searchParams.get('id'))) ?? null
  if (pathname === '/api/usage') return { days: world.usage, names: { 'discord:kitchen': '#kitchen of Our House' } }
  if (pathname === '/api/agents') return world.agents && { agents: world.agents }
  return undefined
}

const adminOf = (world: World, orders: unknown[]) => {
  const jobOf = (name: string): JobView | undefined => world.jobs.find(job => job.name === name)
  const missing = { ok: false, why: 'There is no such job.' } as const
  const decide = async (id: number | null, state: MemoryChange['state'], order: unknown) => {
    orders.push(order)
    const change = world.changes.find(one => one.id === id)
    if (!change) return { ok: false, why: 'There is no such change.' } as const
    Object.assign(change, { state })
    return { ok: true, change } as const
  }
  return {
    jobs: {
      list: async () => ({ jobs: world.jobs, troubles: world.troubles }),
      add: async (job: { name: string; schedule: string; instruction: string }) => {
        orders.push({ add: job })
        if (job.schedule === 'sometimes') return { ok: false, why: 'The schedule “sometimes” cannot be read.' } as const
        const added: JobView = { ...world.jobs[0]!, paused: false, last: null, ...job, words: job.schedule }
        world.jobs.push(added)
        return { ok: true, job: added } as const
      },
      pause: async (name: string, paused: boolean) => {
        orders.push({ pause: name, paused })
        const job = jobOf(name)
        if (!job) return missing
        Object.assign(job, { paused, next: paused ? [] : [Date.now() + 60_000] })
        return { ok: true, job } as const
      },
      remove: async (name: string) => {
        orders.push({ remove: name })
        const job = jobOf(name)
        if (!job) return missing
        world.jobs.splice(world.jobs.indexOf(job), 1)
        return { ok: true, job } as const
      },
      run: async (name: string) => {
        orders.push({ run: name })
        const job = jobOf(name)
        return job ? ({ ok: true, job } as const) : missing
      },
    },
    sessions: {
      list: async (most: number, after = '0') => {
        const from = Number(after)
        const next = world.sessions.length > from + most ? String(from + most) : null
        return { sessions: world.sessions.slice(from, from + most), conversations: world.sessions.length, next }
      },
      clear: async (which: string) => {
        orders.push({ clear: which })
        const gone = world.sessions.filter(({ lane }: SessionView) => which === 'all' || lane === which)
        for (const one of gone) world.sessions.splice(world.sessions.indexOf(one), 1)
        return { ok: true, lanes: gone.map(({ lane }) => lane) } as const
      },
    },
    files: fakeFiles({
      'memory.md': '# Memory\n\n- The hose is behind the house\n',
      'identity.md': '# Identity\n',
      'skills/tea/SKILL.md': '---\nname: tea\ndescription: Makes tea.\n---\n',
      'skills/cold/SKILL.md': 'Cold.\n',
    }).files,
    skills: fakeSkills,
    memory: {
      search: async (query: string) => world.hits.filter(({ snippet }) => snippet.toLowerCase().includes(query)),
      sync: async () => ({ documents: 812, changed: 3 }),
      list: async (most: number) => world.changes.slice(0, most),
      undo: (id: number | null) => decide(id, 'undone', { undo: id }),
      approve: (id: number) => decide(id, 'approved', { approve: id }),
      deny: (id: number) => decide(id, 'denied', { deny: id }),
    },
    pairing: {
      list: async (): Promise<PairingList> => world.pairing,
      approve: async (code: string, owner: boolean) => {
        orders.push({ approve: code, owner })
        const asks = world.pairing.requests.find(one => one.code === code)
        const known = world.pairing.people.find(({ chat, user }) => `${chat}:${user}` === code)
        if (known) Object.assign(known, { as: 'guest' })
        const person = asks ?? known
        if (!person) return { type: 'unknown' } as const
        if (asks) {
          world.pairing.requests.splice(world.pairing.requests.indexOf(asks), 1)
          world.pairing.people.push({ ...asks, as: owner ? 'owner' : 'guest', since: Date.now() })
        }
        return { type: 'approved', person, owner } as const
      },
      deny: async (whom: string) => {
        orders.push({ deny: whom })
        const asks = world.pairing.requests.find(one => one.code === whom)
        if (asks) world.pairing.requests.splice(world.pairing.requests.indexOf(asks), 1)
        const known = world.pairing.people.find(({ chat, user }) => `${chat}:${user}` === whom)
        if (known) Object.assign(known, { as: 'denied' })
        const person = asks ?? known
        return person ? ({ type: 'denied', person } as const) : ({ type: 'unknown' } as const)
      },
    },
  }
}

const forward = (request: IncomingMessage, response: ServerResponse, port: number): void => {
  const { method, url, headers } = request
  const onward = passOn({ host: '127.0.0.1', port, method, path: url, headers }, answer => {
    response.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.pipe(response)
  })
  onward.on('error', () => response.destroy())
  request.pipe(onward)
}

const frame = (event: string, data: object, id?: number): string =>
  `event: ${event}\n${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`

const json = (response: ServerResponse, status: number, body: object): void =>
  void response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  let text = ''
  for await (const chunk of request) text += chunk
  return text
}
