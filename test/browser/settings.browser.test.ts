// Settings and Logs against the real gateway: changes made there take effect, and changes made elsewhere are shown.
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { connect } from '../harness/client.ts'
import { openPlace, type Place } from './real-gateway.ts'

const written = (place: Place) => JSON.parse(readFileSync(place.path('bot-config.json'), 'utf8')) as object
const refusal = /status of 400/
const expected = (trouble: readonly string[]) => trouble.filter(line => !refusal.test(line))
const save = (page: Page) => page.getByRole('button', { name: 'Save', exact: true }).click()
const setting = (page: Page, key: string) => page.locator('.setting', { has: page.locator(`code:text-is("${key}")`) })

async function violations(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe.source)
  const { violations: found } = await page.evaluate(() => (globalThis as unknown as { axe: typeof axe }).axe.run())
  return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
}
const overflow = (page: Page) => page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')

test('options are found, changed, rejected at their field, saved and reset', async () => {
  const place = await openPlace({ 'config.json': '{"agent":{"model":"haiku"}}' })
  const { page, trouble } = await place.visit('settings')
  const model = page.getByLabel('Model', { exact: true })
  await expect.poll(() => model.inputValue()).toBe('haiku')
  expect(await setting(page, 'agent.model').textContent()).toContain('config.json')
  expect(await setting(page, 'http.token').textContent()).toMatch(/set[\s\S]*This is a secret/)
  expect(await setting(page, 'http.token').locator('input').count()).toBe(0)
  expect(await setting(page, 'http.port').textContent()).toContain('HTTP_PORT in the environment')
  expect(await violations(page)).toEqual([])

  await page.getByPlaceholder('Search settings').fill('max_turns')
  await expect.poll(() => page.locator('.setting').count()).toBe(1)
  await page.getByLabel('Max turns').fill('many')
  await page.getByPlaceholder('Search settings').fill('')
  // A field that is cleared stays empty while it is edited, whatever config.json says.
  await model.fill('')
  expect(await model.inputValue()).toBe('')
  await model.fill('<b>opus</b>')
  await setting(page, 'queue.busy').locator('select').selectOption('queue')
  await save(page)
  const problem = setting(page, 'agent.max_turns').locator('.problem')
  await expect.poll(() => problem.textContent()).toBe('Must be a whole number from 1 to 10000.')
  expect(existsSync(place.path('bot-config.json'))).toBe(false)
  await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('set-agent-max_turns')
  expect(await model.inputValue()).toBe('<b>opus</b>')
  expect(await violations(page)).toEqual([])

  // Another page and back: no input is lost.
  await page.goto(`${place.gateway.url}/#/logs`)
  await page.goto(`${place.gateway.url}/#/settings`)
  await expect.poll(() => page.getByLabel('Max turns').inputValue()).toBe('many')
  await page.getByLabel('Max turns').fill('7')
  await setting(page, 'owner.users').locator('textarea').fill('discord:1\n\n2\n')
  await setting(page, 'agent.prewarm').locator('input').check()
  await save(page)
  await expect
    .poll(() => page.locator('#toast').textContent())
    .toMatch(/^Saved\. In effect now: .*agent\.max_turns.* After a restart: .*queue\.busy/)
  expect(written(place)).toEqual({
    ...{ 'agent.max_turns': 7, 'agent.model': '<b>opus</b>', 'queue.busy': 'queue' },
    ...{ 'owner.users': ['discord:1', '2'], 'agent.prewarm': true },
  })
  expect(await setting(page, 'queue.busy').textContent()).toContain('restart needed')
  expect(await page.locator('.save-bar').count()).toBe(0)

  await page.getByRole('button', { name: 'Reset agent.model' }).click()
  await save(page)
  await expect.poll(() => model.inputValue()).toBe('haiku')
  expect(written(place)).not.toHaveProperty(['agent.model'])
  expect(expected(trouble)).toEqual([])
})

test('two windows and a text editor: each keeps its unsaved changes and sees those of the others', async () => {
  const place = await openPlace({}, { HTTP_TOKEN: 'a-token-for-tests-only' })
  const [one, other] = [await place.visit('settings'), await place.visit('settings')]
  const model = ({ page }: typeof one) => page.getByLabel('Model', { exact: true })
  await model(one).fill('opus')
  await other.page.getByLabel('Rate limit').fill('5')
  await save(one.page)
  await expect.poll(() => model(other).inputValue()).toBe('opus')
  expect(await other.page.getByLabel('Rate limit').inputValue()).toBe('5')
  await save(other.page)
  await expect.poll(() => one.page.getByLabel('Rate limit').inputValue()).toBe('5')
  expect(written(place)).toEqual({ 'agent.model': 'opus', 'gate.rate_limit': 5 })

  await model(one).fill('haiku')
  writeFileSync(place.path('bot-config.json'), '{"agent.model":"sonnet","gate.rate_limit":9}')
  await expect.poll(() => one.page.getByLabel('Rate limit').inputValue()).toBe('9')
  expect(await model(one).inputValue()).toBe('haiku')
  expect(await setting(one.page, 'agent.model').textContent()).toContain('Changed elsewhere to sonnet')
  writeFileSync(place.path('bot-config.json'), '{"agent.model":"sonnet","gate.rate_limit":"lots"}')
  await expect.poll(() => other.page.locator('.notice').textContent()).toContain('gate.rate_limit')
  await save(one.page)
  // The error is in another option.
  await expect.poll(() => one.page.locator('.save-bar').textContent()).toContain('gate.rate_limit: must be')
  await one.page.getByLabel('Rate limit').fill('3')
  await save(one.page)
  await expect.poll(() => written(place)).toEqual({ 'agent.model': 'haiku', 'gate.rate_limit': 3 })
  await other.page.reload()
  await expect.poll(() => model(other).inputValue()).toBe('haiku')
  expect(expected([...one.trouble, ...other.trouble])).toEqual([])
})

