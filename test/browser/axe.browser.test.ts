// axe finds no accessibility violations on any page, in both themes, on wide screens and on a phone.
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { looks, show } from '../../demo/scenes.ts'
import { axeComplaints as complaints } from './axe.ts'
import { dashboard, look, scenes } from './samples.ts'

test('axe finds nothing on any page, in light and dark, wide and narrow', { timeout: 120_000 }, async () => {
  const { page, trouble } = await look(looks.light)
  const found: string[] = []
  for (const scene of scenes) {
    await page.setViewportSize(looks.light.viewport)
    await show(page, dashboard, scene)
    await page.evaluate('for (const one of document.querySelectorAll("#page details")) one.open = true')
    for (const { viewport } of [looks.light, looks.phone]) {
      await page.setViewportSize(viewport)
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        found.push(...(await complaints(page, `${scene.name}, ${colorScheme}, ${viewport.width}`)))
      }
    }
  }
  expect(found).toEqual([])
  // The page without a link is answered with 401, which browsers log.
  expect(trouble.filter(line => !/status of 401/.test(line))).toEqual([])
})

/** Buttons that only open a confirmation or a form. */
const opening = /^(?:add|new|edit|delete|reset|revoke|stop)\b/i

/** The first of each kind. */
const firstOfEach = async (page: Page): Promise<readonly string[]> => {
  const names = (await page.evaluate(
    '[...document.querySelectorAll("#page button")].filter(one => one.checkVisibility({ visibilityProperty: true })).map(one => one.getAttribute("aria-label") ?? one.textContent.trim())',
  )) as string[]
  const wordOf = (name: string) => opening.exec(name)?.[0]
  return names.filter((name, at) => opening.test(name) && names.findIndex(one => wordOf(one) === wordOf(name)) === at)
}

test.for(['light', 'phone-dark'] as const)(
  'axe finds nothing in the dialogs and the drawer: %s',
  { timeout: 90_000 },
  async name => {
    const { page } = await look(looks[name])
    const found: string[] = []
    let dialogs = 0
    for (const scene of scenes.filter(({ name, address }) => address.startsWith('/#/') && name !== 'event')) {
      await show(page, dashboard, scene)
      for (const button of await firstOfEach(page)) {
        await page.locator('#page').getByRole('button', { name: button, exact: true }).first().click()
        const dialog = page.locator('dialog[open]')
        const isOpen = await dialog.waitFor({ timeout: 1000 }).then(
          () => true,
          () => false,
        )
        if (!isOpen) continue
        dialogs += 1
        found.push(...(await complaints(page, `${scene.name}, ${button}`)))
        await page.keyboard.press('Escape')
        await dialog.waitFor({ state: 'detached' })
      }
    }
    const menu = page.getByRole('button', { name: 'Menu' })
    if (await menu.isVisible()) {
      await menu.click()
      found.push(...(await complaints(page, 'the drawer')))
    }
    expect(dialogs).toBeGreaterThan(3)
    expect(found).toEqual([])
  },
)
