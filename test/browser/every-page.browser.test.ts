// Every page in the navigation fits the narrowest phone, and every visible control is reachable by keyboard.
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { looks, show } from '../../demo/scenes.ts'
import { dashboard, look, scenes } from './samples.ts'

test('no page is wider than its window', { timeout: 60_000 }, async () => {
  const { page } = await look(looks.light)
  const wide: string[] = []
  for (const scene of scenes) {
    await page.setViewportSize(looks.light.viewport)
    await show(page, dashboard, scene)
    for (const width of [1280, 821, 820, 390, 360]) {
      await page.setViewportSize({ width, height: 800 })
      await page.waitForTimeout(60) // charts are redrawn
      const over = await page.evaluate(tooWide)
      if (over !== '') wide.push(`${scene.name}, ${width}: ${over}`)
    }
  }
  expect(wide).toEqual([])
})

/** Elements that can be scrolled sideways but should not; code and tables in answers may scroll. */
const tooWide = `(() => {
  const sideways = [...document.querySelectorAll('html, body, #main, #scroll, dialog[open], dialog[open] .dialog-inner')]
    .filter(one => one.scrollWidth > one.clientWidth)
  return sideways.map(one => one.id || one.className || one.tagName).join(', ')
})()`

test('the keyboard reaches every control of every page, with a visible focus', {
  timeout: 120_000,
}, async () => {
  const { page } = await look(looks.light)
  const missed: string[] = []
  for (const scene of scenes) {
    // A long conversation would have a button at each answer.
    await show(page, dashboard, { ...scene, address: scene.address.replace('desk', 'review') })
    missed.push(...(await walk(page)).map(one => `${scene.name}: ${one}`))
  }
  expect(missed).toEqual([])
})

/** Presses Tab until the focus has gone round; returns the controls that were not reached or do not show their focus. */
const walk = async (page: Page): Promise<readonly string[]> => {
  await page.evaluate(begin)
  const unseen: string[] = []
  // It has gone round when nothing new is reached. If the focused element is hidden, the body has the focus for a moment.
  for (let [old, i] = [0, 0]; old < 4 && i < 400; i += 1) {
    await page.keyboard.press('Tab')
    const { name, known, ring } = (await page.evaluate(focused)) as { name: string; known: boolean; ring: boolean }
    old = known ? old + 1 : 0
    if (!ring && !(await changesItsLook(page))) unseen.push(`${name} does not show its focus`)
  }
  const left = (await page.evaluate(unreached)) as string[]
  return [...unseen, ...left.map(name => `${name} is not reached`)]
}

const begin = `(() => {
  globalThis.reached = new Set()
  globalThis.counted = new Map()
  globalThis.nameOf = one => one.tagName.toLowerCase() + ' ' + (one.getAttribute('aria-label') ?? one.textContent ?? '').trim().slice(0, 40)
  // An open dialog already has the focus.
  if (document.querySelector('dialog[open]')) reached.add(document.activeElement)
  else { document.body.tabIndex = -1; document.body.focus() }
})()`

const focused = `(() => {
  const one = document.activeElement
  const known = reached.has(one) || one === document.body
  if (!known) counted.set(nameOf(one), (counted.get(nameOf(one)) ?? 0) + 1)
  reached.add(one)
  const { outlineStyle, outlineWidth } = getComputedStyle(one)
  const ring = one === document.body || (outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2)
  return { name: nameOf(one), known, ring }
})()`

const unreached = `(() => {
  const place = document.querySelector('dialog[open]') ?? document
  const controls = [...place.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"]')]
  const ofGroup = one => one.type === 'radio' && [...document.getElementsByName(one.name)].some(other => reached.has(other))
  return controls
    .filter(one => one.tabIndex >= 0 && !one.disabled && !one.closest('[inert]') && one.checkVisibility({ visibilityProperty: true }))
    .filter(one => !reached.has(one) && !ofGroup(one))
    .map(nameOf)
    // A list may have been rendered again: then it is enough that as many of that name were reached.
    .filter((name, _, all) => controls.filter(one => nameOf(one) === name).length > (counted.get(name) ?? 0))
})()`

/** The focus ring may be on an element around it: does anything there look different without the focus? */
const changesItsLook = async (page: Page): Promise<boolean> => {
  const box = await page.locator(':focus').boundingBox()
  if (box === null) return false
  const clip = {
    x: Math.max(0, box.x - 12),
    y: Math.max(0, box.y - 12),
    width: box.width + 24,
    height: box.height + 24,
  }
  const picture = async () => (await page.screenshot({ clip, caret: 'hide' })).toString('base64')
  const before = await picture()
  await page.evaluate('globalThis.was = document.activeElement; was.blur()')
  const after = await picture()
  await page.evaluate('was.focus()')
  return before !== after
}

test('in the timeline of an event that switched backends, the first attempt is marked as failed and the last is not', async () => {
  const { page } = await look(looks.light)
  const event = scenes.find(({ name }) => name === 'event')
  if (event) await show(page, dashboard, event)
  expect(
    await page.locator('.timeline [data-what="finished"]').evaluateAll(ends => ends.map(one => one.className)),
  ).toEqual(['bad', ''])
})