test('settings work by keyboard alone and on a phone', async () => {
  const place = await openPlace()
  const { page, trouble } = await place.visit('settings', {
    viewport: { width: 360, height: 740 },
    reducedMotion: 'reduce',
  })
  await page.getByPlaceholder('Search settings').focus()
  await page.keyboard.type('collect')
  await expect.poll(() => page.locator('.setting').count()).toBe(1)
  await page.keyboard.press('Tab')
  await page.keyboard.press('Space')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await expect.poll(() => page.locator('#toast').textContent()).toContain('queue.collect')
  expect(written(place)).toEqual({ 'queue.collect': true })
  await page.getByPlaceholder('Search settings').fill('')
  await expect.poll(() => page.locator('.setting').count()).toBeGreaterThan(30)
  expect(await overflow(page)).toBe(0)
  expect(await violations(page)).toEqual([])
  expect(trouble).toEqual([])
})

test('the log is followed, filtered, paused and expanded, with thousands of lines', async () => {
  const place = await openPlace({}, { LOG_LEVEL: 'debug' })
  const { page, trouble } = await place.visit('logs')
  const lines = page.locator('.log-line')
  await expect.poll(() => lines.allInnerTexts()).toEqual(expect.arrayContaining([expect.stringContaining('ready')]))
  const client = await connect(place.gateway.url, 'home')
  client.say('1', 'hello')
  await client.final('1')
  await expect.poll(() => lines.last().textContent()).toMatch(/(?:letter|delivery|reply) sent|turn (?:ended|finished)/)
  expect(await violations(page)).toEqual([])

  await page.getByRole('button', { name: 'Pause' }).click()
  client.say('2', 'hello again')
  await client.final('2')
  const held = await lines.count()
  await page.getByRole('button', { name: 'Resume (new lines)' }).click()
  await expect.poll(() => lines.count()).toBeGreaterThan(held)

  await page.getByLabel('Level').selectOption('warn')
  await expect.poll(() => lines.allInnerTexts()).toEqual([expect.stringContaining('no sign of a login')])
  await page.getByLabel('Level').selectOption('trace')
  await page.getByPlaceholder('Search the log').fill('TURN began')
  await expect.poll(() => lines.count()).toBe(2)
  await page.getByPlaceholder('Search the log').fill('')
  await expect.poll(() => lines.count()).toBeGreaterThan(5)

  // A line with HTML in it, expanded by keyboard.
  const evil = { level: 50, time: new Date().toISOString(), why: '<img src=x onerror=alert(1)>', msg: 'an evil line' }
  appendFileSync(place.path('.aetheel/log/aetheel.log'), `${JSON.stringify(evil)}\n`)
  await expect.poll(() => lines.last().textContent()).toContain('an evil line')
  await lines.last().locator('button').focus()
  await page.keyboard.press('ArrowUp')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await expect.poll(() => lines.last().locator('.line-detail').textContent()).toContain('<img src=x')
  expect(await page.locator('img[src="x"]').count()).toBe(0)
  expect(await violations(page)).toEqual([])

  const many = Array.from(
    { length: 3000 },
    (_, n) => `${JSON.stringify({ ...evil, level: 30, n, msg: `line ${n}` })}\n`,
  )
  appendFileSync(place.path('.aetheel/log/aetheel.log'), many.join(''))
  await expect.poll(() => lines.last().textContent(), { timeout: 10_000 }).toContain('line 2999')
  expect(await lines.count()).toBeLessThanOrEqual(2000)
  const log = page.locator('.log-lines')
  expect(await log.evaluate(box => box.scrollHeight - box.scrollTop - box.clientHeight)).toBeLessThan(30)
  await log.evaluate(box => box.scrollTo(0, 0))
  await page.getByRole('button', { name: 'Jump to latest' }).click()
  await expect.poll(() => log.evaluate(box => box.scrollHeight - box.scrollTop - box.clientHeight)).toBeLessThan(30)
  await page.setViewportSize({ width: 360, height: 740 })
  expect(await overflow(page)).toBe(0)
  await client.close()
  expect(trouble).toEqual([])
})
