// Memory & persona and Skills against the real gateway: the owner edits the agent's files while others change them too.
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname } from 'node:path'
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { connect } from '../harness/client.ts'
import { startGateway } from '../harness/gateway.ts'
import { openPlace } from './real-gateway.ts'

const on = (page: Page) => ({
  text: (name: string) => page.getByLabel(`Text of ${name}`, { exact: true }),
  press: (name: string) => page.getByRole('button', { name, exact: true }).click(),
  shows: (selector: string, words: string) =>
    expect.poll(() => page.locator(selector).allInnerTexts()).toContainEqual(expect.stringContaining(words)),
  /** Types at the end of the text. */
  async add(name: string, words: string) {
    await page.getByLabel(`Text of ${name}`, { exact: true }).press('Control+End')
    await page.keyboard.type(words)
  },
})

async function findings(page: Page): Promise<string[]> {
  await page.evaluate(axe.source)
  return page.evaluate(async () => {
    const { axe: checker } = globalThis as unknown as {
      axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> }
    }
    return (await checker.run()).violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)
  })
}

const shot = async (page: Page, name: string) => {
  if (process.env.SCREENSHOTS) await page.screenshot({ path: `${process.env.SCREENSHOTS}/${name}.png` })
}

const soul = '# Soul\n\nBe calm.\nBe kind.\n'

test('a file is edited, reviewed, saved by keyboard, logged as a manual change, and undone', async () => {
  const place = await openPlace({ 'soul.md': soul })
  const { page, trouble } = await place.visit('memory')
  const { text, press, shows, add } = on(page)
  await expect.poll(() => text('memory.md').inputValue()).toBe('# Memory\n')
  await shows('.choice', 'persona.md')
  await page.getByRole('link', { name: /^soul\.md/ }).click()
  await expect.poll(() => text('soul.md').inputValue()).toBe(soul)
  await shows('.editor-foot', '26 bytes of 64 kB')
  await add('soul.md', 'Speak <b>plainly</b>. <img src=x onerror=alert(1)>\n')
  await shows('.editor h2', 'unsaved')
  await shows('.choice', 'unsaved')
  await press('Review')
  await shows('.review summary', '1 line added, 0 removed')
  await shows('.review .added', '+Speak <b>plainly</b>.')
  await shot(page, 'review')
  await press('Review')
  await page.keyboard.press('Control+s')
  await shows('#toast', 'soul.md saved.')
  expect(readFileSync(place.path('soul.md'), 'utf8')).toBe(
    `${soul}Speak <b>plainly</b>. <img src=x onerror=alert(1)>\n`,
  )
  await expect.poll(() => page.locator('.unsaved').count()).toBe(0)
  await press('Undo')
  await shows('#toast', 'Change undone.')
  expect(readFileSync(place.path('soul.md'), 'utf8')).toBe(soul)
  await expect.poll(() => text('soul.md').inputValue()).toBe(soul)
  await page.getByRole('link', { name: 'Changes' }).click()
  await shows('.change', 'edited manually')
  await shows('.change .badge', 'undone')
  await shot(page, 'changes')
  // Tab leaves the text field.
  await page.getByRole('link', { name: 'Files' }).click()
  await text('memory.md').focus()
  await page.keyboard.press('Tab')
  await expect.poll(() => page.locator(':focus').textContent()).toBe('Review')
  expect(await findings(page)).toEqual([])
  expect(trouble).toEqual([])
})

test('changes by the agent are shown immediately; conflicts with unsaved edits are merged or resolved', async () => {
  const place = await openPlace({ 'soul.md': soul })
  const { page, trouble } = await place.visit('memory')
  const { text, press, shows, add } = on(page)
  await expect.poll(() => page.textContent('#connection')).toBe('connected')
  await expect.poll(() => text('memory.md').inputValue()).toBe('# Memory\n')
  const client = await connect(place.gateway.url, 'home')
  client.say('1', '[[append:memory.md|- likes tea]]')
  await client.final('1')
  await expect.poll(() => text('memory.md').inputValue()).toBe('# Memory\n- likes tea\n')
  await shows('.editor-foot', 'and reloaded')

  await add('memory.md', '- mine\n')
  client.say('2', '[[append:memory.md|- likes milk]]')
  await client.final('2')
  await shows('.conflict', 'memory.md was changed on disk')
  await shows('.conflict .added', '+- likes milk')
  expect(await findings(page)).toEqual([])
  await shot(page, 'conflict')
  await page.keyboard.press('Control+s')
  await expect.poll(() => page.locator('h3:focus').textContent()).toContain('was changed on disk')
  await press('Merge')
  const both = '# Memory\n- likes tea\n- mine\n- likes milk\n'
  await expect.poll(() => text('memory.md').inputValue()).toBe(both)
  await page.keyboard.press('Control+s')
  await shows('#toast', 'memory.md saved.')
  expect(readFileSync(place.path('memory.md'), 'utf8')).toBe(both)
  await client.close()

  await page.getByRole('link', { name: /^soul\.md/ }).click()
  await expect.poll(() => text('soul.md').inputValue()).toBe(soul)
  await text('soul.md').fill(soul.replace('calm', 'loud'))
  place.write('soul.md', soul.replace('calm', 'wild'))
  await shows('.conflict', 'Both versions change the same lines')
  expect(await page.getByRole('button', { name: 'Merge' }).count()).toBe(0)
  await press('Use version on disk')
  await expect.poll(() => text('soul.md').inputValue()).toBe(soul.replace('calm', 'wild'))
  await press('Restore mine')
  await expect.poll(() => text('soul.md').inputValue()).toBe(soul.replace('calm', 'loud'))
  place.write('soul.md', soul.replace('calm', 'brave'))
  await shows('.conflict .added', '+Be brave.')
  await press('Keep mine')
  await press('Review')
  await shows('.review .removed', '-Be brave.')
  await press('Save')
  await shows('#toast', 'soul.md saved.')
  expect(readFileSync(place.path('soul.md'), 'utf8')).toBe(soul.replace('calm', 'loud'))
  expect(trouble).toEqual([])
})

