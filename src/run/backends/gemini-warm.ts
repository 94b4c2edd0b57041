// Gemini in warm mode: `gemini --acp`, one process that holds all sessions.
import type { AgentEvent, Turn } from '../../base/agent.ts'
import { createAsks } from '../asks.ts'
import { type Dialect, endOf } from '../cli.ts'
import { createEvents, orAlive, stopped, unlessStopped } from '../events.ts'
import { thinking, waiting, withSigns } from '../model-connections.ts'
import type { RunningProcess } from '../process.ts'
import { createRpc, type later, type RpcRequest } from '../rpc.ts'
import { type Json, object, string } from '../stdio.ts'
import type { Host, HostContext } from '../warm.ts'
import { askAbout, cancelled } from './gemini-asks.ts'
import { isAsking } from './gemini-policy.ts'
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
  /** Sessions with a turn that may ask. */
  const askers = new Map<string, (params: Json, request: RpcRequest) => typeof later>()
  const rpc = createRpc(child, {
    versioned: true,
    notified(method, params) {
      if (method === 'session/update') listeners.get(string(params.sessionId))?.(object(params.update))
    },
    requested(method, params, request) {
      if (method !== 'session/request_permission') return null
      return askers.get(string(params.sessionId))?.(params, request) ?? cancelled
    },
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
    if (found === alone && isAsking(turn)) yield cannotAsk
    if (found === alone) return yield* runAlone(acp.alone, host, turn, keepBeside, signal)
    if (typeof found !== 'string') {
      yield found === gone ? ofEnd(await child.end, false) : found
      return
    }
    // Updates name a session but no turn. Gemini answers in order, so updates before this answer belong to something else.
    await rpc.request('_aetheel/fence', {})
    const events = createEvents()
    const servers = turn.mcpServers.map(({ name }) => name)
    const reader = readTurn(found, servers)
    const asks = createAsks(events.push)
    const open = new Set<RpcRequest>()
    const ask = (params: Json, request: RpcRequest): typeof later => {
      const call = object(params.toolCall)
      reader.asked(call)
      open.add(request)
      return askAbout(params, servers, request, asks, verdict => {
        open.delete(request)
        if (verdict.allow) events.push(reader.allowed(call))
      })
    }
    if (isAsking(turn)) askers.set(found, ask)
    listeners.set(found, update => events.push(orAlive(reader.update(update))))
    const cancel = () => {
      rpc.notify('session/cancel', { sessionId: found })
      asks.close()
      // It waits for these before it ends the turn.
      for (const request of open) request.reply({ result: cancelled })
      open.clear()
    }
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
      askers.delete(found)
      sessions.leave(found)
      // Even if the consumer stops reading.
      if (!events.over() || open.size > 0) cancel()
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

const cannotAsk: AgentEvent = {
  type: 'trouble',
  why: 'it could not ask in this turn, because gemini cannot load a session in the minute in which it began',
}

async function* runAlone(
  dialect: Dialect,
  { dir, inherited, start }: HostContext,
  given: Turn,
  started: (turn: Turn, child: RunningProcess) => void,
  signal: AbortSignal,
): AsyncGenerator<AgentEvent> {
  const turn = { ...given, askTools: [] }
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
