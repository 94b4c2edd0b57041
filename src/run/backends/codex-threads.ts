// The threads of Codex's app-server: which are loaded, with which options, and the agents they start.
import type { Ended, Turn } from '../../base/agent.ts'
import type { Answer, Rpc } from '../rpc.ts'
import { type Json, object, string, strings } from '../stdio.ts'
import { isAsking, mcpSettings, sandboxFor, settingsFor } from './codex-settings.ts'
import { ofAnswer, type Thread } from './codex-turn.ts'

/** Each loaded thread runs its own MCP servers. */
const mostThreads = 6
/** How long a thread may take to close. */
const patienceMs = 500

interface Loaded extends Thread {
  readonly settings: string
}

export function openThreads(rpc: Rpc) {
  /** Least recently used first. */
  const loaded = new Map<string, Loaded>()
  const closing = new Map<string, () => void>()
  const lines = new Map<string, Promise<unknown>>()

  /** One request at a time per thread: an aborted turn may still have one in progress. */
  function inLine<T>(id: string, work: () => Promise<T>): Promise<T> {
    const mine = (lines.get(id) ?? Promise.resolve()).then(work)
    lines.set(id, mine)
    void mine.then(() => lines.get(id) === mine && lines.delete(id))
    return mine
  }

  /** A loaded thread keeps its options, so it must be unloaded before it is loaded with others. */
  async function unload(id: string): Promise<void> {
    loaded.delete(id)
    let patience: NodeJS.Timeout | undefined
    const closed = new Promise<void>(resolve => {
      closing.set(id, resolve)
      patience = setTimeout(resolve, patienceMs)
    })
    const answer = await rpc.request('thread/unsubscribe', { threadId: id })
    if (answer.ok) await closed
    clearTimeout(patience)
    closing.delete(id)
  }

  async function resume(id: string, settings: Json): Promise<Thread | Ended> {
    const known = loaded.get(id)
    loaded.delete(id)
    if (known?.settings === JSON.stringify(settings)) {
      loaded.set(id, known)
      return known
    }
    if (known) await unload(id)
    return take(await rpc.request('thread/resume', { threadId: id, excludeTurns: true, ...settings }), settings)
  }

  function take(answer: Answer, settings: Json): Thread | Ended {
    if (!answer.ok) return ofAnswer(answer)
    const thread = {
      id: string(object(answer.result.thread).id),
      model: string(answer.result.model) || null,
      settings: JSON.stringify(settings),
    }
    loaded.set(thread.id, thread)
    return thread
  }

  return {
    async load(turn: Turn): Promise<Thread | Ended> {
      const settings = settingsOf(turn)
      const id = turn.session?.resume ? turn.session.id : null
      if (id !== null) return inLine(id, () => resume(id, settings))
      return take(await rpc.request('thread/start', settings), settings)
    },
    closed(id: string) {
      loaded.delete(id)
      closing.get(id)?.()
    },
    trim(inUse: { has(id: string): boolean }) {
      const idle = [...loaded.keys()].filter(id => !inUse.has(id))
      for (const id of idle.slice(0, Math.max(0, loaded.size - mostThreads))) {
        loaded.delete(id)
        void inLine(id, () => unload(id))
      }
    },
  }
}

const settingsOf = (turn: Turn): Json => ({
  cwd: turn.workingDir,
  model: turn.model,
  approvalPolicy: isAsking(turn) ? 'untrusted' : 'never',
  sandbox: sandboxFor(turn),
  baseInstructions: turn.systemPrompt,
  config: { ...settingsFor(turn), ...mcpSettings(turn, 'inline', '') },
})

/** Agents started by a turn work in their own threads and would continue after its end. */
export function createAgents(rpc: Rpc, isActive: (leader: string) => boolean) {
  interface Agent {
    readonly leader: string
    /** Null: it has no turn, or none yet. */
    turn: string | null
    idle: boolean
  }
  const agents = new Map<string, Agent>()

  async function dismiss(id: string, agent: Agent): Promise<void> {
    // It has work but has not started yet: it is dismissed as soon as it starts.
    if (agent.turn === null && !agent.idle) return
    agents.delete(id)
    if (agent.turn !== null) await rpc.request('turn/interrupt', { threadId: id, turnId: agent.turn })
    await endCommands(rpc, id)
    await rpc.request('thread/unsubscribe', { threadId: id })
  }

  /** A request to an agent, or its result. */
  function order(item: Json, by: string): void {
    const orders = ['spawnAgent', 'sendInput', 'resumeAgent'].includes(string(item.tool))
    for (const id of [...strings(item.receiverThreadIds), string(item.agentThreadId)]) {
      if (id === '' || id === by) continue
      const known = agents.get(id)
      if (!known) agents.set(id, { leader: agents.get(by)?.leader ?? by, turn: null, idle: !orders })
      else if (orders) known.idle = false
    }
  }

  return {
    /** The thread of the turn that an agent works for; null: this is no agent. */
    leaderOf: (id: string): string | null => agents.get(id)?.leader ?? null,
    /** True: the notification was about an agent and needs no further handling. */
    notified(method: string, params: Json): boolean {
      const id = string(params.threadId)
      const item = object(params.item)
      if (item.type === 'collabAgentToolCall' || item.type === 'subAgentActivity') order(item, id)
      const agent = agents.get(id)
      if (!agent) return false
      if (method === 'turn/started') agent.turn = string(object(params.turn).id)
      if (method === 'turn/completed') {
        agent.turn = null
        agent.idle = true
      }
      if (method === 'turn/started' && !isActive(agent.leader)) void dismiss(id, agent)
      return true
    },
    dismissAll: (leader: string) =>
      Promise.all([...agents].map(([id, agent]) => (agent.leader === leader ? dismiss(id, agent) : undefined))),
  }
}

/** Background commands survive an interruption and the end of the turn. */
export const endCommands = (rpc: Rpc, threadId: string) => rpc.request('thread/backgroundTerminals/clean', { threadId })
