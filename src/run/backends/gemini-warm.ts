// Gemini that stays up: `gemini --acp`, one process in which all sessions stand side by side.
import type { AgentEvent, Turn } from '../../base/agent.ts'
import { type Dialect, endOf } from '../cli.ts'
import { whenStopped } from '../ends.ts'
import { openEvents } from '../events.ts'
import { object, string } from '../json.ts'
import { openRpc } from '../rpc.ts'
import type { Ground, Host } from '../warm.ts'
import { alone, gone, type Hear, openSessions, type Prompts } from './gemini-sessions.ts'
import { ofEnd, readTurn } from './gemini-turn.ts'

export interface Acp extends Prompts {
  readonly arguments: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  /** For a turn that must have a process of its own. */
  readonly alone: Dialect
}

export async function openAcp(acp: Acp, ground: Ground): Promise<Host> {
  const child = ground.start(acp.arguments, acp.environment)
  const listeners = new Map<string, Hear>()
  const rpc = openRpc(child, {
    versioned: true,
    notified(method, params) {
      if (method === 'session/update') listeners.get(string(params.sessionId))?.(object(params.update))
    },
    // Nobody is there to be asked.
    asked: method => (method === 'session/request_permission' ? { outcome: { outcome: 'cancelled' } } : null),
  })
  const greeting = await rpc.request('initialize', { protocolVersion: 1, clientCapabilities: {} })
  if (!greeting.ok) {
    child.kill()
    throw new Error(`gemini --acp did not come up: ${(await child.end).stderr.trim() || greeting.message}`)
  }
  const sessions = openSessions(acp, ground, rpc, listeners)

  async function* run(turn: Turn, signal: AbortSignal): AsyncGenerator<AgentEvent> {
    child.startCounting()
    const found = await Promise.race([sessions.ready(turn), whenStopped(signal)])
    if (found === alone) return yield* runAlone(acp.alone, ground, turn, sessions.heldUntil, signal)
    if (typeof found !== 'string') {
      yield found === gone ? ofEnd(await child.end, false) : found
      return
    }
    const events = openEvents()
    const reader = readTurn(found)
    listeners.set(found, update => events.push(reader.update(update)))
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
      // Also when the consumer walks away.
      if (!events.over()) cancel()
      if (sessions.isCluttered() && listeners.size === 0) child.kill()
    }
  }

  // In the middle of a turn it does not leave by itself, and what a tool of it has started would stay.
  const close = async () => {
    child.kill()
    await child.end
  }
  return { pid: child.pid, run, close, kill: child.kill, gone: child.end }
}

async function* runAlone(
  dialect: Dialect,
  { dir, inherited, start }: Ground,
  turn: Turn,
  heldUntil: (session: string, gone: Promise<unknown>) => void,
  signal: AbortSignal,
): AsyncGenerator<AgentEvent> {
  const child = start(dialect.arguments(turn, dir), dialect.environment(turn, dir, inherited))
  // Two processes of one session lose history: the next turn waits for this one to leave.
  heldUntil(turn.session?.id ?? '', child.end)
  const reader = dialect.read(turn)
  child.send(dialect.input(turn))
  child.endInput()
  signal.addEventListener('abort', child.kill, { once: true })
  if (signal.aborted) child.kill()
  try {
    for await (const line of child.lines)
      for (const event of reader.line(line)) {
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
