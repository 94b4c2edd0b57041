// What a run is given: the user's MCP servers, and the gateway's own tools in the form that the backend supports.
import type { McpServer } from '../base/agent.ts'
import type { LaneKey, NewEvent } from '../base/event.ts'
import type { Taken } from '../base/lanes.ts'
import { ownServer } from '../base/tools.ts'
import type { Calls } from './call-files.ts'
import type { ToolServer } from './tool-server.ts'

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
  url(): string
}

export interface Equipment {
  readonly mcpServers: readonly McpServer[]
  /** For the system prompt. Empty if there is nothing to add. */
  readonly words: string
  leave(): void
}

export function createEquipment({ toolServer, calls, servers, own, accessOf, bridge, url }: EquipParts) {
  const none = (): Equipment => ({ mcpServers: servers(), words: '', leave: () => undefined })
  const accessFor = (backend: string) => (own() ? accessOf(backend) : 'none')

  const ownFor = (key: string): readonly McpServer[] => [
    ...servers(),
    { name: ownServer, ...bridge, env: { AETHEEL_URL: url(), AETHEEL_KEY: key } },
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
