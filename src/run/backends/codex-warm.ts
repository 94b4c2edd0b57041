// Codex in warm mode: `codex app-server`, one process that runs all sessions as parallel threads.
import type { AgentEvent, Turn } from '../../base/agent.ts'
import { stopped, unlessStopped } from '../events.ts'
import type { ProcessEnd, RunningProcess } from '../process.ts'
import { createRpc, type Rpc } from '../rpc.ts'
import { type Json, string } from '../stdio.ts'
import { type Host, type HostContext, leave } from '../warm.ts'
import { createItems, wantedBy } from './codex-asks.ts'
import { asArguments, isAsking, keyFrom } from './codex-settings.ts'
import { createAgents, endCommands, openThreads } from './codex-threads.ts'
import { createTurn, gone, ofEnd } from './codex-turn.ts'

/** How long it may take to start. */
const patienceMs = 20_000

interface Listener extends Pick<ReturnType<typeof createTurn>, 'requested' | 'resolved'> {
  notified(method: string, params: Json): void
  readonly asking: boolean
  over(how: ProcessEnd): void
}

export async function openAppServer(host: HostContext, signal: AbortSignal): Promise<Host> {
  const key = keyFrom(host.inherited)
  const child = host.start(
    [
      ...['app-server', '-c', 'thread_unload_delay_secs=0'],
      // So that the key is not stored as the user's login.
      ...(key ? asArguments({ cli_auth_credentials_store: 'ephemeral' }) : []),
    ],
    {},
  )
  const listeners = new Map<string, Listener>()
  const items = createItems()
  /** Its agents work in threads of their own; what they ask belongs to the turn that started them. */
  const turnOf = (threadId: unknown) => {
    const id = string(threadId)
    return listeners.get(agents.leaderOf(id) ?? id)
  }
  const rpc = createRpc(child, {
    versioned: false,
    notified(method, params) {
      items.notified(method, params)
      if (method === 'serverRequest/resolved') turnOf(params.threadId)?.resolved(params.requestId)
      if (agents.notified(method, params)) return
      if (method === 'thread/closed') threads.closed(string(params.threadId))
      listeners.get(string(params.threadId))?.notified(method, params)
    },
    requested(method, params, request) {
      const turn = turnOf(params.threadId)
      const wanted = turn?.asking ? wantedBy(method, params, items.get) : null
      return turn && wanted ? turn.requested(wanted, params, request) : null
    },
  })
  const threads = openThreads(rpc)
  const agents = createAgents(rpc, leader => listeners.has(leader))
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
    const thread = await unlessStopped(threads.load(turn), signal, stopped)
    if (!('id' in thread)) {
      yield thread === gone ? ofEnd(await child.end, false) : thread
      return
    }
    const { id } = thread
    const running = createTurn(thread, signal, rpc)
    listeners.set(id, { ...running, asking: isAsking(turn) })
    if (ended) running.over(ended)
    try {
      running.begin(turn.prompt)
      for await (const event of running.events()) {
        if (event.type === 'ended') {
          listeners.delete(id)
          await Promise.all([agents.dismissAll(id), endCommands(rpc, id)])
        }
        yield event
      }
    } finally {
      listeners.delete(id)
      // Even if the consumer stops reading.
      running.interrupt()
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
    // Needed to end background commands.
    capabilities: { experimentalApi: true, requestAttestation: false },
  })
  rpc.notify('initialized', {})
  if (answer.ok && key) answer = await rpc.request('account/login/start', { type: 'apiKey', apiKey: key })
  clearTimeout(patience)
  signal.removeEventListener('abort', child.kill)
  if (answer.ok) return
  child.kill()
  const { stderr, detail } = await child.end
  throw new Error(`codex app-server did not start: ${stderr.trim() || detail || answer.message}`)
}
