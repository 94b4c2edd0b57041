// The sessions of gemini in warm mode: before a turn, its session is created, loaded or given the new system prompt.

import { existsSync } from 'node:fs'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Ended, Turn } from '../../base/agent.ts'
import { createSerial } from '../../base/serial.ts'
import { endListed } from '../end-processes.ts'
import { failed } from '../events.ts'
import type { Answer, Rpc } from '../rpc.ts'
import { type Json, string } from '../stdio.ts'
import type { HostContext } from '../warm.ts'
import { acpServer } from './gemini-mcp.ts'
import { isAsking } from './gemini-policy.ts'
import { ofRefusal } from './gemini-turn.ts'

export interface Prompts {
  /** The file from which gemini reads the system prompt each time it creates or loads a session. */
  readonly systemFile: string
  systemPromptOf(turn: Turn): string
}

/** Receives the updates of one session. */
export type Listener = (update: Json) => void

/** `gone`: the process exited without an answer. `alone`: this turn needs its own process. */
export const gone = Symbol('gone')
export const alone = Symbol('alone')
type Found = string | Ended | typeof gone | typeof alone

const modes = { bypassPermissions: 'yolo', acceptEdits: 'autoEdit', plan: 'plan', default: 'default' } as const
const mostReloads = 8
/** In the environment of the MCP servers that are started for a session. */
const serversTag = 'AETHEEL_SERVERS'
/** How long they may take to exit after SIGTERM. */
const leaveMs = 1000
/** How long a loaded session may take to replay its history. */
const replayMs = 3000

export function openSessions(
  { systemFile, systemPromptOf }: Prompts,
  host: HostContext,
  rpc: Rpc,
  listeners: Map<string, Listener>,
) {
  /** The system prompt of each session; null: unknown. */
  const prompts = new Map<string, string | null>()
  /** The MCP servers with which each session was created or loaded. */
  const equipped = new Map<string, string>()
  /** The tags of the MCP servers started for each session, and when it was last used; Infinity: it is in use. */
  const held = new Map<string, { readonly tags: readonly string[]; usedAt: number }>()
  let tags = 0
  let reloads = 0
  /** Sessions that a separate process still holds. */
  const leaving = new Map<string, Promise<unknown>>()
  let written = ''
  const inOrder = createSerial()

  /** All sessions share one file, and creating a session makes others read it again too. */
  async function write(systemPrompt: string): Promise<void> {
    if (systemPrompt === written) return
    for (const id of prompts.keys()) prompts.set(id, null)
    await writeFile(systemFile, systemPrompt, { mode: 0o600 })
    written = systemPrompt
  }

  async function load(sessionId: string, params: Json): Promise<Answer> {
    // It replays the whole history, and then sends this update.
    const replayed = new Promise<void>(resolve => {
      listeners.set(sessionId, update => update.sessionUpdate === 'available_commands_update' && resolve())
    })
    const answer = await rpc.request('session/load', { ...params, sessionId })
    if (answer.ok) await atMost(replayMs, Promise.race([replayed, rpc.over]))
    listeners.delete(sessionId)
    return answer
  }

  /** A session reads its system prompt again when its mode changes. */
  async function updateSystemPrompt(sessionId: string, turn: Turn): Promise<Answer> {
    const mode = modes[isAsking(turn) ? 'default' : turn.permissionMode]
    await rpc.request('session/set_mode', { sessionId, modeId: mode === 'default' ? 'autoEdit' : 'default' })
    return rpc.request('session/set_mode', { sessionId, modeId: mode })
  }

  async function find(turn: Turn): Promise<Found> {
    const systemPrompt = systemPromptOf(turn)
    await write(systemPrompt)
    const wanted = turn.session?.resume ? turn.session.id : null
    await leaving.get(wanted ?? '')
    const servers = JSON.stringify(turn.mcpServers)
    const young = wanted !== null && equipped.get(wanted) !== servers && (await isYoung(wanted, host))
    // A session that may not be loaded again yet keeps its servers. The model sees the error if a call to them fails.
    const reequip = wanted !== null && equipped.has(wanted) && equipped.get(wanted) !== servers && !young
    const known = wanted === null ? undefined : held.get(wanted)
    if (known) known.usedAt = Number.POSITIVE_INFINITY
    if (wanted !== null && !reequip && prompts.get(wanted) === systemPrompt) return wanted
    const tag = { [serversTag]: join(host.dir, `servers-${++tags}`) }
    const params = { cwd: turn.workingDir, mcpServers: turn.mcpServers.map(server => acpServer(server, tag)) }
    let answer: Answer
    if (wanted === null) answer = await rpc.request('session/new', params)
    else if (prompts.has(wanted) && !reequip) answer = await updateSystemPrompt(wanted, turn)
    else if (young) return alone
    else answer = await load(wanted, params)
    if (reequip) reloads++
    if (!answer.ok) return answer.code === null ? gone : ofRefusal(answer)
    const id = wanted ?? string(answer.result.sessionId)
    prompts.set(id, systemPrompt)
    equipped.set(id, servers)
    const started = `${serversTag}=${tag[serversTag]}`
    held.set(id, { tags: [...(known?.tags ?? []), started], usedAt: Number.POSITIVE_INFINITY })
    return id
  }

  /** ACP has no request to close a session. Without its servers it costs next to nothing, and it can be loaded again. */
  function shed(idleMs: number): number {
    const before = performance.now() - idleMs
    const idle = [...held].filter(([, { usedAt }]) => usedAt <= before)
    for (const [id] of idle) {
      prompts.delete(id)
      equipped.delete(id)
      held.delete(id)
    }
    void endListed(
      idle.flatMap(([, { tags }]) => tags.map(tag => ({ root: null, tag }))),
      leaveMs,
    )
    return idle.length
  }

  const leave = (found: Found) => {
    const known = typeof found === 'string' ? held.get(found) : undefined
    if (known) known.usedAt = performance.now()
  }

  return {
    has: (id: string) => held.has(id),
    shed,
    /** The turn for which the session was found is over. */
    leave,
    /** Loading a session again leaves its former MCP servers running. With too many of these, the process should be replaced. */
    isCluttered: () => reloads >= mostReloads,
    /** A separate process holds the session until then. */
    heldUntil(session: string, gone: Promise<unknown>): void {
      const over: Promise<unknown> = gone.then(() => {
        if (leaving.get(session) === over) leaving.delete(session)
      })
      leaving.set(session, over)
    },
    /** The session of this turn, with its system prompt. One at a time, because all share the file. */
    ready: (turn: Turn): Promise<Found> =>
      inOrder(async () => {
        const result = await find(turn)
        // A turn that got no session no longer uses the one that it wanted.
        if (typeof result !== 'string') leave(turn.session?.id ?? '')
        return result
      }).catch((error: unknown) => failed('crashed', String(error))),
  }
}

/**
 * Loading a session creates a file named after the current minute, and so overwrites the file of a session created in this minute.
 * Uses the same time as gemini.
 */
async function isYoung(id: string, { inherited }: HostContext): Promise<boolean> {
  const minute = new Date().toISOString().slice(0, 16).replace(':', '-')
  const projects = join(inherited.GEMINI_CLI_HOME || inherited.HOME || '', '.gemini', 'tmp')
  const names = await readdir(projects).catch(() => [])
  return names.some(name => existsSync(join(projects, name, 'chats', `session-${minute}-${id.slice(0, 8)}.jsonl`)))
}

function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  return new Promise(resolve => {
    const patience = setTimeout(resolve, ms)
    void work.then(() => {
      clearTimeout(patience)
      resolve()
    })
  })
}
