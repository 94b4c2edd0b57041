// The tool server, and what a turn gets to reach it. A key is valid only while a turn of its lane and principal runs.
import type { McpServer } from '../base/agent.ts'
import { type LaneKey, type NewEvent, type Principal, principalOfAll } from '../base/event.ts'
import type { Taken } from '../base/lanes.ts'
import { type Caller, type OfferedTool, ownServer, type Tool, type ToolAnswer, type ToolCalls } from '../base/tools.ts'
import { checkArguments } from './arguments.ts'
import type { Calls } from './call-files.ts'

export interface ToolServerParts {
  readonly tools: readonly Tool[]
  /** Must be unguessable. */
  newKey(): string
  /** A tool threw, which is a bug in the gateway. */
  broke(tool: string, error: unknown): void
}

export interface Visit {
  readonly key: string
  leave(): void
}

export interface ToolServer extends ToolCalls {
  /** Called when a turn starts; its key is valid until `leave`. */
  enter(taken: Pick<Taken<NewEvent>, 'id' | 'key' | 'lane' | 'item' | 'earlier'>): Visit
  /** The key that turns of this lane will have, for the owner or for somebody else. */
  keyFor(lane: LaneKey, owner: boolean): string
}

interface Holder {
  readonly owner: boolean
  /** The running turns, latest last. */
  readonly turns: Set<Turn>
}

interface Turn {
  readonly caller: Caller
  readonly over: AbortController
}

const most = { keys: 2000, bytes: 256 * 1024, words: 60_000 }

export function createToolServer({ tools, newKey, broke }: ToolServerParts): ToolServer {
  const holders = new Map<string, Holder>()
  /** Least recently used first. */
  const keys = new Map<string, string>()

  function keyFor(lane: LaneKey, owner: boolean): string {
    const name = `${owner ? 'owner' : 'guest'} ${lane}`
    const key = keys.get(name) ?? newKey()
    keys.delete(name)
    keys.set(name, key)
    if (!holders.has(key)) holders.set(key, { owner, turns: new Set() })
    forgetSome()
    return key
  }

  /** A warm process with a forgotten key is replaced in the next turn. */
  function forgetSome(): void {
    for (const [name, key] of keys) {
      if (keys.size <= most.keys) return
      if (holders.get(key)?.turns.size) continue
      keys.delete(name)
      holders.delete(key)
    }
  }

  const offered = (holder: Holder) => tools.filter(tool => holder.owner || !tool.ownerOnly)

  async function call(key: string, name: string, args: unknown, signal: AbortSignal): Promise<ToolAnswer> {
    const holder = holders.get(key)
    if (!holder)
      return no('The gateway does not know this key (any more). Tools work only in the turn they were given to.')
    const turn = [...holder.turns].at(-1)
    if (!turn) return no('The turn that these tools were given to is over, so nothing was done.')
    const tool = tools.find(one => one.name === name)
    if (!tool) return no(`There is no tool ${JSON.stringify(name.slice(0, 80))}. There are: ${names(offered(holder))}.`)
    if (tool.ownerOnly && !turn.caller.principal.owner)
      return no(`${name} is for the owner only, and this turn is for somebody else. Nothing was done.`)
    if (sizeOf(args) > most.bytes) return no(`The arguments are longer than ${most.bytes} bytes. Nothing was done.`)
    const checked = checkArguments(tool.takes, args)
    if (!checked.ok) return no(`${name} was not called: ${checked.why}`)
    try {
      const { ok, text } = await tool.call(checked.args, turn.caller, AbortSignal.any([signal, turn.over.signal]))
      return { ok, text: cut(text) }
    } catch (error) {
      if (turn.over.signal.aborted) return no('The turn ended in the meantime.')
      broke(name, error)
      return no(`${name} failed inside the gateway; its log says why. Trying again right away is unlikely to help.`)
    }
  }

  return {
    keyFor,
    enter(taken) {
      const principal = principalOfAll([...taken.earlier.map(one => one.item), taken.item])
      const key = keyFor(taken.lane, principal.owner)
      const turn: Turn = { caller: callerOf(taken, principal), over: new AbortController() }
      const turns = holders.get(key)?.turns
      turns?.add(turn)
      return {
        key,
        leave() {
          turns?.delete(turn)
          turn.over.abort()
        },
      }
    },
    list(key) {
      const holder = holders.get(key)
      return holder ? offered(holder).map(({ call: _, ownerOnly: __, ...tool }): OfferedTool => tool) : null
    },
    call,
  }
}

