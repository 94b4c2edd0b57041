// OpenCode staying up: one `opencode serve` on loopback takes the turns of all sessions side by side.
import type { AgentEvent, Ended, Turn } from '../../base/agent.ts'
import { endOf } from '../cli.ts'
import { failure, statusIn } from '../diagnosis.ts'
import { type Json, number, object, string } from '../json.ts'
import type { ProcessEnd, RunningProcess } from '../process.ts'
import type { Host } from '../warm.ts'
import { type Loopback, openLoopback, type Reply } from './opencode-http.ts'
import { endOfReply, isWhole, readTurn, type TurnReader, unreadable } from './opencode-read.ts'
import { type OwnServers, openOwnServers } from './opencode-servers.ts'

export interface ServerParts {
  readonly user: string
  readonly password: string
  /** A message with the words of the turn and all that goes with them. */
  promptFor(turn: Turn): Json
  /** The answer to what it asks leave for: there is nobody else to ask. */
  readonly permission: 'once' | 'reject'
  readonly title: string
}

/** What a turn waits for. */
type Mail =
  | { readonly type: 'event'; readonly event: Json }
  | { readonly type: 'reply'; readonly reply: Reply }
  | { readonly type: 'broken'; readonly error: unknown }
  /** The reply is there, and the rest of the events does not come. */
  | { readonly type: 'late' }
  /** It waits too long before it asks the model again. */
  | { readonly type: 'waited'; readonly until: number; readonly said: string }

/** How long it is waited for, in each case. */
export const usualPatience = {
  eventsMs: 1000,
  leaveMs: 1000,
  abortMs: 250,
  retryMs: 10_000,
  retries: 2,
}

export async function openServer(
  child: RunningProcess,
  parts: ServerParts,
  signal: AbortSignal,
  patience = usualPatience,
): Promise<Host> {
  const turns = new Map<string, Mailbox>()
  const giveUp = () => child.kill()
  signal.addEventListener('abort', giveUp, { once: true })
  try {
    if (signal.aborted) giveUp()
    const loopback = openLoopback(await addressOf(child), parts.user, parts.password)
    const directory = string((await loopback.call('GET', '/path')).body.directory)
    const stream = await loopback.listen('/event', event => heard(event, turns, loopback, parts.permission))
    // Without its events it is of no use any more.
    void stream.closed.then(() => endOfServer(child, patience.leaveMs))
    // What the first turn would have to wait for.
    for (const path of ['/config/providers', '/mcp', '/skill']) loopback.call('GET', path).catch(() => undefined)
    const servers = openOwnServers(loopback)
    return {
      pid: child.pid,
      run: (turn, stop) => runTurn({ child, loopback, turns, directory, patience, servers, ...parts }, turn, stop),
      close: () => close(child),
      kill: child.kill,
      gone: child.end,
    }
  } catch (error) {
    child.kill()
    const end = await child.end
    throw new Error(end.detail || end.stderr.trim() || `it did not come up: ${String(error)}`)
  } finally {
    signal.removeEventListener('abort', giveUp)
  }
}

/** Nothing is heard of it any more: it has a moment to leave with an exit code of its own. */
async function endOfServer(child: RunningProcess, patienceMs: number): Promise<ProcessEnd> {
  const late = setTimeout(child.kill, patienceMs)
  const end = await child.end
  clearTimeout(late)
  return end
}

/** Kills it with all that it started: MCP servers, and tools in groups of their own. */
async function close(child: RunningProcess): Promise<void> {
  child.kill()
  await child.end
}

/** It takes a moment before it listens, and a call that comes too early may never be answered. */
async function addressOf(child: RunningProcess): Promise<string> {
  const lines = child.lines[Symbol.asyncIterator]()
  for (;;) {
    const line = await lines.next()
    if (line.done) throw new Error('it never said where it listens')
    const address = /listening on (http:\/\/127\.0\.0\.1:\d+)/.exec(line.value)?.[1]
    if (address === undefined) continue
    void drain(lines)
    return address
  }
}

async function drain(lines: AsyncIterator<string>): Promise<void> {
  while (!(await lines.next()).done);
}

function heard(
  event: Json,
  turns: ReadonlyMap<string, Mailbox>,
  loopback: Loopback,
  permission: ServerParts['permission'],
): void {
  const about = object(event.properties)
  const answer = (path: string, body: Json) => loopback.call('POST', path, body).catch(() => undefined)
  // Also of those that work for a session of ours: nobody else is here.
  if (event.type === 'permission.asked') void answer(`/permission/${string(about.id)}/reply`, { reply: permission })
  if (event.type === 'question.asked') void answer(`/question/${string(about.id)}/reject`, {})
  turns.get(string(about.sessionID))?.put({ type: 'event', event })
}

interface Server extends ServerParts {
  readonly child: RunningProcess
  readonly loopback: Loopback
  readonly turns: Map<string, Mailbox>
  /** Where it works, in its own words; empty: it does not tell. */
  readonly directory: string
  readonly patience: typeof usualPatience
  readonly servers: OwnServers
}

async function* runTurn(server: Server, turn: Turn, signal: AbortSignal): AsyncGenerator<AgentEvent> {
  const { child } = server
  const reader = readTurn()
  child.startCounting()
  const { fields, leave } = await server.servers.enter(turn)
  try {
    const session = await sessionFor(server, turn)
    if (typeof session !== 'string') {
      yield session
      return
    }
    yield { type: 'started', session }
    if (signal.aborted) yield aborted
    else yield* follow(server, { ...server.promptFor(turn), ...fields }, session, reader, signal)
  } catch {
    // A connection on loopback breaks only when the server is leaving, or not to be trusted any more.
    yield endOf(await endOfServer(child, server.patience.leaveMs), { line: () => [], end: reader.end })
  } finally {
    leave()
  }
}

