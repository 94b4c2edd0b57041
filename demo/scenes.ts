// The pages of the sample to visit: every page in the navigation, an event, the chat, and the page without a token.
import type { Browser, BrowserContextOptions, Page, Request } from 'playwright-core'
import type { Dashboard } from './started.ts'

export interface Scene {
  readonly name: string
  /** Appended to the URL of the gateway. */
  readonly address: string
  /** Visited without the token. */
  readonly stranger?: true
}

export const looks = {
  light: { colorScheme: 'light', viewport: { width: 1280, height: 800 } },
  dark: { colorScheme: 'dark', viewport: { width: 1280, height: 800 } },
  phone: { colorScheme: 'light', viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
  'phone-dark': { colorScheme: 'dark', viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
} as const satisfies Record<string, BrowserContextOptions>

/** Requests without a response yet. */
const open = new WeakMap<Page, Set<Request>>()

/** A browser window with the token, on the first page, without animations. */
export async function openWindow(
  browser: Browser,
  { url, token }: Dashboard,
  options: BrowserContextOptions,
): Promise<Page> {
  const context = await browser.newContext({ locale: 'en-GB', reducedMotion: 'reduce', ...options })
  const page = await context.newPage()
  page.setDefaultTimeout(15_000)
  const asked = new Set<Request>()
  page.on('request', request => request.url().includes('/api/') && asked.add(request))
  for (const event of ['requestfinished', 'requestfailed'] as const)
    page.on(event as 'requestfinished', one => asked.delete(one))
  open.set(page, asked)
  await page.goto(`${url}/?token=${token}`)
  return page
}

/** Reads the pages from the navigation, so that new ones are included. */
export async function scenesOf(page: Page, { url, token }: Dashboard): Promise<readonly Scene[]> {
  await page.goto(`${url}/#/overview`)
  // The last entry appears only after the gateway has reported that it has sub-agents.
  await page.waitForSelector('#nav li:not([hidden]) a[href="#/agents"]', { state: 'attached' })
  const names = await page.$$eval('#nav li:not([hidden]) a', links =>
    links.map(link => (link.getAttribute('href') ?? '').replace('#/', '')),
  )
  const asked = await fetch(`${url}/api/activity?limit=200`, { headers: { authorization: `Bearer ${token}` } })
  const { entries } = (await asked.json()) as { entries: { type: string; event: number; lane: string | null }[] }
  const told = entries.find(({ type, lane }) => type === 'delivery-sent' && lane === 'webchat:desk')
  const event = entries.findLast(({ type }) => type === 'turn-moved') ?? told
  return [
    ...names.map(name => ({ name, address: `/#/${name}${name === 'chat' ? '?conversation=desk' : ''}` })),
    { name: 'event', address: `/#/overview?event=${event?.event}` },
    { name: 'webchat', address: '/chat#desk' },
    { name: 'webchat-new', address: '/chat#nothing-yet' },
    { name: 'locked', address: '/', stranger: true },
  ]
}

/** Resolves when everything is loaded and drawn. */
export async function show(page: Page, { url }: Dashboard, { address, stranger }: Scene): Promise<void> {
  // Changing only the fragment would not close an open dialog.
  await page.goto('about:blank')
  if (stranger) await page.context().clearCookies()
  await page.goto(`${url}${address}`)
  await page.waitForSelector('h1')
  // Not waitForFunction, which the content security policy forbids.
  const isQuiet = async () => (open.get(page)?.size ?? 0) === 0 && (await page.evaluate(isDrawn)) === true
  for (let [quiet, i] = [0, 0]; quiet < 3; i += 1) {
    if (i === 200) throw new Error(`${address} is not drawn`)
    await page.waitForTimeout(50)
    quiet = (await isQuiet()) ? quiet + 1 : 0
  }
}

/** The sample has conversations, so an empty list is still loading. */
const isDrawn = `(() => {
  if (document.querySelector('.skeleton, ul[id$="recent"]:empty') !== null) return false
  if ([...document.querySelectorAll('.plot')].some(plot => !plot.querySelector('canvas'))) return false
  const line = document.getElementById('connection')
  return document.readyState === 'complete' && (line === null || line.textContent === 'connected')
})()`

/** As tall as its content, so that the whole page is visible. */
export async function unroll(page: Page): Promise<void> {
  const size = page.viewportSize()
  if (size === null) return
  const hidden = `(() => {
    const places = [...document.querySelectorAll('#main, dialog[open] .dialog-inner, dialog[open]')]
    return Math.max(0, document.documentElement.scrollHeight - innerHeight, ...places.map(one => one.scrollHeight - one.clientHeight))
  })()`
  const more = Number(await page.evaluate(hidden))
  if (more > 0) await page.setViewportSize({ width: size.width, height: Math.min(6000, size.height + more) })
}
