// `npm run screenshots`: takes the pictures of the docs from the running product. `--all DIR`: every page in every theme and size.
import { mkdirSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Browser } from 'playwright-core'
import { launch } from '../test/browser/stage.ts'
import { looks, openWindow, scenesOf, show, unroll } from './scenes.ts'
import { afternoon, type Dashboard, startDashboard } from './started.ts'

/** The pictures of the docs: a page, a theme and size, and the name of the file. */
const pictures = [
  { scene: 'overview', look: 'light', file: 'overview', busy: true },
  { scene: 'event', look: 'light', file: 'event' },
  { scene: 'usage', look: 'dark', file: 'usage' },
  { scene: 'schedule', look: 'light', file: 'schedule' },
  { scene: 'webchat', look: 'light', file: 'webchat' },
  { scene: 'overview', look: 'phone-dark', file: 'phone' },
] as const
const mostBytes = 150_000

const root = resolve(import.meta.dirname, '..')
const [flag, folder] = process.argv.slice(2)
if (flag !== undefined && (flag !== '--all' || folder === undefined)) {
  process.stderr.write('Use: npm run screenshots [-- --all DIR]\n')
  process.exit(2)
}
const zone = afternoon(Date.now())
const dashboard = await startDashboard({ TZ: zone })
const browser = await launch()
try {
  if (folder !== undefined) await takeAll(browser, dashboard, resolve(folder))
  else await takePictures(browser, dashboard, join(root, 'docs/screens'))
} finally {
  await browser.close()
  await dashboard.stop()
}

async function takePictures(browser: Browser, dashboard: Dashboard, dir: string): Promise<void> {
  mkdirSync(dir, { recursive: true })
  for (const { scene: name, look, file, ...rest } of pictures) {
    const page = await openWindow(browser, dashboard, { ...looks[look], timezoneId: zone })
    const scene = (await scenesOf(page, dashboard)).find(one => one.name === name)
    if (!scene) throw new Error(`there is no page ${name} to be shown`)
    await show(page, dashboard, scene)
    if ('busy' in rest) await keepBusy(dashboard)
    if ('busy' in rest) await page.getByText('kitchen · echo').first().waitFor()
    await take(page, join(dir, `${file}.png`))
    await page.context().close()
  }
}

async function takeAll(browser: Browser, dashboard: Dashboard, dir: string): Promise<void> {
  mkdirSync(dir, { recursive: true })
  for (const [look, options] of Object.entries(looks)) {
    const page = await openWindow(browser, dashboard, { ...options, timezoneId: zone })
    for (const scene of await scenesOf(page, dashboard)) {
      await show(page, dashboard, scene)
      if (!scene.name.startsWith('webchat')) await unroll(page)
      await take(page, join(dir, `${scene.name}-${look}.png`))
      await page.setViewportSize(options.viewport)
    }
    await page.context().close()
  }
}

/** The sample's agent answers quickly; with several messages, one runs and the others wait for a few seconds. */
async function keepBusy({ url, token }: Dashboard): Promise<void> {
  const asked = ['Which of the leeks are still good?', 'And the potatoes?', 'Put cream on the list, please']
  for (const text of asked)
    await fetch(`${url}/api/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify({ conversation: 'kitchen', text }),
    })
}

async function take(page: Awaited<ReturnType<typeof openWindow>>, path: string): Promise<void> {
  await page.screenshot({ path, animations: 'disabled', caret: 'hide' })
  const { size } = statSync(path)
  process.stdout.write(`${path} ${Math.round(size / 1000)} kB\n`)
  if (folder === undefined && size > mostBytes) throw new Error(`${path} is larger than ${mostBytes} bytes`)
}
