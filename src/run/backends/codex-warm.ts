// Codex that stays up: `codex app-server`, one process in which all sessions are threads side by side.
import type { AgentEvent, Turn } from '../../base/agent.ts'
import { whenStopped } from '../ends.ts'
import { type Json, string } from '../json.ts'
import type { ProcessEnd, RunningProcess } from '../process.ts'
import { openRpc, type Rpc } from '../rpc.ts'
import { type Ground, type Host, leave } from '../warm.ts'
import { asArguments, keyFrom } from './codex-settings.ts'
import { endCommands, openAgents, openThreads } from './codex-threads.ts'
import { gone, ofEnd, openSpoken } from './codex-turn.ts'

/** How long it may take to come up. */
const patienceMs = 20_000

interface Listener {
  hear(method: string, params: Json): void
  over(how: ProcessEnd): void
}

export async function openAppServer(ground: Ground, signal: AbortSignal): Promise<Host> {
  const key = keyFrom(ground.inherited)
  const child = ground.start(
    [
      ...['app-server', '-c', 'thread_unload_delay_secs=0'],
      // So that the key is not kept as the person's login.
      ...(key ? asArguments({ cli_auth_credentials_store: 'ephemeral' }) : []),
    ],
    {},
  )
  const listeners = new Map<string, Listener>()
  const rpc = openRpc(child, {
    versioned: false,
    notified(method, params) {
      if (agents.hear(method, params)) return
      if (method === 'thread/closed') threads.closed(string(params.threadId))
      listeners.get(string(params.threadId))?.hear(method, params)
    },
    // Nobody is there to be asked.
    asked: () => null,
  })
  const threads = openThreads(rpc)
  const agents = openAgents(rpc, leader => listeners.has(leader))
  await greet(child, rpc, key, signal)

  let ended: ProcessEnd | null = null
  void rpc.over
    .then(() => child.end)
    .then(how => {
      ended = how
      for (const listener of listeners.values()) listener.over(how)
    })

  async function* run(turn: Turn, signal: AbortSignal): AsyncGenerator<AgentEvent> {
    child.startCounting()
    const thread = await Promise.race([threads.load(turn), whenStopped(signal)])
    if (!('id' in thread)) {
      yield thread === gone ? ofEnd(await child.end, false) : thread
      return
    }
    const { id } = thread
    const spoken = openSpoken(thread, signal, rpc)
    listeners.set(id, spoken)
    if (ended) spoken.over(ended)
    try {
      spoken.begin(turn.prompt)
      for await (const event of spoken.events()) {
        if (event.type === 'ended') {
          listeners.delete(id)
          await Promise.all([agents.dismissAll(id), endCommands(rpc, id)])
        }
        yield event
      }
    } finally {
      listeners.delete(id)
      // Also when the consumer walks away.
      spoken.interrupt()
      threads.trim(listeners)
    }
  }

  return { pid: child.pid, run, close: () => leave(child), kill: child.kill, gone: child.end }
}

async function greet(child: RunningProcess, rpc: Rpc, key: string | null, signal: AbortSignal): Promise<void> {
  const patience = setTimeout(child.kill, patienceMs)
  signal.addEventListener('abort', child.kill, { once: true })
  if (signal.aborted) child.kill()
  let answer = await rpc.request('initialize', {
    clientInfo: { name: 'aetheel', title: 'Aetheel', version: '1' },
    // Commands in the background can be ended only so.
    capabilities: { experimentalApi: true, requestAttestation: false },
  })
  rpc.notify('initialized', {})
  if (answer.ok && key) answer = await rpc.request('account/login/start', { type: 'apiKey', apiKey: key })
  clearTimeout(patience)
  signal.removeEventListener('abort', child.kill)
  if (answer.ok) return
  child.kill()
  const { stderr, detail } = await child.end
  throw new Error(`codex app-server did not come up: ${stderr.trim() || detail || answer.message}`)
}
