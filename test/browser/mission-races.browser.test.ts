// Mission Control against the real gateway when responses are late, out of order, or arrive after the owner has left the page.
import { appendFileSync, readFileSync } from 'node:fs'
import type { Page, Route } from 'playwright-core'
import { expect, test } from 'vitest'
import { hold, reveal } from './held-requests.ts'
import { openPlace, type Place } from './real-gateway.ts'

const at = '2026-11-16T09:00:00.000Z'
const stamps = { createdAt: at, updatedAt: at }
const facts = ['tea', 'car'].map(id => ({
  id,
  content: `About ${id}`,
  type: 'fact',
  category: '',
  tags: [],
  ...stamps,
}))
const tasks = [{ id: 'paint', title: 'Paint', status: 'todo', ...stamps }]
const finds = [
  { id: 'web', title: 'On lanes', url: 'https://example.org/', tags: [], summary: '', status: 'new', ...stamps },
]

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()
const field = (page: Page, label: string) => page.getByRole('dialog').getByLabel(label, { exact: true })
const nowhere = (page: Page) => page.evaluate('document.activeElement === document.body')
const read = (place: Place, name: string) =>
  JSON.parse(readFileSync(place.path(name), 'utf8')) as Record<string, unknown>[]
const goTo = (page: Page, name: string) =>
  page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name, exact: true }).click()

test('the title is that of the page, also after navigating and hiding the tab', async () => {
  const place = await openPlace()
  const { page } = await place.visit('chat')
  await page.locator('textarea').waitFor()
  await goTo(page, 'Overview')
  await expect.poll(() => page.title()).toBe('Overview · Aetheel')
  await goTo(page, 'Chat')
  await expect.poll(() => page.title()).toBe('Chat · Aetheel')
  await page.locator('textarea').waitFor()
  await page.evaluate('document.dispatchEvent(new Event("visibilitychange"))')
  expect(await page.title()).toBe('Chat · Aetheel')
})

test('a setting typed before a reload is saved once and does not stay unsaved', async () => {
  const place = await openPlace()
  const { page } = await place.visit('settings')
  await page.getByLabel('Max turns').fill('7')
  await page.locator('.save-bar').waitFor()
  await page.reload()
  await page.locator('.save-bar').waitFor()
  await press(page, 'Save')
  await expect.poll(() => page.locator('#toast').textContent()).toContain('Saved.')
  await expect.poll(() => page.locator('.save-bar').count()).toBe(0)
})

test('a response requested before a setting was saved does not bring the old value back', async () => {
  const place = await openPlace({ 'config.json': '{"agent":{"model":"haiku"}}' })
  const { page } = await place.visit('settings')
  const model = page.getByLabel('Model', { exact: true })
  await expect.poll(() => model.inputValue()).toBe('haiku')
  await page.locator('body[data-connection="open"]').waitFor()
  const held: (() => Promise<void>)[] = []
  await page.route('**/api/settings', async route => {
    if (route.request().method() !== 'GET') return route.fallback()
    const answer = await route.fetch()
    held.push(() => route.fulfill({ response: answer }))
  })
  place.write('config.json', '{"agent":{"model":"opus"}}')
  await expect.poll(() => held.length).toBe(1)
  await model.fill('sonnet')
  await press(page, 'Save')
  await expect.poll(() => page.locator('#toast').textContent()).toContain('Saved.')
  await expect.poll(() => page.locator('.save-bar').count()).toBe(0)
  await held[0]?.()
  await page.waitForTimeout(150)
  expect(await model.inputValue()).toBe('sonnet')
})

