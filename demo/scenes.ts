// What there is to see in the owner's browser on the samples: every page that the navigation has, an event, the chat, the locked page.
import type { Browser, BrowserContextOptions, Page, Request } from 'playwright-core'
import type { Dashboard } from './started.ts'

export interface Scene {
  readonly name: string
  /** Behind the address of the gateway. */
  readonly address: string
  /** Seen by somebody who does not have the link. */
  readonly stranger?: true
}

export const looks = {
  light: { colorScheme: 'light', viewport: { width: 1280, height: 800 } },
  dark: { colorScheme: 'dark', viewport: { width: 1280, height: 800 } },
  phone: { colorScheme: 'light', viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
  'phone-dark': { colorScheme: 'dark', viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
} as const satisfies Record<string, BrowserContextOptions>

/** Questions that are not answered yet. */
const open = new WeakMap<Page, Set<Request>>()

/** A window of the owner's, on the first page. Nothing in it moves. */
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

/** The pages are asked of the navigation itself, so that a new one is among them. */
export async function scenesOf(page: Page, { url, token }: Dashboard): Promise<readonly Scene[]> {
  await page.goto(`${url}/#/overview`)
  // The last entry that appears by itself, once the gateway has said that it has sub-agents.
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

/** Resolves when everything that was asked for is there and drawn. */
export async function show(page: Page, { url }: Dashboard, { address, stranger }: Scene): Promise<void> {
  // A change of the fragment alone would not leave what is open over the page.
  await page.goto('about:blank')
  if (stranger) await page.context().clearCookies()
  await page.goto(`${url}${address}`)
  await page.waitForSelector('h1')
  // Not waitForFunction, which the policy of the pages forbids.
  const isQuiet = async () => (open.get(page)?.size ?? 0) === 0 && (await page.evaluate(isDrawn)) === true
  for (let [quiet, i] = [0, 0]; quiet < 3; i += 1) {
    if (i === 200) throw new Error(`${address} is not drawn`)
    await page.waitForTimeout(50)
    quiet = (await isQuiet()) ? quiet + 1 : 0
  }
}

/** The sample has conversations, so a list of them that is empty is still on its way. */
const isDrawn = `(() => {
  if (document.querySelector('.skeleton, ul[id$="recent"]:empty') !== null) return false
  if ([...document.querySelectorAll('.plot')].some(plot => !plot.querySelector('canvas'))) return false
  const line = document.getElementById('connection')
  return document.readyState === 'complete' && (line === null || line.textContent === 'connected')
})()`

/** As tall as what it shows, so that all of a page is seen at once. */
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
