// The gateway's own tools, and how agents get access to them.
import { randomBytes } from 'node:crypto'
import type { Emit } from '../../base/signal.ts'
import { oncePerZone } from '../../base/zone.ts'
import type { LiveConfig } from '../../config/index.ts'
import { toolAccessOf } from '../../run/index.ts'
import { createCalls, createEquipment, createToolServer, createTools, type ToolPorts } from '../../tools/index.ts'

export interface ToolingParts extends Omit<ToolPorts, 'formatTime'> {
  readonly live: LiveConfig
  readonly emit: Emit
  readonly bridge: { readonly command: string; readonly args: readonly string[] }
  url(): string
  broke(tool: string, error: unknown): void
}

export function createToolWiring({ live, emit, bridge, url, broke, ...ports }: ToolingParts) {
  const toolServer = createToolServer({
    tools: createTools({ ...ports, formatTime: dateFormat(() => live.current().timezone) }),
    newKey: () => randomBytes(32).toString('base64url'),
    broke,
  })
  const calls = createCalls({
    workspace: live.current().configDir,
    toolServer,
    trouble: error => emit({ type: 'workspace-trouble', file: 'ipc/calls', why: String(error) }),
  })
  const equipment = createEquipment({
    toolServer,
    calls,
    servers: () => live.current().mcp.servers,
    own: () => live.current().mcp.own,
    accessOf: toolAccessOf,
    bridge,
    url,
  })
  return { toolServer, equipment }
}

/** With date and year, since these times may be far away. */
function dateFormat(own: () => string): (ms: number, zone: string | null) => string {
  const format = oncePerZone(
    { weekday: 'short', day: 'numeric', month: 'short', year: 'numeric', hour: '2-digit', minute: '2-digit' },
    'en-GB',
  )
  return (ms, zone) => format(zone ?? own()).format(ms)
}
