// Unsaved input is not lost, a page that failed to load comes back by itself, and no page changes the styles of another.
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { openPlace } from './real-gateway.ts'

const on = (page: Page) => ({
  press: (name: string) => page.getByRole('button', { name, exact: true }).click(),
  field: (name: string) => page.getByLabel(name, { exact: true }),
  gone: () => expect.poll(() => page.locator('dialog').count()).toBe(0),
})

test('unsaved input for a job, a skill, a task and a setting survives Escape, another page and a reload', async () => {
  const place = await openPlace()
  const { page, trouble } = await place.visit('schedule')
  const { press, field, gone } = on(page)
  await press('Add job')
  await field('Name').fill('tea')
  await page.locator('summary', { hasText: 'More' }).click()
  await field('Time zone').fill('Europe/Berlin')
  await page.keyboard.press('Escape')
  await gone()
  await page.goto(`${place.gateway.url}/#/skills`)
  await press('New skill')
  await field('Name').fill('tea-time')
  await page.keyboard.press('Escape')
  await gone()
  await page.goto(`${place.gateway.url}/#/tasks`)
  await field('Add task to In progress').fill('Buy tea')
  await page.goto(`${place.gateway.url}/#/settings`)
  await field('Model').first().fill('haiku')
  await page.goto(`${place.gateway.url}/#/overview`)
  await page.reload()

  await page.goto(`${place.gateway.url}/#/settings`)
  await expect.poll(() => field('Model').first().inputValue()).toBe('haiku')
  await page.goto(`${place.gateway.url}/#/tasks`)
  await expect.poll(() => field('Add task to In progress').inputValue()).toBe('Buy tea')
  expect(await field('Add task to Done').inputValue()).toBe('')
  await page.goto(`${place.gateway.url}/#/skills`)
  await press('New skill')
  expect(await field('Name').inputValue()).toBe('tea-time')
  await press('Cancel')
  await page.goto(`${place.gateway.url}/#/schedule`)
  await press('Add job')
  expect(await field('Name').inputValue()).toBe('tea')
  expect(await field('Time zone').inputValue()).toBe('Europe/Berlin')
  await field('Schedule').fill('every day at 16:00')
  await field('Instruction').fill('Remind me.')
  await press('Add')
  await expect.poll(() => page.locator('.job h2').allInnerTexts()).toEqual(['tea'])
  await press('Add job')
  expect(await field('Name').inputValue()).toBe('')
  expect(trouble).toEqual([])
})

test('selecting text and releasing outside keeps a form open; clicking outside closes it', async () => {
  const place = await openPlace()
  const { page } = await place.visit('brain')
  const { press, field, gone } = on(page)
  await press('Add fact')
  await field('Fact').fill('Tea is hot')
  const box = await field('Fact').boundingBox()
  if (box === null) throw new Error('the field is not to be seen')
  await page.mouse.move(box.x + 60, box.y + 20)
  await page.mouse.down()
  await page.mouse.move(20, box.y + 20)
  await page.mouse.up()
  expect(await field('Fact').inputValue()).toBe('Tea is hot')
  await page.mouse.click(20, box.y + 20)
  await gone()
})

test('a disconnect is announced once, and a page that failed to load is shown after the reconnect', async () => {
  const place = await openPlace()
  const { page } = await place.visit('overview')
  await page.locator('body[data-connection="open"]').waitFor()
  await place.gateway.stop()
  await page.locator('body[data-connection="offline"]').waitFor()
  // Announced once, however often it retries: otherwise a screen reader would never be quiet.
  const said = await page.evaluate<string[]>(saidMeanwhile)
  expect(said).toEqual([])
  await page.getByRole('link', { name: 'Pairing' }).click()
  await page.getByText('This page could not be loaded.').waitFor()
  await place.restart()
  await page.getByRole('heading', { name: 'People' }).waitFor()
})

const saidMeanwhile = `new Promise(done => {
  const said = []
  const watch = new MutationObserver(() => said.push(document.getElementById('connection').textContent))
  watch.observe(document.getElementById('connection'), { childList: true, characterData: true, subtree: true })
  setTimeout(() => done(said), 2500)
})`

test('an answer looks the same in Mission Control as on the chat page, whichever pages were open before', async () => {
  const place = await openPlace({}, { AGENT_BACKEND: 'echo' })
  const { page, trouble } = await place.visit('chat?conversation=looks')
  await page.getByLabel('Your message').fill(everyKind)
  await page.keyboard.press('Enter')
  await page.locator('.answer[aria-busy="false"] table').waitFor()
  const { page: alone } = await place.visit('overview')
  await alone.goto(`${place.gateway.url}/chat#looks`)
  await alone.locator('.answer[aria-busy="false"] table').waitFor()
  const wanted = await alone.evaluate<string[][]>(looksOf)
  expect(wanted.length).toBeGreaterThan(20)

  const names = await page.$$eval('#nav li:not([hidden]) a', links => links.map(link => link.getAttribute('href')))
  for (const name of names) {
    await page.goto(`${place.gateway.url}/${name}`)
    await page.locator('#page h1').first().waitFor()
  }
  await page.goto(`${place.gateway.url}/#/chat?conversation=looks`)
  await page.locator('.answer[aria-busy="false"] table').waitFor()
  const found = await page.evaluate<string[][]>(looksOf)
  expect(found.flatMap((look, place) => look.filter(rule => !wanted[place]?.includes(rule)))).toEqual([])
  expect(trouble).toEqual([])
})

const everyKind = [
  '# Head\n\nWords with `code`, a [link](https://example.org), **strong** and <mark>marked</mark>.',
  '- one\n- two\n  1. three\n\n> said by somebody',
  '```\nplain code\n```',
  '| a | b |\n|---|--:|\n| 1 | 2 |',
  '<details><summary>More</summary>less</details>',
].join('\n\n')

/** The computed style of each element, without what depends on the width of the window. */
const looksOf = `[...document.querySelectorAll('.answer, .answer .prose *, .answer .foot *')].map(element => {
  const style = getComputedStyle(element)
  const measured = /size$|width|height|inset|^(top|right|bottom|left)$|origin/
  const names = [...style].filter(name => !name.startsWith('--') && (!measured.test(name) || /^(font|border)/.test(name)))
  return names.map(name => element.tagName + '.' + element.className + ' ' + name + ': ' + style.getPropertyValue(name))
})`

test('copying is confirmed beside the button, also in the event panel', async () => {
  const place = await openPlace({}, { AGENT_BACKEND: 'echo' })
  const { page } = await place.visit('chat?conversation=copies', { permissions: ['clipboard-read', 'clipboard-write'] })
  await page.getByLabel('Your message').fill('Copy this')
  await page.keyboard.press('Enter')
  await page.locator('.answer[aria-busy="false"] time').waitFor()
  await page.goto(`${place.gateway.url}/#/activity`)
  await page.locator('a.row').first().click()
  await page.locator('.verbatim summary').first().click()
  await page.getByRole('button', { name: 'Copy prompt' }).click()
  await page.locator('dialog [role="status"]', { hasText: 'Copied' }).waitFor({ state: 'attached' })
  expect(await page.evaluate('navigator.clipboard.readText()')).toContain('Copy this')
})