const callerOf = (
  { id, key, lane, item }: Pick<Taken<NewEvent>, 'id' | 'key' | 'lane' | 'item'>,
  principal: Principal,
): Caller => ({
  event: id,
  key,
  lane,
  place: item.replyTo,
  principal,
  agent: item.what.kind === 'assignment' ? item.what.agent : null,
})

const no = (text: string): ToolAnswer => ({ ok: false, text })
const names = (tools: readonly Tool[]) => tools.map(tool => tool.name).join(', ')
const sizeOf = (args: unknown) => Buffer.byteLength(JSON.stringify(args) ?? '')
const cut = (text: string) =>
  text.length <= most.words ? text : `${text.slice(0, most.words)}\n… (cut: it was ${text.length} characters long)`

// What a run is given: the user's MCP servers, and the gateway's own tools in the form that the backend supports.

export interface EquipParts {
  readonly toolServer: ToolServer
  readonly calls: Calls
  /** The user's own MCP servers. */
  servers(): readonly McpServer[]
  /** Whether the gateway's own tools are offered at all. */
  own(): boolean
  /** How a backend can access the gateway's tools. */
  accessOf(backend: string): 'mcp' | 'files' | 'none'
  /** Node, and the script of the bridge. */
  readonly bridge: { readonly command: string; readonly args: readonly string[] }
  /** The gateway's own URL; known once it listens. */
  /** The gateway's own address; known once it listens. */
  readonly address: { readonly url: string }
}

export interface Equipment {
  readonly mcpServers: readonly McpServer[]
  /** For the system prompt. Empty if there is nothing to add. */
  readonly words: string
  leave(): void
}

export function createEquipment({ toolServer, calls, servers, own, accessOf, bridge, address }: EquipParts) {
  const none = (): Equipment => ({ mcpServers: servers(), words: '', leave: () => undefined })
  const access = new Map<string, ReturnType<typeof accessOf>>()
  const accessFor = (backend: string) => {
    if (!own()) return 'none'
    const known = access.get(backend) ?? accessOf(backend)
    access.set(backend, known)
    return known
  }

  const ownFor = (key: string): readonly McpServer[] => [
    ...servers(),
    { name: ownServer, ...bridge, env: { AETHEEL_URL: address.url, AETHEEL_KEY: key } },
  ]

  return {
    /** What the prompt says about the tools. For calls through files, the instructions come with the folder. */
    promptAccess: (backend: string): 'mcp' | null => (accessFor(backend) === 'mcp' ? 'mcp' : null),
    equip(taken: Taken<NewEvent>, backend: string): Equipment {
      const access = accessFor(backend)
      if (access === 'none') return none()
      const { key, leave } = toolServer.enter(taken)
      if (access === 'mcp') return { mcpServers: ownFor(key), words: '', leave }
      const folder = calls.open(key)
      return {
        mcpServers: servers(),
        words: calls.wordsFor(key),
        leave() {
          folder.leave()
          leave()
        },
      }
    },
    /** The equipment of a future turn of the owner, so that a backend started ahead of time fits it. */
    ahead(lane: LaneKey, backend: string): Pick<Equipment, 'mcpServers' | 'words'> {
      const access = accessFor(backend)
      if (access === 'none') return none()
      const key = toolServer.keyFor(lane, true)
      return access === 'mcp'
        ? { mcpServers: ownFor(key), words: '' }
        : { mcpServers: servers(), words: calls.wordsFor(key) }
    },
  }
}
