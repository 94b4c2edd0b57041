// The frame of Mission Control in a real browser: lost connection, phone, keyboard, both themes.
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { connected, page, reopen, shows, stage, trouble, visit } from './owner.ts'

test('when the gateway goes down the page says so; after the reconnect it shows the missed entries', async () => {
  await visit('activity')
  await expect.poll(() => page.locator('.feed .row').count()).toBe(50)
  await connected()
  stage.happens({ text: 'before' })
  await shows('.feed .asked', 'before')
  const { port, world } = stage
  await stage.stop()
  await shows('#banner', 'Disconnected from the gateway. This page may be out of date.')
  await shows('#connection', 'disconnected')
  expect(await page.locator('.feed .row').count()).toBe(51)
  world.entries.unshift({ ...world.entries[0]!, id: 502, text: 'meanwhile' })
  await reopen(port, world)
  await page.getByRole('button', { name: 'Try now' }).click()
  await shows('.feed .asked', 'meanwhile')
  await expect.poll(() => page.isVisible('#banner')).toBe(false)
  await shows('#connection', 'connected')
  expect(stage.asked.at(-1)).toBe('501')
  expect(await page.locator('.feed .asked', { hasText: 'before' }).count()).toBe(1)
  stage.happens({ text: 'after' })
  await shows('.feed .asked', 'after')
})

test('an action fails visibly while the gateway is down, and nothing is lost', async () => {
  await visit('schedule')
  await shows('.job h2', 'inbox')
  const { port, world } = stage
  await stage.stop()
  await page.getByRole('button', { name: 'Run now: inbox' }).click()
  await shows('#toast', 'The gateway is not responding. Is it running?')
  expect(await page.locator('.job').count()).toBe(3)
  await reopen(port, world)
})

test('when the link has changed the page says so', async () => {
  await visit('overview')
  await shows('.health', 'failed today')
  await connected()
  await page.context().clearCookies()
  const { port, world } = stage
  await stage.stop()
  await reopen(port, world)
  await shows('#banner', 'The link has changed. Run “npx aetheel status” to get the new one.')
  await shows('#connection', 'locked')
  await shows('.health', 'Disconnected')
})

test('going back closes an event, and the charts follow the theme', async () => {
  await visit('activity', { colorScheme: 'light' })
  await page.locator('.feed a.row').first().click()
  await expect.poll(() => page.getByRole('dialog').count()).toBe(1)
  await page.goBack()
  await expect.poll(() => page.getByRole('dialog').count()).toBe(0)
  await page.getByRole('navigation').getByRole('link', { name: 'Usage' }).click()
  await expect.poll(() => page.locator('.plot canvas').count()).toBe(4)
  const picture = () => page.evaluate('document.querySelector("canvas").toDataURL()')
  const light = await picture()
  await page.emulateMedia({ colorScheme: 'dark' })
  await expect.poll(picture).not.toBe(light)
  expect(await page.locator('.plot canvas').count()).toBe(4)
  expect(trouble).toEqual([])
})

test('the frame is there before the data', async () => {
  await visit('overview')
  await page.route('**/api/overview', () => {}) // never answered
  await page.reload()
  await shows('h1', 'Overview')
  expect(await page.locator('.skeleton').count()).toBeGreaterThan(3)
  expect(await page.getByRole('navigation').getByRole('link', { name: 'Schedule' }).isVisible()).toBe(true)
  await page.getByRole('link', { name: 'Sessions' }).click()
  await shows('tbody tr', 'kitchen')
})

test('the bare link opens the overview, and other pages open from there without console output', async () => {
  await visit('overview')
  await page.goto('about:blank')
  await page.goto(`${stage.url}/`)
  await shows('.health', 'failed today')
  await page.getByRole('navigation').getByRole('link', { name: 'Sessions' }).click()
  await expect.poll(() => page.locator('h1:focus').textContent()).toBe('Sessions')
  expect(trouble).toEqual([])
})

test('without the link there is a page that says where to find it', async () => {
  await visit('overview')
  await page.context().clearCookies()
  await page.goto(`${stage.url}/`)
  await shows('pre', 'npx aetheel status')
})

test('on a phone the navigation is in a drawer', async () => {
  await visit('overview', { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true })
  const link = page.getByRole('navigation').getByRole('link', { name: 'Usage' })
  expect(await link.isVisible()).toBe(false)
  await page.getByRole('button', { name: 'Menu' }).tap()
  await expect.poll(() => link.isVisible()).toBe(true)
  await page.keyboard.press('Escape')
  await expect.poll(() => link.isVisible()).toBe(false)
  await page.getByRole('button', { name: 'Menu' }).tap()
  await link.tap()
  await expect.poll(() => link.isVisible()).toBe(false)
  await shows('h1', 'Usage')
  expect(trouble).toEqual([])
})

test('everything works by keyboard alone; every control has a name and a visible focus', async () => {
  await visit('schedule')
  await shows('.job h2', 'inbox')
  await connected()
  await page.waitForTimeout(200)
  await page.evaluate('document.body.tabIndex = -1; document.body.focus()')
  const seen: string[] = []
  for (let i = 0; i < 40; i += 1) {
    await page.keyboard.press('Tab')
    const focused = page.locator(':focus')
    if ((await focused.count()) === 0) break
    seen.push((await focused.ariaSnapshot()).split('\n')[0] ?? '')
    expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle'), seen.at(-1)).toBe('solid')
  }
  const reached = seen.join('\n')
  for (const name of [
    'link "Skip to content"',
    'link "Chat"',
    'link "Overview"',
    'link "Pairing"',
    'button "Add job"',
    'button "Run now: inbox"',
    'button "Pause morning news"',
  ])
    expect(reached).toContain(name)

  const remove = page.getByRole('button', { name: 'Delete inbox' })
  await remove.focus()
  await page.keyboard.press('Enter')
  await expect.poll(() => page.locator(':focus').textContent()).toBe('Cancel')
  await page.keyboard.press('Escape')
  await expect.poll(() => page.locator(':focus').getAttribute('aria-label')).toBe('Delete inbox')
  await page.getByRole('link', { name: 'Memory & persona' }).focus()
  await page.keyboard.press('Enter')
  await expect.poll(() => page.locator('h1:focus').textContent()).toBe('Memory & persona')
  expect(await page.getByRole('link', { name: 'Memory & persona' }).getAttribute('aria-current')).toBe('page')
  await page.keyboard.press('Tab')
  expect((await page.locator(':focus').textContent())?.trim()).toBe('Files')
  expect(trouble).toEqual([])
})

test('the first load is small and contacts no other host', async () => {
  await visit('sessions')
  await page.goto('about:blank')
  const bodies: Promise<number>[] = []
  page.on('response', response => {
    if (!response.url().includes('/events'))
      bodies.push(
        response.body().then(
          body => gzipSync(body).length,
          () => 0,
        ),
      ) // 0: the test ended before
  })
  await page.goto(`${stage.url}/#/overview`)
  await shows('.health', 'failed today')
  const bytes = (await Promise.all(bodies)).reduce((sum, size) => sum + size, 0)
  expect(bodies.length).toBeGreaterThan(8)
  expect(bytes).toBeLessThan(60_000) // of the 150 kB that it may have
  expect(trouble).toEqual([])
})
