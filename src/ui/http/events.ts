// Live activity as server-sent events. Each event is encoded once, and the same bytes go to all clients.
import type { Socket } from 'node:net'
import type { ActivityEntry, MissionControl, RequestNews } from '../../base/activity.ts'
import type { HttpLimits } from './options.ts'
import { type Exchange, replyError, securityHeaders } from './reply.ts'

export interface EventStream {
  /** Takes over the connection until either side closes it. */
  take(exchange: Exchange): void
}

type EventParts = Pick<MissionControl, 'activity' | 'followFiles' | 'followRequests' | 'requestNews' | 'pulse'>

/** Runs until the signal. Does nothing while no client is connected. */
export const createEvents = (
  { activity, followFiles, followRequests, requestNews, pulse }: EventParts,
  limits: Pick<HttpLimits, 'streamBytes' | 'statusMs' | 'gatherMs' | 'breathEveryMs'>,
  signal: AbortSignal,
): EventStream => {
  const readers = new Map<Socket, () => void>()
  let leave: (() => void)[] = []
  let fresh: ActivityEntry[] = []
  let changed = new Set<string>()
  let gathering: NodeJS.Timeout | null = null
  let beating: NodeJS.Timeout | null = null
  let breathing: NodeJS.Timeout | null = null
  let lastBeat = 0
  let status: { readonly at: number; readonly text: string } | null = null

  const send = (text: string): void => {
    const bytes = Buffer.from(text)
    for (const reader of readers.keys()) write(reader, bytes)
  }
  const write = (reader: Socket, bytes: Buffer): void => {
    // A client that is cut off catches up with Last-Event-ID; buffering for slow clients would cost memory for each of them.
    if (reader.writableLength + bytes.length > limits.streamBytes) reader.destroy()
    else reader.write(bytes)
  }

  const statusNow = (): string => {
    if (status === null || performance.now() - status.at >= limits.statusMs)
      status = { at: performance.now(), text: `event: status\ndata: ${JSON.stringify(pulse())}\n\n` }
    return status.text
  }

  /** Signals come in bursts: one write carries all of a short interval. */
  const received = (entry: ActivityEntry): void => {
    fresh.push(entry)
    gather()
    // Not immediately: a signal emitted before its commit is not in the counts yet.
    beating ??= setTimeout(beat, Math.max(2 * limits.gatherMs, lastBeat + limits.statusMs - performance.now()))
  }
  const gather = (): void => {
    gathering ??= setTimeout(() => {
      gathering = null
      const files = changed.size > 0 ? `event: changed\ndata: ${JSON.stringify({ files: [...changed] })}\n\n` : ''
      const entries = fresh.map(encoded).join('')
      fresh = []
      changed = new Set()
      send(entries + files)
    }, limits.gatherMs)
  }
  const beat = (): void => {
    beating = null
    lastBeat = performance.now()
    status = null
    send(statusNow())
  }

  const begin = (): void => {
    if (leave.length > 0) return
    const touched = (file: string) => {
      changed.add(file)
      gather()
    }
    // Not gathered: somebody waits for the answer.
    leave = [activity.follow(received), followFiles(touched), followRequests(news => send(encodedNews(news)))]
    breathing = setInterval(() => send(':\n\n'), limits.breathEveryMs)
  }
  const rest = (): void => {
    for (const end of leave) end()
    leave = []
    for (const timer of [gathering, beating, breathing]) clearTimeout(timer ?? undefined)
    gathering = beating = breathing = null
    fresh = []
    changed = new Set()
    status = null
  }
  const stop = (): void => {
    for (const end of readers.values()) end()
  }
  signal.addEventListener('abort', stop, { once: true })

  return {
    take(exchange) {
      const { request, response } = exchange
      const after = lastReceived(exchange)
      if (after === 'unreadable') return replyError(exchange, 400, '"after" must be the id of an entry.')
      if (signal.aborted) return replyError(exchange, 503, 'The gateway is stopping.', { 'Retry-After': '5' })
      // Without chunked encoding, so that all clients get the same bytes; the response ends with the connection.
      response.useChunkedEncodingByDefault = false
      response.shouldKeepAlive = false
      response.writeHead(200, {
        ...securityHeaders,
        'Content-Type': 'text/event-stream; charset=utf-8',
        'X-Accel-Buffering': 'no',
      })
      const socket = response.socket
      if (request.method === 'HEAD' || socket === null) return void response.end()
      response.flushHeaders()
      begin()
      readers.set(socket, () => response.end())
      response.once('close', () => {
        readers.delete(socket)
        if (readers.size === 0) rest()
      })
      const waiting = new Set(fresh.map(({ id }) => id))
      const missed = after === null ? [] : activity.after(after).filter(({ id }) => !waiting.has(id))
      write(
        socket,
        Buffer.from(`retry: 2000\n\n${statusNow()}${encodedNews(requestNews())}${missed.map(encoded).join('')}`),
      )
    },
  }
}

const encoded = (entry: ActivityEntry): string => `id: ${entry.id}\nevent: activity\ndata: ${JSON.stringify(entry)}\n\n`

const encodedNews = (news: RequestNews): string => `event: requests\ndata: ${JSON.stringify(news)}\n\n`

/** Null on the first connection, which has missed nothing. */
const lastReceived = ({ request, url }: Exchange): number | null | 'unreadable' => {
  const header = request.headers['last-event-id']
  const given = typeof header === 'string' && header !== '' ? header : url.searchParams.get('after')
  if (given === null) return null
  return /^\d{1,15}$/.test(given) ? Number(given) : 'unreadable'
}
