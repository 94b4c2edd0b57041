// The owner at Mission Control: each test that imports this gets a fresh scripted gateway and a page.
import type { BrowserContextOptions, Page } from 'playwright-core'
import { afterEach, beforeEach, expect } from 'vitest'
import { openMission, type World } from './mission-stage.ts'
import { sharedBrowser, token, watch } from './stage.ts'

const browser = sharedBrowser()
export let stage: Awaited<ReturnType<typeof openMission>>
export let page: Page
/** Console errors, exceptions and requests that should not have happened. */
export let trouble: string[]
const ends: (() => Promise<void>)[] = []

beforeEach(async () => {
  stage = await openMission()
})
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
  await stage.stop()
})

/** Opens the link with the token, then a page of Mission Control. */
export const visit = async (name: string, options: BrowserContextOptions = {}) => {
  const context = await browser().newContext({ viewport: { width: 1280, height: 800 }, ...options })
  ends.push(() => context.close())
  page = await context.newPage()
  page.setDefaultTimeout(10_000)
  trouble = watch(page, stage.url)
  await page.goto(`${stage.url}/?token=${token}`)
  await page.goto(`${stage.url}/#/${name}`)
}

/** The gateway comes back after `stage.stop()`. */
export const reopen = async (port: number, world: World) => {
  stage = await openMission(port, world)
}

export const shows = (selector: string, text: string) =>
  expect.poll(() => page.locator(selector).allInnerTexts()).toContainEqual(expect.stringContaining(text))
export const press = (name: string) => page.getByRole('button', { name, exact: true }).click()
/** The last request of the page. */
export const ordered = (order: unknown) => expect.poll(() => stage.orders.at(-1)).toEqual(order)
export const connected = () => expect.poll(() => stage.listeners()).toBeGreaterThan(0)
