// Memory & persona and Skills before the whole gateway: the owner edits the agent's files while others are at them.
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname } from 'node:path'
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { connect } from '../harness/client.ts'
import { startGateway } from '../harness/gateway.ts'
import { openPlace } from './whole.ts'

const on = (page: Page) => ({
  text: (name: string) => page.getByLabel(`Text of ${name}`, { exact: true }),
  press: (name: string) => page.getByRole('button', { name, exact: true }).click(),
  shows: (selector: string, words: string) =>
    expect.poll(() => page.locator(selector).allInnerTexts()).toContainEqual(expect.stringContaining(words)),
  /** The last of a text. */
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

test('a file is edited, reviewed, saved by the keyboard, in the log as a change by hand, and undone', async () => {
  const place = await openPlace({ 'soul.md': soul })
  const { page, trouble } = await place.visit('memory')
  const { text, press, shows, add } = on(page)
  await expect.poll(() => text('memory.md').inputValue()).toBe('# Memory\n')
  await shows('.choice', 'persona.md')
  await page.getByRole('link', { name: /^soul\.md/ }).click()
  await expect.poll(() => text('soul.md').inputValue()).toBe(soul)
  await shows('.editor-foot', '26 bytes of the 64 kB that the agent is given')
  await add('soul.md', 'Speak <b>plainly</b>. <img src=x onerror=alert(1)>\n')
  await shows('.editor h2', 'unsaved')
  await shows('.choice', 'unsaved')
  await press('Review')
  await shows('.review summary', '1 line more, 0 less')
  await shows('.review .added', '+Speak <b>plainly</b>.')
  await shot(page, 'review')
  await press('Review')
  await page.keyboard.press('Control+s')
  await shows('#toast', 'soul.md is saved.')
  expect(readFileSync(place.path('soul.md'), 'utf8')).toBe(
    `${soul}Speak <b>plainly</b>. <img src=x onerror=alert(1)>\n`,
  )
  await expect.poll(() => page.locator('.unsaved').count()).toBe(0)
  await press('Undo')
  await shows('#toast', 'Undone.')
  expect(readFileSync(place.path('soul.md'), 'utf8')).toBe(soul)
  await expect.poll(() => text('soul.md').inputValue()).toBe(soul)
  await page.getByRole('link', { name: 'Changes' }).click()
  await shows('.change', 'edited by hand')
  await shows('.change .badge', 'undone')
  await shot(page, 'changes')
  // Tab leaves the text.
  await page.getByRole('link', { name: 'Files' }).click()
  await text('memory.md').focus()
  await page.keyboard.press('Tab')
  await expect.poll(() => page.locator(':focus').textContent()).toBe('Review')
  expect(await findings(page)).toEqual([])
  expect(trouble).toEqual([])
})

test('what the agent writes meanwhile is shown at once; over what is typed it is merged, kept or taken', async () => {
  const place = await openPlace({ 'soul.md': soul })
  const { page, trouble } = await place.visit('memory')
  const { text, press, shows, add } = on(page)
  await expect.poll(() => page.textContent('#connection')).toBe('connected')
  await expect.poll(() => text('memory.md').inputValue()).toBe('# Memory\n')
  const client = await connect(place.gateway.url, 'home')
  client.say('1', '[[append:memory.md|- likes tea]]')
  await client.final('1')
  await expect.poll(() => text('memory.md').inputValue()).toBe('# Memory\n- likes tea\n')
  await shows('.editor-foot', 'shown as it is now')

  await add('memory.md', '- mine\n')
  client.say('2', '[[append:memory.md|- likes milk]]')
  await client.final('2')
  await shows('.conflict', 'memory.md was changed meanwhile')
  await shows('.conflict .added', '+- likes milk')
  expect(await findings(page)).toEqual([])
  await shot(page, 'conflict')
  await page.keyboard.press('Control+s')
  await expect.poll(() => page.locator('h3:focus').textContent()).toContain('was changed meanwhile')
  await press('Merge both')
  const both = '# Memory\n- likes tea\n- mine\n- likes milk\n'
  await expect.poll(() => text('memory.md').inputValue()).toBe(both)
  await page.keyboard.press('Control+s')
  await shows('#toast', 'memory.md is saved.')
  expect(readFileSync(place.path('memory.md'), 'utf8')).toBe(both)
  await client.close()

  await page.getByRole('link', { name: /^soul\.md/ }).click()
  await expect.poll(() => text('soul.md').inputValue()).toBe(soul)
  await text('soul.md').fill(soul.replace('calm', 'loud'))
  place.write('soul.md', soul.replace('calm', 'wild'))
  await shows('.conflict', 'Both have changed the same lines')
  expect(await page.getByRole('button', { name: 'Merge both' }).count()).toBe(0)
  await press('Take theirs')
  await expect.poll(() => text('soul.md').inputValue()).toBe(soul.replace('calm', 'wild'))
  await press('Bring mine back')
  await expect.poll(() => text('soul.md').inputValue()).toBe(soul.replace('calm', 'loud'))
  place.write('soul.md', soul.replace('calm', 'brave'))
  await shows('.conflict .added', '+Be brave.')
  await press('Keep mine')
  await press('Review')
  await shows('.review .removed', '-Be brave.')
  await press('Save')
  await shows('#toast', 'soul.md is saved.')
  expect(readFileSync(place.path('soul.md'), 'utf8')).toBe(soul.replace('calm', 'loud'))
  expect(trouble).toEqual([])
})

test('of two windows the second is asked before it overwrites the first', async () => {
  const place = await openPlace({ 'user.md': '# User\r\n\r\nAda\r\n' })
  const windows = await Promise.all([1, 2].map(() => place.visit('memory?file=user.md')))
  const [one, two] = windows.map(({ page }) => on(page))
  for (const side of [one!, two!]) await expect.poll(() => side.text('user.md').inputValue()).toBe('# User\n\nAda\n')
  await two!.add('user.md', 'likes tea\n')
  await one!.add('user.md', 'has a cat\n')
  await one!.press('Save')
  await one!.shows('#toast', 'user.md is saved.')
  // Its line ends are as they were.
  expect(readFileSync(place.path('user.md'), 'utf8')).toBe('# User\r\n\r\nAda\r\nhas a cat\r\n')
  await two!.shows('.conflict .added', '+has a cat')
  await two!.press('Merge both')
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

test('what is typed outlives a reload and a restart of the gateway', async () => {
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
  await shows('#banner', 'The line to the gateway is lost')
  await add('soul.md', 'and more\n')
  await press('Save')
  await shows('.editor .notice', 'The gateway does not answer.')
  place.write('soul.md', `${soul.replace('calm', 'still')}`)
  const configDir = place.path('')
  const home = { dir: dirname(configDir), configDir, journal: () => [], remove: async () => undefined }
  const again = await startGateway(home, env)
  onTestFinished(async () => {
    await again.stop()
  })
  await shows('.conflict .added', '+Be still.')
  await press('Merge both')
  await press('Save')
  await shows('#toast', 'soul.md is saved.')
  expect(readFileSync(place.path('soul.md'), 'utf8')).toBe(`${soul.replace('calm', 'still')}typed\nand more\n`)
})

test('a mistake in a schedule is told where it was made, and a file that cannot be edited says why', async () => {
  const place = await openPlace({ 'heartbeat.md': '## Every 30 minutes\n\n- look around\n' })
  rmSync(place.path('tools.md'))
  place.write('tools.md/inside', 'a folder')
  const { page } = await place.visit('memory?file=heartbeat.md')
  const { text, shows, add } = on(page)
  await shows('.reading', 'it has 1 job for the schedule')
  await add('heartbeat.md', '\n## Every blue moon\n\n- howl\n')
  await page.keyboard.press('Control+s')
  await shows('.reading .notice', 'blue moon')
  await shot(page, 'mistake')
  await shows('.choice', 'not editable')
  await page.getByRole('link', { name: /^tools\.md/ }).click()
  await shows('.notice', 'tools.md is no text file')
  await page.getByRole('link', { name: /^boot\.md/ }).click()
  await shows('.editor', 'not there yet: saving makes it')
  expect(await text('boot.md').inputValue()).toBe('')
})

test('skills are read, made mine, made, mended and removed', async () => {
  const place = await openPlace()
  const { page, trouble } = await place.visit('skills')
  const { text, press, shows, add } = on(page)
  await shows('.choice', 'came along')
  await page.getByRole('link', { name: /^schedules/ }).click()
  await expect.poll(() => text('schedules').inputValue()).toContain('name: schedules')
  expect(await text('schedules').getAttribute('readonly')).not.toBe(null)
  await shot(page, 'skills')
  await press('Make it mine')
  await add('schedules', 'Ask first.\n')
  await press('Save')
  await shows('.choice[aria-current] .badge', 'yours')

  await press('New skill')
  const dialog = page.getByRole('dialog', { name: 'New skill' })
  await dialog.getByLabel('Name', { exact: false }).first().fill('../Tea')
  await dialog.getByLabel('What it does, and when to use it').fill('Makes tea: "green" # or black')
  await press('Make it')
  await shows('dialog .notice', 'small letters')
  await dialog.getByLabel('Name', { exact: false }).first().fill('schedules')
  await press('Make it')
  await shows('dialog .notice', 'There is a skill called schedules already.')
  await dialog.getByLabel('Name', { exact: false }).first().fill('tea-time')
  await shot(page, 'new-skill')
  await press('Make it')
  await shows('.choice[aria-current]', 'Makes tea: "green" # or black')
  await expect.poll(() => text('tea-time').inputValue()).toContain('# Tea time')
  expect(await findings(page)).toEqual([])

  const file = place.path('skills/tea-time/SKILL.md')
  const made = readFileSync(file, 'utf8')
  // The agent spoils it.
  place.write('skills/tea-time/SKILL.md', 'no front matter\n')
  await expect.poll(() => text('tea-time').inputValue()).toBe('no front matter\n')
  await shows('.editor .notice', 'has no front matter')
  await shows('.choice[aria-current] .badge', 'left out')
  await text('tea-time').fill(made)
  await press('Save')
  await expect.poll(() => page.locator('.editor .notice').count()).toBe(0)
  await press('Remove tea-time')
  await press('Remove')
  await shows('#toast', '“tea-time” is removed.')
  expect(existsSync(file)).toBe(false)
  await expect.poll(() => page.locator('.choice', { hasText: 'tea-time' }).count()).toBe(0)
  await press('Undo')
  await shows('.choice', 'tea-time')
  expect(readFileSync(file, 'utf8')).toBe(made)

  // Removed by somebody else while it is edited.
  await page.getByRole('link', { name: /^tea-time/ }).click()
  await add('tea-time', 'Wait.\n')
  rmSync(place.path('skills/tea-time'), { recursive: true })
  await shows('.conflict', 'tea-time was removed meanwhile')
  await shows('.choice[aria-current] .badge', 'left out')
  await press('Keep mine')
  await press('Save')
  await shows('.choice[aria-current] .badge', 'yours')
  expect(readFileSync(file, 'utf8')).toBe(`${made}Wait.\n`)

  rmSync(place.path('skills/memory-care'), { recursive: true })
  await shows('[aria-label="Not in use"]', 'memory-care')
  await press('Add memory-care')
  await shows('.choice', 'memory-care')
  expect(existsSync(place.path('skills/memory-care/SKILL.md'))).toBe(true)
  expect(trouble).toEqual([])
})

test('on a phone the list and the file come one after the other, without sideways scrolling', async () => {
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
  expect(await page.locator('.desk-list').isVisible()).toBe(false)
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