test('of two windows the second one is asked before it overwrites the first', async () => {
  const place = await openPlace({ 'user.md': '# User\r\n\r\nAda\r\n' })
  const windows = await Promise.all([1, 2].map(() => place.visit('memory?file=user.md')))
  const [one, two] = windows.map(({ page }) => on(page))
  for (const side of [one!, two!]) await expect.poll(() => side.text('user.md').inputValue()).toBe('# User\n\nAda\n')
  await two!.add('user.md', 'likes tea\n')
  await one!.add('user.md', 'has a cat\n')
  await one!.press('Save')
  await one!.shows('#toast', 'user.md saved.')
  // The line ends are preserved.
  expect(readFileSync(place.path('user.md'), 'utf8')).toBe('# User\r\n\r\nAda\r\nhas a cat\r\n')
  await two!.shows('.conflict .added', '+has a cat')
  await two!.press('Merge')
  await two!.press('Save')
  await expect.poll(() => one!.text('user.md').inputValue()).toBe('# User\n\nAda\nlikes tea\nhas a cat\n')
  for (const { trouble } of windows) expect(trouble).toEqual([])
})

const freePort = () =>
  new Promise<string>(resolve => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(String(typeof address === 'object' ? address?.port : 0)))
    })
  })

test('unsaved edits survive a reload and a restart of the gateway', async () => {
  const env = { HTTP_PORT: await freePort() }
  const place = await openPlace({ 'soul.md': soul }, env)
  const { page } = await place.visit('memory?file=soul.md')
  const { text, press, shows, add } = on(page)
  await expect.poll(() => text('soul.md').inputValue()).toBe(soul)
  await add('soul.md', 'typed\n')
  await page.reload()
  await expect.poll(() => text('soul.md').inputValue()).toBe(`${soul}typed\n`)
  await shows('.editor h2', 'unsaved')
  await place.gateway.stop()
  await shows('#banner', 'Disconnected from the gateway')
  await add('soul.md', 'and more\n')
  await press('Save')
  await shows('.editor .notice', 'The gateway is not responding.')
  place.write('soul.md', `${soul.replace('calm', 'still')}`)
  const configDir = place.path('')
  const home = { dir: dirname(configDir), configDir, journal: () => [], remove: async () => undefined }
  const again = await startGateway(home, env)
  onTestFinished(async () => {
    await again.stop()
  })
  await shows('.conflict .added', '+Be still.')
  await press('Merge')
  await press('Save')
  await shows('#toast', 'soul.md saved.')
  expect(readFileSync(place.path('soul.md'), 'utf8')).toBe(`${soul.replace('calm', 'still')}typed\nand more\n`)
})

test('an error in a schedule is shown in the editor, and a file that cannot be edited shows the reason', async () => {
  const place = await openPlace({ 'heartbeat.md': '## Every 30 minutes\n\n- look around\n' })
  rmSync(place.path('tools.md'))
  place.write('tools.md/inside', 'a folder')
  const { page } = await place.visit('memory?file=heartbeat.md')
  const { text, shows, add } = on(page)
  await shows('.reading', 'defines 1 job in the schedule')
  await add('heartbeat.md', '\n## Every blue moon\n\n- howl\n')
  await page.keyboard.press('Control+s')
  await shows('.reading .notice', 'blue moon')
  await shot(page, 'mistake')
  await shows('.choice', 'not editable')
  await page.getByRole('link', { name: /^tools\.md/ }).click()
  await shows('.notice', 'tools.md is not a text file')
  await page.getByRole('link', { name: /^boot\.md/ }).click()
  await shows('.editor', 'does not exist yet; saving creates it')
  expect(await text('boot.md').inputValue()).toBe('')
})

