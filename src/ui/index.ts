// The front door of ui/. The server is loaded when it is opened: most commands never need it.
import type { HttpOptions, OpenHttp } from './http/options.ts'

export type { OpenHttp } from './http/options.ts'

export const openHttp = async (options: HttpOptions, signal: AbortSignal): Promise<OpenHttp> => {
  const server = await import('./http/server.ts')
  return server.openHttp(options, signal)
}

export { runCli } from './cli/index.ts'
