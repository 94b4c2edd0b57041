// Every path of the HTTP server, read from its own table, so that new ones are included.
import { defaultLimits } from '../../src/ui/http/options.ts'
import type { Route } from '../../src/ui/http/route.ts'
import { routeTable } from '../../src/ui/http/routes.ts'

/** Provides everything that the table depends on, so that it lists all paths. */
const anything = new Proxy(() => anything, { get: () => anything, apply: () => anything }) as never

export type Row = Pick<Route, 'method' | 'access'> & { readonly path: string }
export const rows: readonly Row[] = [
  ...Object.entries(routeTable(anything, defaultLimits, anything)).flatMap(([path, routes]) =>
    [routes].flat().map(({ method, access }) => ({ path, method, access })),
  ),
  // Paths with a parameter.
  { path: '/api/tools/send_message', method: 'POST', access: 'open' },
  { path: '/web/mission/app.js', method: 'GET', access: 'open' },
  { path: '/vendor/preact.js', method: 'GET', access: 'open' },
]
