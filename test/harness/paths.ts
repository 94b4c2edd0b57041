// Every path that the HTTP side has, asked of its own table, so that a new one is among them.
import { defaultLimits } from '../../src/ui/http/options.ts'
import type { Route } from '../../src/ui/http/route.ts'
import { routeTable } from '../../src/ui/http/routes.ts'

/** Whatever the table asks of the program to be there is there: so that it lists all that it can have. */
const anything = new Proxy(() => anything, { get: () => anything, apply: () => anything }) as never

export type Row = Pick<Route, 'method' | 'access'> & { readonly path: string }
export const rows: readonly Row[] = [
  ...Object.entries(routeTable(anything, defaultLimits, anything)).flatMap(([path, routes]) =>
    [routes].flat().map(({ method, access }) => ({ path, method, access })),
  ),
  // Those that stand for many.
  { path: '/api/tools/send_message', method: 'POST', access: 'open' },
  { path: '/web/mission/app.js', method: 'GET', access: 'open' },
  { path: '/vendor/preact.js', method: 'GET', access: 'open' },
]
