// What a run is equipped with: the user's MCP servers, and the gateway's own tools in the way that the backend can take them.
import type { McpServer } from '../base/agent.ts'
import type { LaneKey, NewEvent } from '../base/event.ts'
import type { Taken } from '../base/lanes.ts'
import { ownServer } from '../base/tools.ts'
import type { Calls } from './calls.ts'
import type { Desk } from './desk.ts'

export interface EquipParts {
  readonly desk: Desk
  readonly calls: Calls
  /** Those of the user. */
  servers(): readonly McpServer[]
  /** Whether the gateway's own tools are offered at all. */
  own(): boolean
  /** How a backend can be given them. */
  wayOf(backend: string): 'mcp' | 'files' | 'none'
  /** Node, and the file of the bridge. */
  readonly bridge: { readonly command: string; readonly args: readonly string[] }
  /** Where the gateway listens, once it does. */
  url(): string
}

export interface Equipment {
  readonly mcpServers: readonly McpServer[]
  /** For the system prompt; empty: nothing to say. */
  readonly words: string
  leave(): void
}

export function openEquipment({ desk, calls, servers, own, wayOf, bridge, url }: EquipParts) {
  const none = (): Equipment => ({ mcpServers: servers(), words: '', leave: () => undefined })
  const wayFor = (backend: string) => (own() ? wayOf(backend) : 'none')

  const ownFor = (key: string): readonly McpServer[] => [
    ...servers(),
    { name: ownServer, ...bridge, env: { AETHEEL_URL: url(), AETHEEL_KEY: key } },
  ]

  return {
    /** What the prompt says of them; one that calls by files is told with its folder. */
    told: (backend: string): 'mcp' | null => (wayFor(backend) === 'mcp' ? 'mcp' : null),
    equip(taken: Taken<NewEvent>, backend: string): Equipment {
      const way = wayFor(backend)
      if (way === 'none') return none()
      const { key, leave } = desk.enter(taken)
      if (way === 'mcp') return { mcpServers: ownFor(key), words: '', leave }
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
    /** As a turn of the owner will have it, so that what is got ready for one fits. */
    ahead(lane: LaneKey, backend: string): Pick<Equipment, 'mcpServers' | 'words'> {
      const way = wayFor(backend)
      if (way === 'none') return none()
      const key = desk.keyFor(lane, true)
      return way === 'mcp'
        ? { mcpServers: ownFor(key), words: '' }
        : { mcpServers: servers(), words: calls.wordsFor(key) }
    },
  }
}
