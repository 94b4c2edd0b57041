// The front door of ui/. The server is loaded when it is opened: most commands never need it.
import type { StatusAnswer } from './cli/status.ts'
import type { HttpOptions, OpenHttp } from './http/options.ts'

export type {
  Check,
  Choices,
  Edited,
  Finding,
  FoundBackend,
  InitialConfig,
  Plan,
  PlannedFile,
  Setup,
  UnitDesk,
} from './cli/ports.ts'
export type { OpenHttp } from './http/options.ts'

export const openHttp = async (options: HttpOptions, signal: AbortSignal): Promise<OpenHttp> => {
  const server = await import('./http/server.ts')
  return server.openHttp(options, signal)
}

/** What a running gateway says about itself. */
export const askStatus = async (running: { readonly url: string; readonly token: string }): Promise<StatusAnswer> => {
  const status = await import('./cli/status.ts')
  return status.askStatus(running)
}

/** Whether anybody answers there; one that is busy for a moment is still there. */
export const answersAt = async (url: string): Promise<boolean> => {
  const { ask } = await import('./cli/http.ts')
  const answer = await ask(url, { timeoutMs: 2_000 })
  return answer.ok || answer.late
}

export { runCli } from './cli/index.ts'
