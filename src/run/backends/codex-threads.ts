// The threads of Codex's app-server: which are loaded, with which wishes, and the agents that they send out.
import type { Ended, Turn } from '../../base/agent.ts'
import { type Json, object, string, strings } from '../json.ts'
import type { Answer, Rpc } from '../rpc.ts'
import { mcpSettings, sandboxFor, settingsFor } from './codex-settings.ts'
import { ofAnswer, type Thread } from './codex-turn.ts'

/** Each that is loaded has the MCP servers of its own running. */
const mostThreads = 6
/** How long one may take to close. */
const patienceMs = 500

interface Loaded extends Thread {
  readonly wishes: string
}

export function openThreads(rpc: Rpc) {
  /** The least recently used first. */
  const loaded = new Map<string, Loaded>()
  const closing = new Map<string, () => void>()
  const lines = new Map<string, Promise<unknown>>()

  /** One thing at a time for each thread: an aborted turn may have left something on the way. */
  function inLine<T>(id: string, work: () => Promise<T>): Promise<T> {
    const mine = (lines.get(id) ?? Promise.resolve()).then(work)
    lines.set(id, mine)
    void mine.then(() => lines.get(id) === mine && lines.delete(id))
    return mine
  }

  /** A loaded one keeps the wishes it was loaded with, so it has to be gone before it is loaded with others. */
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

  async function resume(id: string, wishes: Json): Promise<Thread | Ended> {
    const known = loaded.get(id)
    loaded.delete(id)
    if (known?.wishes === JSON.stringify(wishes)) {
      loaded.set(id, known)
      return known
    }
    if (known) await unload(id)
    return take(await rpc.request('thread/resume', { threadId: id, excludeTurns: true, ...wishes }), wishes)
  }

  function take(answer: Answer, wishes: Json): Thread | Ended {
    if (!answer.ok) return ofAnswer(answer)
    const thread = {
      id: string(object(answer.result.thread).id),
      model: string(answer.result.model) || null,
      wishes: JSON.stringify(wishes),
    }
    loaded.set(thread.id, thread)
    return thread
  }

  return {
    async load(turn: Turn): Promise<Thread | Ended> {
      const wishes = wishesOf(turn)
      const id = turn.session?.resume ? turn.session.id : null
      if (id !== null) return inLine(id, () => resume(id, wishes))
      return take(await rpc.request('thread/start', wishes), wishes)
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

const wishesOf = (turn: Turn): Json => ({
  cwd: turn.workingDir,
  model: turn.model,
  approvalPolicy: 'never',
  sandbox: sandboxFor(turn),
  baseInstructions: turn.systemPrompt,
  config: { ...settingsFor(turn), ...mcpSettings(turn, 'told', '') },
})

/** Agents that a turn has sent out work in threads of their own, and would go on behind its end. */
export function openAgents(rpc: Rpc, isActive: (leader: string) => boolean) {
  interface Agent {
    readonly leader: string
    /** Null: it does nothing, or nothing yet. */
    turn: string | null
    rests: boolean
  }
  const agents = new Map<string, Agent>()

  async function dismiss(id: string, agent: Agent): Promise<void> {
    // It has something to do, but did not begin yet: then it is dismissed as soon as it does.
    if (agent.turn === null && !agent.rests) return
    agents.delete(id)
    if (agent.turn !== null) await rpc.request('turn/interrupt', { threadId: id, turnId: agent.turn })
    await endCommands(rpc, id)
    await rpc.request('thread/unsubscribe', { threadId: id })
  }

  /** An order to an agent, or what became of one. */
  function order(item: Json, by: string): void {
    const orders = ['spawnAgent', 'sendInput', 'resumeAgent'].includes(string(item.tool))
    for (const id of [...strings(item.receiverThreadIds), string(item.agentThreadId)]) {
      if (id === '' || id === by) continue
      const known = agents.get(id)
      if (!known) agents.set(id, { leader: agents.get(by)?.leader ?? by, turn: null, rests: !orders })
      else if (orders) known.rests = false
    }
  }

  return {
    /** True: it was about an agent, and is nobody else's business. */
    hear(method: string, params: Json): boolean {
      const id = string(params.threadId)
      const item = object(params.item)
      if (item.type === 'collabAgentToolCall' || item.type === 'subAgentActivity') order(item, id)
      const agent = agents.get(id)
      if (!agent) return false
      if (method === 'turn/started') agent.turn = string(object(params.turn).id)
      if (method === 'turn/completed') {
        agent.turn = null
        agent.rests = true
      }
      if (method === 'turn/started' && !isActive(agent.leader)) void dismiss(id, agent)
      return true
    },
    dismissAll: (leader: string) =>
      Promise.all([...agents].map(([id, agent]) => (agent.leader === leader ? dismiss(id, agent) : undefined))),
  }
}

/** What runs in the background outlives an interruption, and the turn. */
export const endCommands = (rpc: Rpc, threadId: string) => rpc.request('thread/backgroundTerminals/clean', { threadId })