test('a page that fails to load does not block the others', async () => {
  const place = await openPlace()
  const { page } = await place.visit('overview')
  await page.getByText('All systems normal').waitFor()
  await page.route('**/pages/usage.js', route => route.abort())
  await goTo(page, 'Usage')
  await page.getByText('This page could not be loaded.').waitFor()
  await goTo(page, 'Overview')
  await page.getByText('All systems normal').waitFor({ timeout: 3000 })

  // Nor does one that fails after another page was opened.
  const next = await hold(page, '**/pages/sessions.js', 'GET')
  await goTo(page, 'Sessions')
  const route = await next()
  await goTo(page, 'Overview')
  await page.getByText('All systems normal').waitFor()
  await route.abort()
  await page.waitForTimeout(200)
  expect(await page.getByText('This page could not be loaded.').count()).toBe(0)
})

test('a save that finishes after its form was closed closes no other form and drops no newer input', async () => {
  const place = await openPlace({ 'brain.json': JSON.stringify(facts) })
  const { page } = await place.visit('brain')
  await press(page, 'Edit “About tea”')
  await field(page, 'Fact').fill('About green tea')
  const next = await hold(page, '**/api/brain?*', 'PATCH')
  await press(page, 'Save')
  const first = await next()
  await page.keyboard.press('Escape')
  await press(page, 'Edit “About car”')
  await field(page, 'Fact').fill('About the red car')
  await first.continue()
  await expect.poll(() => page.locator('#toast').textContent()).toBe('Saved.')
  await page.waitForTimeout(200)
  expect(await field(page, 'Fact').inputValue()).toBe('About the red car')
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()

  // A failure after closing is reported.
  await press(page, 'Edit “About car”')
  await field(page, 'Fact').fill('About no car')
  await press(page, 'Save')
  const failing = await next()
  await page.keyboard.press('Escape')
  await failing.abort()
  await expect.poll(() => page.locator('#toast').textContent()).toContain('The gateway is not responding.')
  await press(page, 'Edit “About car”')
  expect(await field(page, 'Fact').inputValue()).toBe('About no car')
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()

  // The same form again.
  await press(page, 'Edit “About car”')
  await field(page, 'Fact').fill('About a blue car')
  await press(page, 'Save')
  const second = await next()
  await page.keyboard.press('Escape')
  await press(page, 'Edit “About car”')
  await field(page, 'Fact').fill('About a blue car with stripes')
  await second.continue()
  await expect.poll(() => read(place, 'brain.json').map(({ content }) => content)).toContain('About a blue car')
  await page.waitForTimeout(300)
  expect(await field(page, 'Fact').inputValue()).toBe('About a blue car with stripes')
  await page.reload()
  await page.getByRole('button', { name: 'Edit “About a blue car”', exact: true }).click()
  expect(await field(page, 'Fact').inputValue()).toBe('About a blue car with stripes')
})

test('creating or deleting a skill does not navigate back after the owner has left the page', async () => {
  const place = await openPlace({ 'skills/old/SKILL.md': '---\nname: old\ndescription: An old one.\n---\n' })
  const { page } = await place.visit('skills')
  await press(page, 'New skill')
  await field(page, 'Name').fill('fresh')
  await field(page, 'Description').fill('Something new.')
  const next = await hold(page, '**/api/file', 'POST')
  await press(page, 'Create')
  const made = await next()
  await page.keyboard.press('Escape')
  await goTo(page, 'Usage')
  await page.getByRole('heading', { name: 'Usage', exact: true }).waitFor()
  await made.continue()
  await page.waitForTimeout(500)
  expect(new URL(page.url()).hash).toBe('#/usage')
  expect(readFileSync(place.path('skills/fresh/SKILL.md'), 'utf8')).toContain('Something new.')

  await page.goto(`${place.gateway.url}/#/skills?skill=old`)
  await page.getByLabel('Text of old', { exact: true }).waitFor()
  await press(page, 'Delete old')
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  const removed = await next()
  await goTo(page, 'Usage')
  await page.getByRole('heading', { name: 'Usage', exact: true }).waitFor()
  await removed.continue()
  await page.waitForTimeout(500)
  expect(new URL(page.url()).hash).toBe('#/usage')
})

