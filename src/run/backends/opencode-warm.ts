// OpenCode in warm mode: one `opencode serve` on loopback runs the turns of all sessions in parallel.
import { setTimeout as sleep } from 'node:timers/promises'
import type { AgentEvent, Ended, Turn } from '../../base/agent.ts'
import { endOf } from '../cli.ts'
import { failure, statusIn } from '../diagnosis.ts'
import { orAlive } from '../events.ts'
import type { ProcessEnd, RunningProcess } from '../process.ts'
import { type Json, number, object, string } from '../stdio.ts'
import type { Host } from '../warm.ts'
import { createFamily, isAboutAsking, openAsks, type TurnAsks } from './opencode-asks.ts'
import { createLoopback, type Loopback, type Reply } from './opencode-http.ts'
import { createMailbox, type Incoming, type Mailbox } from './opencode-mail.ts'
import { endOfReply, isWhole, readTurn, type TurnReader, unreadable } from './opencode-read.ts'
import { createOwnServers, type OwnServers } from './opencode-servers.ts'

export interface ServerParts {
  readonly user: string
  readonly password: string
  /** The message of a turn, with its prompt and options. */
  promptFor(turn: Turn): Json
  /** The answer to its permission requests if there is nobody to ask. */
  readonly permission: 'once' | 'reject' | 'ask'
  readonly title: string
}

/** How long the gateway waits in each case. */
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
    const loopback = createLoopback(await addressOf(child), parts.user, parts.password, child.dial)
    const directory = string((await loopback.call('GET', '/path')).body.directory)
    const family = createFamily()
    const stream = await loopback.listen('/event', event => {
      family.notice(event)
      dispatch(event, turns, loopback, parts.permission, family.rootOf)
    })
    // Without its event stream it is useless.
    void stream.closed.then(() => endOfServer(child, patience.leaveMs))
    // Loads what the first turn would otherwise wait for.
    for (const path of ['/config/providers', '/mcp', '/skill']) loopback.call('GET', path).catch(() => undefined)
    const servers = createOwnServers(loopback)
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
    throw new Error(end.detail || end.stderr.trim() || `it did not start: ${String(error)}`)
  } finally {
    signal.removeEventListener('abort', giveUp)
  }
}

/** It no longer sends events: it has a moment to exit with its own exit code. */
async function endOfServer(child: RunningProcess, patienceMs: number): Promise<ProcessEnd> {
  const late = setTimeout(child.kill, patienceMs)
  const end = await child.end
  clearTimeout(late)
  return end
}

/** Kills it and everything it started: MCP servers, and tools in their own process groups. */
async function close(child: RunningProcess): Promise<void> {
  child.kill()
  await child.end
}

/** Waits until it listens: a call that comes too early may never be answered. */
async function addressOf(child: RunningProcess): Promise<string> {
  const lines = child.lines[Symbol.asyncIterator]()
  for (;;) {
    const line = await lines.next()
    if (line.done) throw new Error('it did not print its address')
    const address = /listening on (http:\/\/127\.0\.0\.1:\d+)/.exec(line.value)?.[1]
    if (address === undefined) continue
    void drain(lines)
    return address
  }
}

async function drain(lines: AsyncIterator<string>): Promise<void> {
  while (!(await lines.next()).done);
}

function dispatch(
  event: Json,
  turns: ReadonlyMap<string, Mailbox>,
  loopback: Loopback,
  permission: ServerParts['permission'],
  rootOf: (session: string) => string,
): void {
  const about = object(event.properties)
  const answer = (path: string, body: Json) => loopback.call('POST', path, body).catch(() => undefined)
  // Includes helper agents of our sessions: nobody else uses this server.
  const session = string(about.sessionID) || string(object(about.part).sessionID)
  const asker = permission === 'ask' ? turns.get(rootOf(session)) : undefined
  const reply = permission === 'once' ? 'once' : 'reject'
  if (asker && isAboutAsking(event)) asker.put({ type: 'asking', event })
  else if (event.type === 'permission.asked') void answer(`/permission/${string(about.id)}/reply`, { reply })
  else if (event.type === 'question.asked') void answer(`/question/${string(about.id)}/reject`, {})
  turns.get(string(about.sessionID))?.put({ type: 'event', event })
}

interface Server extends ServerParts {
  readonly child: RunningProcess
  readonly loopback: Loopback
  readonly turns: Map<string, Mailbox>
  /** Its working directory as it reports it; empty: it does not report one. */
  readonly directory: string
  readonly patience: typeof usualPatience
  readonly servers: OwnServers
}

async function* runTurn(server: Server, turn: Turn, signal: AbortSignal): AsyncGenerator<AgentEvent> {
  const { child } = server
  const reader = readTurn(
    turn.prompt,
    turn.mcpServers.map(({ name }) => name),
  )
  child.startCounting()
  const { fields, trouble, leave } = await server.servers.enter(turn)
  try {
    const session = await sessionFor(server, turn)
    if (typeof session !== 'string') {
      yield session
      return
    }
    yield { type: 'started', session }
    if (trouble !== null) yield { type: 'trouble', why: trouble }
    if (signal.aborted) yield aborted
    else {
      const asks = openAsks(
        server.loopback,
        turn.mcpServers.map(({ name }) => name),
      )
      try {
        yield* follow(server, { ...server.promptFor(turn), ...fields }, session, reader, asks, signal)
      } finally {
        asks.close()
      }
    }
  } catch {
    // A loopback connection breaks only if the server is exiting or can no longer be trusted.
    yield endOf(await endOfServer(child, server.patience.leaveMs), { line: () => [], end: reader.end })
  } finally {
    leave()
  }
}

