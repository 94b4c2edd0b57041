// The gateway's tools for OpenCode in warm mode. All sessions share its MCP servers, so each key gets its own server, and each turn sees only its own.

import { createHash } from 'node:crypto'
import type { McpServer, Turn } from '../../base/agent.ts'
import { ownServer } from '../../base/tools.ts'
import { errorText } from '../../base/unknown.ts'
import { type Json, object, string } from '../stdio.ts'
import type { Loopback } from './opencode-http.ts'

/** Denied for all agents; each turn allows its own. */
export const ownTools = `${ownServer}-*`

/** How many unused servers stay connected. */
const mostIdle = 4

/** The MCP servers that opencode is started with. The gateway's own come with the turns. */
export const withoutOwn = <T extends Pick<Turn, 'mcpServers'>>(turn: T): T => ({
  ...turn,
  mcpServers: turn.mcpServers.filter(one => !isOwn(one)),
})

const isOwn = ({ name }: McpServer) => name === ownServer

export interface OwnServers {
  /** The fields about tools for the message of this turn. Call `leave` when the turn is over. */
  enter(turn: Turn): Promise<{
    readonly fields: Json
    /** Why this turn has no gateway tools; null: it has them. */
    readonly trouble: string | null
    leave(): void
  }>
}

export function createOwnServers(loopback: Loopback): OwnServers {
  /** How many turns use each server; least recently used first. */
  const connected = new Map<string, number>()

  /** Null: it is connected. */
  async function connect(name: string, server: McpServer): Promise<string | null> {
    if (!('command' in server)) return 'the server is not a program'
    const config = { type: 'local', command: [server.command, ...server.args], environment: server.env }
    try {
      const { status, body } = await loopback.call('POST', '/mcp', { name, config })
      const state = string(object(body[name]).status)
      return status !== 200 ? `status ${status}` : state === '' || state === 'connected' ? null : state
    } catch (error) {
      return errorText(error)
    }
  }

  function leave(name: string): void {
    const uses = connected.get(name)
    if (uses === undefined) return
    connected.set(name, uses - 1)
    const idle = [...connected].filter(([, uses]) => uses === 0).map(([one]) => one)
    for (const one of idle.slice(0, Math.max(0, idle.length - mostIdle))) {
      connected.delete(one)
      loopback.call('POST', `/mcp/${one}/disconnect`).catch(() => undefined)
    }
  }

  return {
    async enter(turn) {
      const own = turn.mcpServers.find(isOwn)
      if (!own) return { fields: {}, trouble: null, leave: () => undefined }
      const name = `${ownServer}-${createHash('sha256').update(JSON.stringify(own)).digest('hex').slice(0, 8)}`
      const fields = { tools: { [`${name}_*`]: true } }
      const uses = connected.get(name)
      const why = uses === undefined ? await connect(name, own) : null
      // The turn continues without it, and the next one tries again.
      if (why !== null)
        return { fields, trouble: `the gateway's tools could not be connected: ${why}`, leave: () => undefined }
      const now = connected.get(name) ?? 0
      connected.delete(name)
      connected.set(name, now + 1)
      return { fields, trouble: null, leave: () => leave(name) }
    },
  }
}