test('a second deletion can be undone too, even if undoing the first one failed or is slow', async () => {
  const place = await openPlace({ 'brain.json': JSON.stringify(facts) })
  const { page } = await place.visit('brain')
  const bar = page.locator('.removed-bar')
  await press(page, 'Delete “About tea”')
  await bar.getByText('“About tea” deleted.').waitFor()
  await page.route('**/api/brain?restore=*', route => route.abort(), { times: 1 })
  await press(page, 'Undo')
  await bar.getByText('is not responding').waitFor()
  await press(page, 'Delete “About car”')
  await bar.getByText('“About car” deleted.').waitFor({ timeout: 3000 })
  await press(page, 'Undo')
  await page.getByText('About car', { exact: true }).waitFor()

  // A slow undo while the next record is deleted.
  await page.reload()
  place.write('brain.json', JSON.stringify(facts))
  await press(page, 'Delete “About tea”')
  await bar.getByText('“About tea” deleted.').waitFor()
  const next = await hold(page, '**/api/brain?restore=*', 'POST')
  await press(page, 'Undo')
  const slow = await next()
  await press(page, 'Delete “About car”')
  await bar.getByText('“About car” deleted.').waitFor()
  await slow.continue()
  await page.getByText('About tea', { exact: true }).waitFor()
  await page.waitForTimeout(200)
  expect(await bar.textContent()).toContain('“About car” deleted.')
})

test('the status of a content item is changed twice before the gateway responds', async () => {
  const place = await openPlace({ 'content-items.json': JSON.stringify(finds) })
  const { page } = await place.visit('content')
  const state = page.getByLabel('Status of “On lanes”')
  await state.waitFor()
  const next = await hold(page, '**/api/content?*', 'PATCH')
  await state.selectOption('reading')
  const first = await next()
  await state.selectOption('used')
  await page.getByLabel('Search content items').fill('lanes') // drawn again
  expect(await state.inputValue()).toBe('used')
  await first.continue()
  await (await next()).continue()
  await expect.poll(() => read(place, 'content-items.json').map(({ status }) => status)).toEqual(['used'])
  await expect.poll(() => state.inputValue()).toBe('used')
  expect(await page.locator('#toast').textContent()).toBe('')
})

test('a moved card stays in place while two responses are pending', async () => {
  const place = await openPlace({ 'tasks.json': JSON.stringify(tasks) })
  const { page } = await place.visit('tasks')
  const column = (name: string) =>
    page.getByRole('region', { name, exact: true }).locator('.task-title').allInnerTexts()
  await expect.poll(() => column('To do')).toEqual(['Paint'])
  await page.locator('body[data-connection="open"]').waitFor()
  const next = await hold(page, '**/api/tasks', 'GET')
  await page.locator('#task-paint').press('Alt+ArrowRight')
  await expect.poll(() => column('In progress')).toEqual(['Paint'])
  const afterMove = await next()
  const afterFile = await next()
  await afterMove.continue()
  await page.waitForTimeout(300)
  expect(await column('In progress')).toEqual(['Paint'])
  await afterFile.continue()
  await page.waitForTimeout(200)
  expect(await column('In progress')).toEqual(['Paint'])
})

const logged = (place: Place, text: string) =>
  appendFileSync(place.path('.aetheel/log/aetheel.log'), `${JSON.stringify({ level: 30, time: at, msg: text })}\n`)

test('the log has the line that was written during the first request', async () => {
  const place = await openPlace()
  const { page } = await place.visit('overview')
  await page.locator('body[data-connection="open"]').waitFor()
  const held: (() => Promise<void>)[] = []
  const holding = { now: true }
  await page.route('**/api/logs?*', async route => {
    if (!holding.now) return route.fallback()
    const answer = await route.fetch()
    held.push(() => route.fulfill({ response: answer }))
  })
  await goTo(page, 'Logs')
  await expect.poll(() => held.length).toBe(1)
  logged(place, 'came meanwhile')
  await page.waitForTimeout(1500)
  holding.now = false
  await held.shift()?.()
  const lines = page.locator('.log-line')
  await expect.poll(() => lines.last().textContent()).toContain('came meanwhile')
})