test('skills are viewed, edited, created, repaired and deleted', async () => {
  const place = await openPlace()
  const { page, trouble } = await place.visit('skills')
  const { text, press, shows, add } = on(page)
  await shows('.choice', 'built-in')
  await page.getByRole('link', { name: /^schedules/ }).click()
  await expect.poll(() => text('schedules').inputValue()).toContain('name: schedules')
  expect(await text('schedules').getAttribute('readonly')).not.toBe(null)
  await shot(page, 'skills')
  await press('Edit')
  await add('schedules', 'Ask first.\n')
  await press('Save')
  await shows('.choice[aria-current] .badge', 'yours')

  await press('New skill')
  const dialog = page.getByRole('dialog', { name: 'New skill' })
  await dialog.getByLabel('Name', { exact: false }).first().fill('../Tea')
  await dialog.getByLabel('Description').fill('Makes tea: "green" # or black')
  await press('Create')
  await shows('dialog .notice', 'lowercase letters')
  await dialog.getByLabel('Name', { exact: false }).first().fill('schedules')
  await press('Create')
  await shows('dialog .notice', 'A skill named schedules already exists.')
  await dialog.getByLabel('Name', { exact: false }).first().fill('tea-time')
  await shot(page, 'new-skill')
  await press('Create')
  await shows('.choice[aria-current]', 'Makes tea: "green" # or black')
  await expect.poll(() => text('tea-time').inputValue()).toContain('# Tea time')
  expect(await findings(page)).toEqual([])

  const file = place.path('skills/tea-time/SKILL.md')
  const made = readFileSync(file, 'utf8')
  // The agent breaks it.
  place.write('skills/tea-time/SKILL.md', 'no front matter\n')
  await expect.poll(() => text('tea-time').inputValue()).toBe('no front matter\n')
  await shows('.editor .notice', 'has no front matter')
  await shows('.choice[aria-current] .badge', 'not loaded')
  await text('tea-time').fill(made)
  await press('Save')
  await expect.poll(() => page.locator('.editor .notice').count()).toBe(0)
  await press('Delete tea-time')
  await press('Delete')
  await shows('#toast', '“tea-time” deleted.')
  expect(existsSync(file)).toBe(false)
  await expect.poll(() => page.locator('.choice', { hasText: 'tea-time' }).count()).toBe(0)
  await press('Undo')
  await shows('.choice', 'tea-time')
  expect(readFileSync(file, 'utf8')).toBe(made)

  // Deleted by someone else while it is edited.
  await page.getByRole('link', { name: /^tea-time/ }).click()
  await add('tea-time', 'Wait.\n')
  rmSync(place.path('skills/tea-time'), { recursive: true })
  await shows('.conflict', 'tea-time was deleted on disk')
  await shows('.choice[aria-current] .badge', 'not loaded')
  await press('Keep mine')
  await press('Save')
  await shows('.choice[aria-current] .badge', 'yours')
  expect(readFileSync(file, 'utf8')).toBe(`${made}Wait.\n`)

  rmSync(place.path('skills/memory-care'), { recursive: true })
  await shows('[aria-label="Available skills"]', 'memory-care')
  await press('Add memory-care')
  await shows('.choice', 'memory-care')
  expect(existsSync(place.path('skills/memory-care/SKILL.md'))).toBe(true)
  expect(trouble).toEqual([])
})

test('on a phone the list and the file are shown one at a time, without sideways scrolling', async () => {
  const long = `${'a-very-long-word'.repeat(20)}\n`
  const place = await openPlace({ 'soul.md': long })
  const { page, trouble } = await place.visit('memory', { viewport: { width: 360, height: 740 }, hasTouch: true })
  const { text, press, shows } = on(page)
  const fits = async () => [
    await page.$eval('html', node => node.scrollWidth),
    await page.$eval('#main', node => node.scrollWidth - node.clientWidth),
  ]
  await shows('.choice', 'soul.md')
  expect(await page.locator('.editor').isVisible()).toBe(false)
  expect(await fits()).toEqual([360, 0])
  await page.getByRole('link', { name: /^soul\.md/ }).click()
  await expect.poll(() => text('soul.md').inputValue()).toBe(long)
  expect(await page.locator('.list-detail-list').isVisible()).toBe(false)
  await expect.poll(() => page.locator(':focus').textContent()).toContain('All files')
  await text('soul.md').fill(`${long}more\n`)
  await press('Review')
  await shows('.review .added', '+more')
  expect(await fits()).toEqual([360, 0])
  await page.getByRole('link', { name: /All files/ }).click()
  await shows('.choice', 'unsaved')
  await page.goBack()
  await expect.poll(() => text('soul.md').inputValue()).toBe(`${long}more\n`)
  await page.goto(`${place.gateway.url}/#/skills`)
  await shows('.choice', 'schedules')
  expect(await fits()).toEqual([360, 0])
  expect(await findings(page)).toEqual([])
  expect(trouble).toEqual([])
})
