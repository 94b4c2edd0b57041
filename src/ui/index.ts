// The public interface of ui/. The HTTP server is loaded when it is opened: most commands never need it.
import type { StatusAnswer } from './cli/status.ts'
import type { HttpOptions, OpenHttp } from './http/options.ts'
import type { OverviewParts, StatusParts } from './status.ts'

export type {
  Choices,
  Edited,
  Finding,
  FoundBackend,
  InitialConfig,
  Plan,
  PlannedFile,
  ServiceControl,
  Setup,
} from './cli/ports.ts'
export type { OpenHttp } from './http/options.ts'

export const openHttp = async (options: HttpOptions, signal: AbortSignal): Promise<OpenHttp> => {
  const [server, { defaultLimits }] = await Promise.all([import('./http/server.ts'), import('./http/options.ts')])
  return server.openHttp(options, defaultLimits, signal)
}

export const createStatus = async (parts: StatusParts) => (await import('./status.ts')).createStatus(parts)

export const createOverview = async (parts: OverviewParts) => (await import('./status.ts')).createOverview(parts)

/** Asks a running gateway for its status. */
export const askStatus = async (running: { readonly url: string; readonly token: string }): Promise<StatusAnswer> => {
  const status = await import('./cli/status.ts')
  return status.askStatus(running)
}

/** Whether something answers there. A gateway that is busy for a moment still counts. */
export const answersAt = async (url: string): Promise<boolean> => {
  const { ask } = await import('./cli/http.ts')
  const answer = await ask(url, { timeoutMs: 2_000 })
  return answer.ok || answer.late
}

export { runCli } from './cli/index.ts'
export type { GatewayStatus } from './status.ts'