test('responses for an old filter neither duplicate nor block the lines of the next one', async () => {
  const place = await openPlace()
  const { page } = await place.visit('overview')
  await reveal(page, 'EventSource')
  const line = (text: string) => ({ at: Date.now(), level: 'info', text, fields: {} })
  const answered = (texts: string[], cursor: string) => ({
    json: { lines: texts.map(line), cursor, kept: true, more: false, gap: false },
  })
  const held: Route[] = []
  await page.route('**/api/logs?*', route => {
    const query = new URL(route.request().url()).searchParams
    const asked = `${query.get('q')} after ${query.get('after')}`
    if (asked === ' after null') return route.fulfill(answered(['first'], '1'))
    if (asked === 'x after null') return route.fulfill(answered(['x1'], '2'))
    if (asked === 'x after 2') return route.fulfill(answered(['x2'], '3'))
    if (asked === 'x after 3') return route.fulfill(answered([], '3'))
    return void held.push(route)
  })
  const told = () =>
    page.evaluate(`line.dispatchEvent(new MessageEvent('changed', { data: '{"files":[".aetheel/log/a.log"]}' }))`)
  const lines = () => page.locator('.log-line .line-text').allInnerTexts()
  const words = page.getByPlaceholder('Search the log')
  const open = async () => {
    await page.goto(`${place.gateway.url}/#/logs`)
    await page.reload()
    await expect.poll(lines).toEqual(['first'])
    await page.locator('body[data-connection="open"]').waitFor()
  }
  await open()
  await words.fill('x')
  await page.waitForTimeout(80) // it waits for more words
  await told()
  await expect.poll(lines).toEqual(['x1'])
  for (const route of held.splice(0)) await route.fulfill(answered(['x1'], '2'))
  await page.waitForTimeout(200)
  expect(await lines()).toEqual(['x1'])

  await open()
  await told()
  await expect.poll(() => held.length).toBe(1)
  await words.fill('x')
  await expect.poll(lines).toEqual(['x1'])
  await told()
  await held.pop()?.fulfill(answered([], '1'))
  await expect.poll(lines, { timeout: 3000 }).toEqual(['x1', 'x2'])
})

test('a filter set while the gateway was down applies once it is back', async () => {
  const place = await openPlace()
  const { page } = await place.visit('logs')
  const lines = page.locator('.log-line')
  await expect.poll(() => lines.allInnerTexts()).toEqual(expect.arrayContaining([expect.stringContaining('ready')]))
  await place.gateway.stop()
  await page.locator('body[data-connection="offline"]').waitFor()
  await page.getByPlaceholder('Search the log').fill('the one that is sought')
  await page.waitForTimeout(600)
  await place.restart()
  await page.locator('body[data-connection="open"]').waitFor()
  logged(place, 'this is the one that is sought')
  await expect.poll(() => lines.allInnerTexts()).toEqual([expect.stringContaining('the one that is sought')])
})

test('activity is shown again after the list failed to load', async () => {
  const place = await openPlace()
  const { page } = await place.visit('activity')
  await page.locator('body[data-connection="open"]').waitFor()
  const speak = (text: string) =>
    page.evaluate(`fetch('/api/messages?wait=true', { method: 'POST', body: '{"conversation":"c","text":"${text}"}' })`)
  await speak('hello')
  await expect.poll(() => page.locator('.feed li').count()).toBeGreaterThan(0)
  await place.gateway.stop()
  await page.locator('body[data-connection="offline"]').waitFor()
  await page.route('**/api/activity?*', route => route.abort(), { times: 1 })
  await place.restart()
  await page.locator('body[data-connection="open"]').waitFor()
  await page.waitForTimeout(300)
  const before = await page.locator('.feed li').count()
  await speak('again')
  await expect.poll(() => page.locator('.feed li').count()).toBeGreaterThan(before)
})

