// Gemini in warm mode: `gemini --acp`, one process that holds all sessions.
import type { AgentEvent, Turn } from '../../base/agent.ts'
import { type Dialect, endOf } from '../cli.ts'
import { createEvents, orAlive, stopped, unlessStopped } from '../events.ts'
import { thinking, waiting, withSigns } from '../model-connections.ts'
import type { RunningProcess } from '../process.ts'
import { createRpc } from '../rpc.ts'
import { object, string } from '../stdio.ts'
import type { Host, HostContext } from '../warm.ts'
import { alone, gone, type Listener, openSessions, type Prompts } from './gemini-sessions.ts'
import { ofEnd, readTurn } from './gemini-turn.ts'

export interface Acp extends Prompts {
  readonly arguments: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  /** For a turn that needs its own process. */
  readonly alone: Dialect
}

export async function openAcp(acp: Acp, host: HostContext): Promise<Host> {
  const child = host.start(acp.arguments, acp.environment)
  const listeners = new Map<string, Listener>()
  const rpc = createRpc(child, {
    versioned: true,
    notified(method, params) {
      if (method === 'session/update') listeners.get(string(params.sessionId))?.(object(params.update))
    },
    // There is nobody to ask.
    requested: method => (method === 'session/request_permission' ? { outcome: { outcome: 'cancelled' } } : null),
  })
  const greeting = await rpc.request('initialize', { protocolVersion: 1, clientCapabilities: {} })
  if (!greeting.ok) {
    child.kill()
    throw new Error(`gemini --acp did not start: ${(await child.end).stderr.trim() || greeting.message}`)
  }
  const sessions = openSessions(acp, host, rpc, listeners)
  /** Processes for one turn each. */
  const beside = new Set<RunningProcess>()

  function keepBeside(turn: Turn, child: RunningProcess): void {
    beside.add(child)
    // Two processes with the same session lose history, so the next turn waits until this one has exited.
    sessions.heldUntil(
      turn.session?.id ?? '',
      child.end.then(() => beside.delete(child)),
    )
  }

  async function* run(turn: Turn, signal: AbortSignal): AsyncGenerator<AgentEvent> {
    child.startCounting()
    const preparing = sessions.ready(turn)
    const found = await unlessStopped(preparing, signal, stopped)
    if (found === stopped) void preparing.then(sessions.leave)
    if (found === alone) return yield* runAlone(acp.alone, host, turn, keepBeside, signal)
    if (typeof found !== 'string') {
      yield found === gone ? ofEnd(await child.end, false) : found
      return
    }
    // Updates name a session but no turn. Gemini answers in order, so updates before this answer belong to something else.
    await rpc.request('_aetheel/fence', {})
    const events = createEvents()
    const reader = readTurn(found)
    listeners.set(found, update => events.push(orAlive(reader.update(update))))
    const cancel = () => rpc.notify('session/cancel', { sessionId: found })
    signal.addEventListener('abort', cancel, { once: true })
    const prompt = [{ type: 'text', text: acp.alone.input(turn) }]
    void rpc.request('session/prompt', { sessionId: found, prompt }).then(async answer => {
      events.push(answer.ok || answer.code !== null ? reader.answer(answer) : [ofEnd(await child.end, reader.begun())])
    })
    if (signal.aborted) cancel()
    try {
      yield* events.all()
    } finally {
      signal.removeEventListener('abort', cancel)
      listeners.delete(found)
      sessions.leave(found)
      // Even if the consumer stops reading.
      if (!events.over()) cancel()
      if (sessions.isCluttered() && listeners.size === 0) child.kill()
    }
  }

  // During a turn it does not exit by itself, and processes started by its tools would be left.
  const close = async () => {
    const all = [child, ...beside]
    for (const one of all) one.kill()
    await Promise.all(all.map(one => one.end))
  }
  return { pid: child.pid, run, close, sessions, kill: child.kill, gone: child.end }
}

async function* runAlone(
  dialect: Dialect,
  { dir, inherited, start }: HostContext,
  turn: Turn,
  started: (turn: Turn, child: RunningProcess) => void,
  signal: AbortSignal,
): AsyncGenerator<AgentEvent> {
  const child = start(dialect.arguments(turn, dir), dialect.environment(turn, dir, inherited))
  started(turn, child)
  const reader = dialect.read(turn)
  child.send(dialect.input(turn))
  child.endInput()
  signal.addEventListener('abort', child.kill, { once: true })
  if (signal.aborted) child.kill()
  try {
    for await (const line of withSigns(child))
      for (const event of line === waiting ? [thinking] : orAlive(reader.line(line))) {
        yield event
        if (event.type === 'ended') return
      }
    yield endOf(await child.end, reader)
  } finally {
    signal.removeEventListener('abort', child.kill)
    const patience = setTimeout(child.kill, 5000)
    void child.end.then(() => clearTimeout(patience))
  }
}
