// The owner with the sample data of `npm run dashboard`: the real gateway with content on every page, and a browser.
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, onTestFinished } from 'vitest'
import { openWindow, type Scene, scenesOf } from '../../demo/scenes.ts'
import { afternoon, type Dashboard, startDashboard } from '../../demo/started.ts'
import { launch, watch } from './stage.ts'

export let dashboard: Dashboard
/** Every page in the navigation, and those beside it. */
export let scenes: readonly Scene[]
let browser: Browser

beforeAll(async () => {
  ;[dashboard, browser] = await Promise.all([startDashboard({ TZ: afternoon(Date.now()) }), launch()])
  const page = await openWindow(browser, dashboard, {})
  scenes = await scenesOf(page, dashboard)
  await page.context().close()
})
afterAll(async () => {
  await browser.close()
  await dashboard.stop()
})

/** Ends with the test. `trouble` lists console errors, exceptions and requests that should not have happened. */
export async function look(
  options: BrowserContextOptions,
): Promise<{ readonly page: Page; readonly trouble: string[] }> {
  const page = await openWindow(browser, dashboard, options)
  onTestFinished(() => page.context().close())
  return { page, trouble: watch(page, dashboard.url) }
}
