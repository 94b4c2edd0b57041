// Controls for tests of slow responses: requests held until released, and access to the page's own connection.
import type { Page, Route } from 'playwright-core'
import { expect } from 'vitest'

/** Holds requests of a method; each call returns the next one, for the test to release. */
export const hold = async (page: Page, pattern: string, method: string): Promise<() => Promise<Route>> => {
  const held: Route[] = []
  await page.route(pattern, route => {
    if (route.request().method() === method) held.push(route)
    else void route.fallback()
  })
  return async () => {
    await expect.poll(() => held.length).toBeGreaterThan(0)
    return held.shift() as Route
  }
}

/** From the next document on, `window.line` is the connection that the page opened last. */
export const reveal = (page: Page, kind: 'WebSocket' | 'EventSource') =>
  page.addInitScript(`{
    const Real = ${kind}
    window.${kind} = class extends Real {
      constructor(...given) {
        super(...given)
        window.line = this
      }
    }
  }`)
