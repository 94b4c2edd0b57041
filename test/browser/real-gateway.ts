// The owner with the real gateway: the program on a temporary workspace, and a browser.
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { onTestFinished } from 'vitest'
import { makeHome, type RunningGateway, startGateway, token } from '../harness/gateway.ts'
import { sharedBrowser, watch } from './stage.ts'

const browser = sharedBrowser()

export interface Place {
  readonly gateway: RunningGateway
  /** The path of a file in the workspace. */
  path(name: string): string
  write(name: string, text: string): void
  /** Starts it again after a stop, on the same address and workspace. */
  restart(): Promise<void>
  /** Opens a page of Mission Control in a new window. `trouble` lists console errors, exceptions and requests that should not have happened. */
  visit(page: string, options?: BrowserContextOptions): Promise<{ readonly page: Page; readonly trouble: string[] }>
}

/** Ends with the test. The files are written before the start. */
export async function openPlace(
  files: Readonly<Record<string, string>> = {},
  env: Record<string, string> = {},
): Promise<Place> {
  const home = await makeHome()
  const path = (name: string) => join(home.configDir, name)
  const write = (name: string, text: string) => {
    mkdirSync(dirname(path(name)), { recursive: true })
    writeFileSync(path(name), text)
  }
  for (const [name, text] of Object.entries(files)) write(name, text)
  const gateway = await startGateway(home, env)
  const ends: (() => Promise<unknown>)[] = [() => gateway.stop(), () => home.remove()]
  onTestFinished(async () => {
    for (const end of ends) await end()
  })
  return {
    gateway,
    path,
    write,
    async restart() {
      const again = await startGateway(home, { ...env, HTTP_PORT: new URL(gateway.url).port })
      ends.unshift(() => again.stop())
    },
    async visit(name, options = {}) {
      const context = await browser().newContext({ viewport: { width: 1280, height: 800 }, ...options })
      ends.unshift(() => context.close())
      const page = await context.newPage()
      page.setDefaultTimeout(10_000)
      const trouble = watch(page, gateway.url)
      await page.goto(`${gateway.url}/?token=${token}`)
      await page.goto(`${gateway.url}/#/${name}`)
      return { page, trouble }
    },
  }
}
