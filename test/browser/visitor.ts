// A person at the chat page: each test that imports this gets a fresh scripted gateway and a page.
import type { BrowserContextOptions, Page } from 'playwright-core'
import { afterEach, beforeEach, expect } from 'vitest'
import { openStage, sharedBrowser, token, watch } from './stage.ts'

const browser = sharedBrowser()
export let stage: Awaited<ReturnType<typeof openStage>>
export let page: Page
/** Console errors, exceptions and requests that should not have happened. */
export let trouble: string[]
const ends: (() => Promise<void>)[] = []

beforeEach(async () => {
  stage = await openStage()
})
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
  await stage.stop()
})

export const visit = async (options: BrowserContextOptions = {}, path = `/chat?token=${token}`) => {
  const context = await browser().newContext({ viewport: { width: 1280, height: 800 }, ...options })
  ends.push(() => context.close())
  page = await context.newPage()
  trouble = watch(page, stage.url)
  await page.goto(stage.url + path)
}

/** The gateway comes back after `stage.stop()`. */
export const reopen = async (port: number) => {
  stage = await openStage(port)
}

export const type = async (text: string) => {
  await page.fill('#box', text)
  await page.press('#box', 'Enter')
}
export const count = (selector: string) => page.locator(selector).count()
export const shows = (selector: string, text: string) =>
  expect.poll(() => page.locator(selector).allInnerTexts()).toContain(text)
export const state = (number = 0) => page.locator('.turn').nth(number).getAttribute('data-state')
