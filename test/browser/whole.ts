// An owner before the whole gateway: the real program on a workspace of its own, and a browser that looks at it.
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { onTestFinished } from 'vitest'
import { makeHome, type RunningGateway, startGateway, token } from '../harness/gateway.ts'
import { sharedBrowser, watch } from './stage.ts'

const browser = sharedBrowser()

export interface Place {
  readonly gateway: RunningGateway
  /** A file of the workspace. */
  path(name: string): string
  write(name: string, text: string): void
  /** After a stop: at the same address, with the same workspace. */
  restart(): Promise<void>
  /** Mission Control at this page, in a window of its own. `trouble` has what it should not have done. */
  visit(page: string, options?: BrowserContextOptions): Promise<{ readonly page: Page; readonly trouble: string[] }>
}

/** Ends with the test. The files are there before the start. */
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