/** Its id, or why there is none. */
async function sessionFor({ loopback, directory, title }: Server, { session }: Turn): Promise<string | Ended> {
  if (!session?.resume) {
    // Without a title it asks the model for one.
    const { body } = await loopback.call('POST', '/session', { title })
    return string(body.id) || unreadable
  }
  const lost: Ended = { type: 'ended', ok: false, why: 'session-lost', detail: 'Session not found' }
  if (!session.id.startsWith('ses')) return lost
  const { status, body } = await loopback.call('GET', `/session/${encodeURIComponent(session.id)}`)
  if (status === 404) return lost
  if (status !== 200) return unreadable
  // One that began elsewhere would go on working there.
  return directory === '' || body.directory === directory ? session.id : lost
}

async function* follow(
  server: Server,
  prompt: Json,
  session: string,
  reader: TurnReader,
  signal: AbortSignal,
): AsyncGenerator<AgentEvent> {
  const { patience } = server
  const sent = sendPrompt(server, session, prompt)
  signal.addEventListener('abort', sent.breakOff, { once: true })
  let reply: Reply | null = null
  let gaveUp: Ended | null = null
  try {
    for (;;) {
      const mail = await sent.next()
      switch (mail.type) {
        case 'event':
          yield* reader.heard(mail.event)
          if (!reply) gaveUp ??= weary(mail.event, sent, patience)
          break
        case 'waited':
          gaveUp ??= overloaded(mail.said, mail.until)
          break
        case 'reply':
          reply = mail.reply
          sent.remind(patience.eventsMs, { type: 'late' })
          break
        case 'broken':
          throw mail.error
        case 'late':
          break
        default:
          mail satisfies never
      }
      if (gaveUp) sent.breakOff()
      // The events come on a way of their own, and often a little later than the reply.
      if (reply && (mail.type === 'late' || sent.isBrokenOff() || isWhole(reply, reader))) break
    }
    await sent.quiet()
    yield gaveUp ?? endOfReply(reply, reader)
  } finally {
    signal.removeEventListener('abort', sent.breakOff)
    sent.close()
  }
}

/** A prompt on its way: what comes back for it, and how it is broken off. */
function sendPrompt({ loopback, turns, patience }: Server, session: string, prompt: Json) {
  const box = openMailbox()
  let over = false
  let breaking: Promise<void> | null = null
  let reminder: NodeJS.Timeout | undefined
  turns.set(session, box)
  const answered = loopback
    .call('POST', `/session/${session}/message`, prompt, 0)
    .then(
      reply => box.put({ type: 'reply', reply }),
      (error: unknown) => box.put({ type: 'broken', error }),
    )
    .finally(() => {
      over = true
    })

  /** Again until it has ended: the first time may come before it has begun. */
  async function insist(): Promise<void> {
    while (!over) {
      await loopback.call('POST', `/session/${session}/abort`).catch(() => undefined)
      await Promise.race([answered, new Promise(resolve => setTimeout(resolve, patience.abortMs))])
    }
  }
  const breakOff = () => {
    breaking ??= insist()
  }
  return {
    next: box.next,
    breakOff,
    isBrokenOff: () => breaking !== null,
    /** No word of ours is under way that could hit the next turn. */
    quiet: async () => breaking,
    /** One thing at a time. */
    remind(ms: number, mail: Mail) {
      clearTimeout(reminder)
      reminder = setTimeout(() => box.put(mail), ms)
    },
    forget: () => clearTimeout(reminder),
    close() {
      clearTimeout(reminder)
      turns.delete(session)
      // Nobody listens any more: it need not go on.
      if (!over) breakOff()
    },
  }
}

/** Its own five retries take more than a minute, or as long as the service wants; ours decide, and tell the person. */
function weary(event: Json, sent: ReturnType<typeof sendPrompt>, patience: typeof usualPatience): Ended | null {
  if (event.type !== 'session.status') return null
  const { type, attempt, message, next } = object(object(event.properties).status)
  if (type !== 'retry') sent.forget()
  else if (number(attempt) > patience.retries) return overloaded(string(message))
  else sent.remind(patience.retryMs, { type: 'waited', said: string(message), until: number(next) })
  return null
}

function overloaded(said: string, until = 0): Ended {
  const found = failure(said || 'the model does not answer', statusIn(said))
  if (found.ok) return found
  if (found.why !== 'rate-limited') return { ...found, why: 'overloaded' }
  return { ...found, ...(until > 0 ? { until } : {}) }
}

const aborted: Ended = { type: 'ended', ok: false, why: 'stopped', detail: 'stopped before it began' }
interface Mailbox {
  put(mail: Mail): void
  next(): Promise<Mail>
}

function openMailbox(): Mailbox {
  const waiting: Mail[] = []
  let wake: (() => void) | null = null
  return {
    put(mail) {
      waiting.push(mail)
      wake?.()
      wake = null
    },
    async next() {
      for (;;) {
        const first = waiting.shift()
        if (first) return first
        await new Promise<void>(resolve => {
          wake = resolve
        })
      }
    },
  }
}
