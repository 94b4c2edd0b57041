// The gateway's own tools, and how agents come by them.
import { randomBytes } from 'node:crypto'
import type { Tell } from '../base/signal.ts'
import { oncePerZone } from '../base/zone.ts'
import { openCalls, openDesk, openEquipment, openTools, type ToolPorts } from '../hooks/index.ts'
import { toolsWayOf } from '../run/index.ts'
import type { LiveConfig } from './live.ts'

export interface ToolingParts extends Omit<ToolPorts, 'formatTime'> {
  readonly live: LiveConfig
  readonly tell: Tell
  readonly bridge: { readonly command: string; readonly args: readonly string[] }
  url(): string
  broke(tool: string, error: unknown): void
}

export function openTooling({ live, tell, bridge, url, broke, ...ports }: ToolingParts) {
  const desk = openDesk({
    tools: openTools({ ...ports, formatTime: dateFormat(() => live.current().timezone) }),
    newKey: () => randomBytes(32).toString('base64url'),
    broke,
  })
  const calls = openCalls({
    workspace: live.current().configDir,
    desk,
    trouble: error => tell({ type: 'workspace-trouble', file: 'ipc/calls', why: String(error) }),
  })
  const equipment = openEquipment({
    desk,
    calls,
    servers: () => live.current().mcpServers,
    own: () => live.current().gatewayTools,
    wayOf: toolsWayOf,
    bridge,
    url,
  })
  return { desk, equipment }
}

/** For times that may be far away. */
function dateFormat(own: () => string): (ms: number, zone: string | null) => string {
  const format = oncePerZone(
    { weekday: 'short', day: 'numeric', month: 'short', year: 'numeric', hour: '2-digit', minute: '2-digit' },
    'en-GB',
  )
  return (ms, zone) => format(zone ?? own()).format(ms)
}
