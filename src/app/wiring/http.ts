// The HTTP server of this gateway: its address, its pages, and the parts behind its API.
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Config } from '../../config/index.ts'
import { hasRoomForConnection } from '../../run/index.ts'
import { type OpenHttp, openHttp } from '../../ui/index.ts'
import type { Gateway } from '../build.ts'
import { cannot } from '../cannot-start.ts'
import { productRoot } from '../product-root.ts'

export interface ListenParts {
  readonly http: Config['http']
  readonly token: string
  readonly gateway: Gateway
  readonly version: string
  readonly log: Logger
  /** If nobody chose the port, the next free one is used. */
  readonly anyPort: boolean
}

export async function listen(
  { http, token, gateway, version, log, anyPort }: ListenParts,
  signal: AbortSignal,
): Promise<OpenHttp> {
  const root = productRoot()
  const logins = gateway.logins(token)
  const open = (port: number) =>
    openHttp(
      {
        address: { host: http.host, names: http.names, port, token, hasRoom: hasRoomForConnection },
        pages: { webDir: join(root, 'web'), modulesDir: join(root, 'node_modules') },
        health: {
          version,
          ready: () => gateway.report.status().ready,
          trouble: gateway.report.trouble,
          status: async () => gateway.report.status(),
          metrics: async () => gateway.report.metrics(),
        },
        webchat: {
          connect: gateway.webchat.connect,
          newConversation: () => crypto.randomUUID(),
          message: gateway.webchat.message,
          conversations: gateway.conversations,
          attachments: gateway.attachments,
        },
        admin: gateway.admin,
        logins,
        webhook: gateway.triggers.webhook,
        tools: gateway.toolServer,
        warn: (fields, text) => log.warn(fields, text),
      },
      signal,
    )
  for (let port = http.port; ; port++) {
    try {
      return await open(port)
    } catch (error) {
      const taken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
      if (!taken || !anyPort || port >= http.port + 20) return cannot(error)
      log.warn({ port, next: port + 1 }, 'port in use')
    }
  }
}
