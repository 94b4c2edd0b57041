// The sessions of a gemini that stays up: each is begun, loaded or told its new system prompt before its turn.
import { existsSync } from 'node:fs'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Ended, Turn } from '../../base/agent.ts'
import { type Json, string } from '../json.ts'
import type { Answer, Rpc } from '../rpc.ts'
import type { Ground } from '../warm.ts'
import { acpServer } from './gemini-mcp.ts'
import { ofRefusal } from './gemini-turn.ts'

export interface Prompts {
  /** Where it reads the system prompt, each time it begins or loads a session. */
  readonly systemFile: string
  systemPromptOf(turn: Turn): string
}

/** Listens to the updates of one session. */
export type Hear = (update: Json) => void

/** Gone without an answer, or: this turn must have a process of its own. */
export const gone = Symbol('gone')
export const alone = Symbol('alone')
type Found = string | Ended | typeof gone | typeof alone

const modes = { bypassPermissions: 'yolo', acceptEdits: 'autoEdit', plan: 'plan', default: 'default' } as const
const mostReloads = 8
/** Within this time a loaded session has told its history again. */
const replayMs = 3000

export function openSessions(
  { systemFile, systemPromptOf }: Prompts,
  ground: Ground,
  rpc: Rpc,
  listeners: Map<string, Hear>,
) {
  /** Which system prompt each of them has; null: not known. */
  const told = new Map<string, string | null>()
  /** Which MCP servers each of them was begun with. */
  const equipped = new Map<string, string>()
  let reloads = 0
  /** Sessions that a process of their own still holds. */
  const leaving = new Map<string, Promise<unknown>>()
  let written = ''
  let last: Promise<unknown> = Promise.resolve()

  /** There is one file for all of them, and one that begins makes others read it again as well. */
  async function write(systemPrompt: string): Promise<void> {
    if (systemPrompt === written) return
    for (const id of told.keys()) told.set(id, null)
    await writeFile(systemFile, systemPrompt, { mode: 0o600 })
    written = systemPrompt
  }

  async function load(sessionId: string, params: Json): Promise<Answer> {
    // It tells the whole history once more, and then this.
    const replayed = new Promise<void>(resolve => {
      listeners.set(sessionId, update => update.sessionUpdate === 'available_commands_update' && resolve())
    })
    const answer = await rpc.request('session/load', { ...params, sessionId })
    if (answer.ok) await atMost(replayMs, Promise.race([replayed, rpc.over]))
    listeners.delete(sessionId)
    return answer
  }

  /** A session reads its system prompt again when its mode changes. */
  async function tellAnew(sessionId: string, { permissionMode }: Turn): Promise<Answer> {
    const mode = modes[permissionMode]
    await rpc.request('session/set_mode', { sessionId, modeId: mode === 'default' ? 'autoEdit' : 'default' })
    return rpc.request('session/set_mode', { sessionId, modeId: mode })
  }

  async function find(turn: Turn): Promise<Found> {
    const systemPrompt = systemPromptOf(turn)
    await write(systemPrompt)
    const wanted = turn.session?.resume ? turn.session.id : null
    await leaving.get(wanted ?? '')
    const servers = JSON.stringify(turn.mcpServers)
    const young = wanted !== null && equipped.get(wanted) !== servers && (await isYoung(wanted, ground))
    // One that may not be loaded again yet keeps those it has: what they are asked for in vain is told to the model.
    const reequip = wanted !== null && equipped.has(wanted) && equipped.get(wanted) !== servers && !young
    if (wanted !== null && !reequip && told.get(wanted) === systemPrompt) return wanted
    const params = { cwd: turn.workingDir, mcpServers: turn.mcpServers.map(acpServer) }
    let answer: Answer
    if (wanted === null) answer = await rpc.request('session/new', params)
    else if (told.has(wanted) && !reequip) answer = await tellAnew(wanted, turn)
    else if (young) return alone
    else answer = await load(wanted, params)
    if (reequip) reloads++
    if (!answer.ok) return answer.code === null ? gone : ofRefusal(answer)
    const id = wanted ?? string(answer.result.sessionId)
    told.set(id, systemPrompt)
    equipped.set(id, servers)
    return id
  }

  return {
    /** A session that is loaded anew leaves its former MCP servers running: too many of these, and it should be replaced. */
    isCluttered: () => reloads >= mostReloads,
    /** Until then a process of its own holds the session. */
    heldUntil(session: string, gone: Promise<unknown>): void {
      const over: Promise<unknown> = gone.then(() => {
        if (leaving.get(session) === over) leaving.delete(session)
      })
      leaving.set(session, over)
    },
    /** The session of this turn, with the system prompt of this turn. One after the other: they share the file. */
    ready(turn: Turn): Promise<Found> {
      const found = last
        .then(() => find(turn))
        .catch((error: unknown): Ended => ({ type: 'ended', ok: false, why: 'crashed', detail: String(error) }))
      last = found
      return found
    },
  }
}

/**
 * Loading a session begins a file of the name that a session of this minute has, and so wipes out one that is no older. The time is
 * the one that gemini itself will look at.
 */
async function isYoung(id: string, { inherited }: Ground): Promise<boolean> {
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