test('keyboard focus stays on the page when the pressed button disappears', async () => {
  const place = await openPlace({ 'heartbeat.md': '# Heartbeat\n\n## Every morning (9:00 AM)\n\nSay hello.\n' })
  const { page } = await place.visit('schedule')
  const remove = page.getByRole('button', { name: /^Delete/ }).first()
  await remove.focus()
  const jobs = await page.locator('.job').count()
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).press('Enter')
  await expect.poll(() => page.locator('.job').count()).toBe(jobs - 1)
  await page.waitForTimeout(100)
  await expect.poll(() => nowhere(page)).toBe(false)
})

test('discarded edits can be restored, also after another file was opened', async () => {
  const place = await openPlace()
  const { page } = await place.visit('memory')
  const text = page.getByLabel('Text of memory.md', { exact: true })
  await text.fill('# Memory\n\nPrecious.\n')
  await press(page, 'Discard')
  await page.getByRole('link', { name: /^soul\.md/ }).click()
  await page.getByLabel('Text of soul.md', { exact: true }).waitFor()
  await page.getByRole('link', { name: /^memory\.md/ }).click()
  await expect.poll(() => text.inputValue()).toBe('# Memory\n')
  await press(page, 'Undo')
  await expect.poll(() => text.inputValue(), { timeout: 3000 }).toBe('# Memory\n\nPrecious.\n')
  await page.waitForTimeout(100)
  await expect.poll(() => nowhere(page)).toBe(false)
})

test('a save that finishes after the file was reopened does not count as a conflict', async () => {
  const place = await openPlace()
  const { page } = await place.visit('memory')
  const text = page.getByLabel('Text of memory.md', { exact: true })
  await text.fill('# Memory\n\nOne.\n')
  const next = await hold(page, '**/api/file', 'POST')
  await press(page, 'Save')
  const slow = await next()
  await page.getByRole('link', { name: /^soul\.md/ }).click()
  await page.getByLabel('Text of soul.md', { exact: true }).waitFor()
  await page.getByRole('link', { name: /^memory\.md/ }).click()
  await text.fill('# Memory\n\nOne.\nTwo.\n')
  await slow.continue()
  await expect.poll(() => readFileSync(place.path('memory.md'), 'utf8')).toBe('# Memory\n\nOne.\n')
  await page.waitForTimeout(1500)
  expect([await text.inputValue(), await page.locator('.conflict').count()]).toEqual(['# Memory\n\nOne.\nTwo.\n', 0])
})

test('a late hello does not navigate back to the chat', async () => {
  const place = await openPlace()
  const { page } = await place.visit('overview')
  await reveal(page, 'WebSocket')
  await page.goto(`${place.gateway.url}/#/chat`)
  await page.reload()
  await expect.poll(() => new URL(page.url()).hash).toContain('conversation=')
  await page.evaluate(`{
    location.hash = '#/overview'
    line.dispatchEvent(new MessageEvent('message', { data: '{"type":"hello","conversation":"c"}' }))
  }`)
  await expect.poll(() => page.title()).toBe('Overview · Aetheel')
})

test('tasks are added as fast as they are typed, and the text of one that failed comes back', async () => {
  const place = await openPlace({ 'tasks.json': '[]' })
  const { page } = await place.visit('tasks')
  const add = page.getByLabel('Add task to To do')
  await add.waitFor()
  const next = await hold(page, '**/api/tasks', 'POST')
  await add.press('m')
  await add.press('Enter')
  const first = await next()
  await add.press('b')
  await add.press('Enter')
  await add.press('c')
  await first.continue()
  await (await next()).continue()
  await expect.poll(() => read(place, 'tasks.json').map(({ title }) => title)).toEqual(['m', 'b'])
  expect(await add.inputValue()).toBe('c')
  await add.press('Enter')
  const third = await next()
  await add.press('d')
  await third.abort()
  await expect.poll(() => add.inputValue()).toBe('c d')
})