/** The id of the session, or why there is none. */
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
  // A session created in another folder would continue to work there.
  return directory === '' || body.directory === directory ? session.id : lost
}

async function* follow(
  server: Server,
  prompt: Json,
  session: string,
  reader: TurnReader,
  asks: TurnAsks,
  signal: AbortSignal,
): AsyncGenerator<AgentEvent> {
  const { patience } = server
  const sent = sendPrompt(server, session, prompt)
  yield { type: 'steerable', steer: words => sent.add(words, reader) }
  signal.addEventListener('abort', sent.interrupt, { once: true })
  let reply: Reply | null = null
  let gaveUp: Ended | null = null
  try {
    for (;;) {
      const mail = await sent.next()
      switch (mail.type) {
        case 'event':
          yield* orAlive(reader.read(mail.event))
          if (!reply) gaveUp ??= retriesTooLong(mail.event, sent, patience)
          break
        case 'asking':
          yield* asks.take(mail.event)
          break
        case 'waited':
          gaveUp ??= overloaded(mail.message, mail.until)
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
      if (gaveUp) sent.interrupt()
      // Events come over a separate connection, often a little later than the reply.
      if (reply && (mail.type === 'late' || sent.isInterrupted() || isWhole(reply, reader))) break
    }
    await sent.quiet()
    await sent.dropAdded()
    yield gaveUp ?? endOfReply(reply, reader)
  } finally {
    signal.removeEventListener('abort', sent.interrupt)
    sent.close()
  }
}

/** A prompt in progress: its replies, and how it is interrupted. */
function sendPrompt({ loopback, turns, patience }: Server, session: string, prompt: Json) {
  const queue = createMailbox()
  let over = false
  let breaking: Promise<void> | null = null
  let reminder: NodeJS.Timeout | undefined
  turns.set(session, queue)
  const answered = loopback
    .call('POST', `/session/${session}/message`, prompt, 0)
    .then(
      reply => queue.put({ type: 'reply', reply }),
      (error: unknown) => queue.put({ type: 'broken', error }),
    )
    .finally(() => {
      over = true
    })

  /** Repeats until the turn has ended: the first abort may arrive before the turn has started. */
  async function insist(): Promise<void> {
    while (!over) {
      await loopback.call('POST', `/session/${session}/abort`).catch(() => undefined)
      await Promise.race([answered, sleep(patience.abortMs)])
    }
  }
  const interrupt = () => {
    breaking ??= insist()
  }
  const closed = Promise.withResolvers<false>()
  let adding = 0

  /** Its loop continues as long as there is a message that it has not answered. */
  async function add(words: string, reader: TurnReader): Promise<boolean> {
    if (over || breaking) return false
    const begun = reader.expect(words)
    const more = { ...prompt, parts: [{ type: 'text', text: words }] }
    const { status } = await loopback
      .call('POST', `/session/${session}/prompt_async`, more)
      .catch(() => ({ status: 0 }))
    if (status < 200 || status >= 300) return false
    adding++
    const reached = await Promise.race([begun, closed.promise])
    adding--
    return reached
  }
  return {
    next: queue.next,
    interrupt,
    add,
    /** Words that came too late began a turn of their own, which nobody would read. */
    async dropAdded() {
      if (adding > 0) await loopback.call('POST', `/session/${session}/abort`).catch(() => undefined)
    },
    isInterrupted: () => breaking !== null,
    /** Resolves when no abort request is in flight that could hit the next turn. */
    quiet: async () => breaking,
    /** Only one reminder at a time. */
    remind(ms: number, mail: Incoming) {
      clearTimeout(reminder)
      reminder = setTimeout(() => queue.put(mail), ms)
    },
    forget: () => clearTimeout(reminder),
    close() {
      closed.resolve(false)
      clearTimeout(reminder)
      turns.delete(session)
      // Nobody reads the result, so it need not continue.
      if (!over) interrupt()
    },
  }
}

/** Its own five retries take more than a minute, or as long as the service wants. The gateway retries instead, and notifies the user. */
function retriesTooLong(
  event: Json,
  sent: ReturnType<typeof sendPrompt>,
  patience: typeof usualPatience,
): Ended | null {
  if (event.type !== 'session.status') return null
  const { type, attempt, message, next } = object(object(event.properties).status)
  if (type !== 'retry') sent.forget()
  else if (number(attempt) > patience.retries) return overloaded(string(message))
  else sent.remind(patience.retryMs, { type: 'waited', message: string(message), until: number(next) })
  return null
}

function overloaded(message: string, until = 0): Ended {
  const found = failure(message || 'the model does not answer', statusIn(message))
  if (found.ok) return found
  if (found.why !== 'rate-limited') return { ...found, why: 'overloaded' }
  return { ...found, ...(until > 0 ? { until } : {}) }
}

const aborted: Ended = { type: 'ended', ok: false, why: 'stopped', detail: 'stopped before it began' }
