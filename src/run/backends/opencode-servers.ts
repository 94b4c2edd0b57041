// The gateway's own tools in an OpenCode that stays up: its MCP servers are everybody's there, so each key gets one, and each turn sees its own alone.
import { createHash } from 'node:crypto'
import type { McpServer, Turn } from '../../base/agent.ts'
import { ownServer } from '../../base/tools.ts'
import type { Json } from '../json.ts'
import type { Loopback } from './opencode-http.ts'

/** What agents are denied, unless a turn allows what is its own. */
export const ownTools = `${ownServer}-*`

/** How many stay connected that nobody uses. */
const mostIdle = 4

/** What the server is started with; `own` comes with the turns. */
export const withoutOwn = <T extends Pick<Turn, 'mcpServers'>>(turn: T): T => ({
  ...turn,
  mcpServers: turn.mcpServers.filter(one => !isOwn(one)),
})

const isOwn = ({ name }: McpServer) => name === ownServer

export interface OwnServers {
  /** What a message of this turn says of its tools; `leave` when it is over. */
  enter(turn: Turn): Promise<{ readonly fields: Json; leave(): void }>
}

export function openOwnServers(loopback: Loopback): OwnServers {
  /** How many turns use each; the least recently used first. */
  const connected = new Map<string, number>()

  async function connect(name: string, server: McpServer): Promise<void> {
    if (!('command' in server)) return
    const config = { type: 'local', command: [server.command, ...server.args], environment: server.env }
    await loopback.call('POST', '/mcp', { name, config })
  }

  function leave(name: string): void {
    connected.set(name, (connected.get(name) ?? 1) - 1)
    const idle = [...connected].filter(([, uses]) => uses === 0).map(([one]) => one)
    for (const one of idle.slice(0, Math.max(0, idle.length - mostIdle))) {
      connected.delete(one)
      loopback.call('POST', `/mcp/${one}/disconnect`).catch(() => undefined)
    }
  }

  return {
    async enter(turn) {
      const own = turn.mcpServers.find(isOwn)
      if (!own) return { fields: {}, leave: () => undefined }
      const name = `${ownServer}-${createHash('sha256').update(JSON.stringify(own)).digest('hex').slice(0, 8)}`
      const uses = connected.get(name)
      connected.delete(name)
      connected.set(name, (uses ?? 0) + 1)
      // Without it the turn goes on all the same.
      if (uses === undefined) await connect(name, own).catch(() => connected.delete(name))
      return { fields: { tools: { [`${name}_*`]: true } }, leave: () => leave(name) }
    },
  }
}
