// Facts, tasks and content items against the real gateway: the owner, the agent and a text editor change the same files.
import { readFileSync, renameSync } from 'node:fs'
import { source as axe } from 'axe-core'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { openPlace, type Place } from './real-gateway.ts'

type Raw = Record<string, unknown>

const phone = { viewport: { width: 360, height: 780 }, hasTouch: true, isMobile: true }

const at = '2026-11-16T09:00:00.000Z'
const stamps = { createdAt: at, updatedAt: at }
const facts = [
  { id: 'tea', content: 'Ada drinks tea', type: 'preference', category: 'kitchen', tags: ['ada', 'drinks'], ...stamps },
  { id: 'car', content: 'The car is red', type: 'fact', category: 'things', tags: ['car'], mood: 'good', ...stamps },
]
const tasks = [
  { id: 'paint', title: 'Paint the fence', notes: 'Green, two coats.', status: 'todo', ...stamps },
  { id: 'mow', title: 'Mow', status: 'todo', due: '2020-01-02', createdAt: '2026-11-16T09:00:01.000Z', updatedAt: at },
  { id: 'rest', title: 'Rest', status: 'doing', ...stamps },
]
const evil = '<img src=x onerror="alert(1)"><script>alert(2)</script>'
const finds = [
  { id: 'web', title: 'On lanes', url: 'https://example.org/lanes', tags: ['queues'], summary: 'Short.', ...stamps },
  { id: 'evil', title: evil, url: 'javascript:alert(3)', kind: evil, tags: [evil], summary: evil, ...stamps },
]

const read = (place: Place, name: string) => JSON.parse(readFileSync(place.path(name), 'utf8')) as Raw[]
const texts = (page: Page, selector: string) => () => page.locator(selector).allInnerTexts()
const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()
const column = (page: Page, name: string) =>
  page.getByRole('region', { name, exact: true }).locator('.task-title').allInnerTexts()
/** A field of the open form. */
const field = (page: Page, label: string) => page.getByRole('dialog').getByLabel(label, { exact: true })
const focused = (page: Page) => page.evaluate('document.activeElement.textContent')
/** Without the console messages that browsers log for the expected error responses. */
const unexpected = (trouble: string[]) => trouble.filter(line => !/status of (404|409)|ERR_FAILED/.test(line))

const violations = async (page: Page) => {
  await page.evaluate(axe)
  const { violations } = await page.evaluate<{ violations: { id: string; nodes: { html: string }[] }[] }>('axe.run()')
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' | ')}`)
}
const sideways = (page: Page) =>
  page.evaluate('Math.max(main.scrollWidth - main.clientWidth, document.body.scrollWidth - innerWidth)')

test('facts are filtered, added, edited and deleted, and the file is updated', async () => {
  const place = await openPlace({ 'brain.json': JSON.stringify(facts) })
  const { page, trouble } = await place.visit('brain')
  const shown = texts(page, '.record .text')
  await expect.poll(shown).toHaveLength(2)
  await page.getByLabel('Search facts').fill('TEA kitchen')
  await expect.poll(shown).toEqual(['Ada drinks tea'])
  await press(page, 'Clear filter')
  await page.getByLabel('Type').selectOption('fact')
  await expect.poll(shown).toEqual(['The car is red'])
  await press(page, 'Clear filter')
  await press(page, 'Filter by tag drinks')
  await expect.poll(shown).toEqual(['Ada drinks tea'])
  await press(page, 'Clear filter')

  await press(page, 'Add fact')
  await field(page, 'Fact').fill(evil)
  await field(page, 'Tags').fill('odd, odd , new')
  await press(page, 'Add')
  await expect.poll(shown).toContain(evil)
  await expect.poll(() => read(place, 'brain.json')).toHaveLength(3)
  expect(read(place, 'brain.json')[2]).toMatchObject({ content: evil, type: 'fact', tags: ['odd', 'new'] })

  await press(page, 'Edit “The car is red”')
  await field(page, 'Category').fill('garage')
  await press(page, 'Save')
  await expect
    .poll(() => read(place, 'brain.json')[1])
    .toMatchObject({ category: 'garage', mood: 'good', tags: ['car'] })

  await press(page, 'Delete “The car is red”')
  await expect.poll(shown).toHaveLength(2)
  await expect.poll(() => focused(page)).toBe('Undo')
  await expect.poll(() => read(place, 'brain.json')).toHaveLength(2)
  await press(page, 'Undo')
  await expect.poll(shown).toHaveLength(3)
  await expect
    .poll(() => read(place, 'brain.json').at(-1))
    .toMatchObject({ id: 'car', category: 'garage', mood: 'good' })
  await page.reload()
  await expect.poll(shown).toHaveLength(3)
  expect(trouble).toEqual([])
})

test('unsaved input survives Escape, an error and a reload', async () => {
  const place = await openPlace({ 'brain.json': JSON.stringify(facts) })
  const { page, trouble } = await place.visit('brain')
  await press(page, 'Edit “Ada drinks tea”')
  await field(page, 'Fact').fill('Ada drinks cocoa')
  await page.keyboard.press('Escape')
  await expect.poll(() => page.locator('dialog').count()).toBe(0)
  await page.reload()
  await press(page, 'Edit “Ada drinks tea”')
  expect(await field(page, 'Fact').inputValue()).toBe('Ada drinks cocoa')
  await page.route('**/api/brain?*', route => route.abort())
  await press(page, 'Save')
  await expect.poll(texts(page, 'dialog .notice')).toEqual(['The gateway is not responding. Is it running?'])
  expect(await field(page, 'Fact').inputValue()).toBe('Ada drinks cocoa')
  await page.unroute('**/api/brain?*')
  await press(page, 'Save')
  await expect.poll(() => read(place, 'brain.json')[0]).toMatchObject({ content: 'Ada drinks cocoa' })
  await press(page, 'Edit “Ada drinks cocoa”')
  expect(await page.locator('.kept').count()).toBe(0)
  expect(unexpected(trouble)).toEqual([])
})

test('two windows and a text editor change the same file: each sees the others, and conflicts are resolved by the owner', async () => {
  const place = await openPlace({ 'brain.json': JSON.stringify(facts) })
  const { page: here, trouble } = await place.visit('brain')
  const { page: there } = await place.visit('brain')
  const shown = (page: Page) => texts(page, '.record .text')
  await expect.poll(shown(there)).toHaveLength(2)
  const edit = (change: (list: Raw[]) => Raw[], byRename = false) => {
    place.write(byRename ? 'next.json' : 'brain.json', JSON.stringify(change(read(place, 'brain.json'))))
    if (byRename) renameSync(place.path('next.json'), place.path('brain.json'))
  }
  edit(list => [...list, { content: 'By hand' }])
  for (const page of [here, there]) await expect.poll(shown(page)).toContain('By hand')
  edit(list => list.map(one => (one.content === 'By hand' ? { ...one, content: 'By rename' } : one)), true)
  for (const page of [here, there]) await expect.poll(shown(page)).toContain('By rename')

  // Untouched fields are updated; for edited ones the owner decides.
  await press(here, 'Edit “Ada drinks tea”')
  await field(here, 'Fact').fill('Ada drinks cocoa')
  edit(list => list.map(one => (one.id === 'tea' ? { ...one, content: 'Ada drinks milk', category: 'cellar' } : one)))
  await expect.poll(texts(here, '.clash blockquote')).toEqual(['Ada drinks milk'])
  expect(await field(here, 'Category').inputValue()).toBe('cellar')
  expect(await field(here, 'Fact').inputValue()).toBe('Ada drinks cocoa')
  await press(here, 'Keep mine')
  await press(here, 'Save')
  await expect.poll(shown(there)).toContain('Ada drinks cocoa')

  // The same when the window has not noticed the change: the gateway refuses with the current record.
  await press(here, 'Edit “Ada drinks cocoa”')
  await here.route('**/api/brain', route => route.abort())
  await field(here, 'Fact').fill('Ada drinks water')
  await field(here, 'Tags').fill('ada')
  await press(there, 'Edit “Ada drinks cocoa”')
  await field(there, 'Fact').fill('Ada drinks wine')
  await press(there, 'Save')
  await expect.poll(shown(there)).toContain('Ada drinks wine')
  await press(here, 'Save')
  await expect.poll(texts(here, '.clash blockquote')).toEqual(['Ada drinks wine'])
  expect(await field(here, 'Fact').inputValue()).toBe('Ada drinks water')
  await press(here, 'Use theirs')
  await here.unroute('**/api/brain')
  await press(here, 'Save')
  await expect.poll(() => read(place, 'brain.json')[0]).toMatchObject({ content: 'Ada drinks wine', tags: ['ada'] })

  // Deleted while the owner edits it.
  await press(here, 'Edit “The car is red”')
  await field(here, 'Fact').fill('The car is blue')
  await press(there, 'Delete “The car is red”')
  await press(here, 'Add again')
  for (const page of [here, there]) await expect.poll(shown(page)).toContain('The car is blue')
  expect(unexpected(trouble)).toEqual([])
})

test('cards are moved by mouse, by keyboard and from the menu, in all windows', async () => {
  const place = await openPlace({ 'tasks.json': JSON.stringify(tasks) })
  const { page, trouble } = await place.visit('tasks')
  const { page: other } = await place.visit('tasks')
  await expect.poll(() => column(page, 'To do')).toEqual(['Paint the fence', 'Mow'])
  await page.locator('#task-mow').dragTo(page.locator('#task-rest'), { targetPosition: { x: 10, y: 2 } })
  await expect.poll(() => column(page, 'In progress')).toEqual(['Mow', 'Rest'])
  await expect.poll(() => column(other, 'In progress')).toEqual(['Mow', 'Rest'])
  await expect.poll(() => read(place, 'tasks.json')[1]).toMatchObject({ status: 'doing' })

  const said = () => page.locator('#page > [role=status].unseen').first().textContent()
  await page.locator('#task-paint').focus()
  await page.keyboard.press('Alt+ArrowRight')
  await expect.poll(said).toBe('“Paint the fence” moved to In progress, position 1 of 3.')
  await expect.poll(() => focused(page)).toBe('Paint the fence')
  await page.keyboard.press('Alt+ArrowDown')
  await page.keyboard.press('Alt+ArrowDown')
  await page.keyboard.press('Alt+ArrowDown')
  await expect.poll(said).toBe('“Paint the fence” moved to In progress, position 3 of 3.')
  expect(await column(page, 'In progress')).toEqual(['Mow', 'Rest', 'Paint the fence'])
  await page.keyboard.press('Alt+ArrowUp')
  await page.keyboard.press('Alt+ArrowRight')
  await page.keyboard.press('Alt+ArrowRight')
  await expect.poll(() => focused(page)).toBe('Paint the fence')
  await expect.poll(() => column(other, 'Done')).toEqual(['Paint the fence'])
  await press(other, 'Move “Rest”')
  await press(other, 'Move up')
  await expect.poll(() => column(page, 'In progress')).toEqual(['Rest', 'Mow'])

  // The agent writes the file, with its own fields.
  const now = () => read(place, 'tasks.json')
  await expect.poll(now).toEqual(expect.arrayContaining([expect.objectContaining({ id: 'paint', status: 'done' })]))
  place.write('tasks.json', JSON.stringify([...now(), { title: 'From the agent', status: 'doing' }]))
  await expect.poll(() => column(page, 'In progress')).toContain('From the agent')

  await page.getByLabel('Add task to Done').fill('Sleep')
  await page.keyboard.press('Enter')
  await expect.poll(() => column(page, 'Done')).toEqual(['Paint the fence', 'Sleep'])
  await page.locator('#task-paint').click()
  await field(page, 'Notes').fill('Blue.')
  await field(page, 'Due').fill('2026-12-24')
  await press(page, 'Save')
  await expect.poll(texts(other, '.task-notes')).toEqual(['Blue.'])
  await page.locator('#task-paint').click()
  await press(page, 'Delete')
  await expect.poll(() => column(other, 'Done')).toEqual(['Sleep'])
  await press(page, 'Undo')
  await expect.poll(() => column(other, 'Done')).toEqual(['Paint the fence', 'Sleep'])
  await page.reload()
  await expect.poll(() => column(page, 'In progress')).toEqual(['From the agent', 'Rest', 'Mow'])
  expect(trouble).toEqual([])
})

test('content items link only to web pages, and everything in them is text', async () => {
  const place = await openPlace({ 'content-items.json': JSON.stringify(finds) })
  const { page, trouble } = await place.visit('content')
  const link = page.locator('.content-item a')
  await expect.poll(() => link.count()).toBe(1)
  expect(await link.getAttribute('href')).toBe('https://example.org/lanes')
  expect(await link.getAttribute('rel')).toBe('noopener noreferrer')
  expect(await texts(page, '.content-item h2')()).toContain(evil)
  expect(await page.locator('.content-item :is(img, script)').count()).toBe(0)
  await page.getByLabel('Status of “On lanes”').selectOption('reading')
  await expect.poll(() => read(place, 'content-items.json')[0]).toMatchObject({ status: 'reading', tags: ['queues'] })
  place.write('content-items.json', JSON.stringify([...read(place, 'content-items.json'), { title: 'From the agent' }]))
  await expect.poll(texts(page, '.content-item h2')).toContain('From the agent')
  await page.getByLabel('Search content items').fill('lanes')
  await expect.poll(texts(page, '.content-item h2')).toEqual(['On lanes'])
  await page.keyboard.press('Escape')
  await press(page, 'Add item')
  await field(page, 'Title').fill('A film')
  await field(page, 'Kind').fill('video')
  await press(page, 'Add')
  await expect.poll(() => read(place, 'content-items.json')).toHaveLength(4)
  expect(trouble).toEqual([])
})

test('the three pages fit on a phone in both themes, without axe violations', async () => {
  const long = 'x'.repeat(300)
  const place = await openPlace({
    'brain.json': JSON.stringify([
      ...facts,
      { content: long, type: long.slice(0, 90), category: long.slice(0, 90), tags: [long.slice(0, 90)] },
    ]),
    'tasks.json': JSON.stringify([...tasks, { title: long, notes: long }]),
    'content-items.json': JSON.stringify([
      ...finds,
      { title: long, url: `https://example.org/${long}`, summary: long },
    ]),
  })
  for (const name of ['brain', 'tasks', 'content']) {
    const { page, trouble } = await place.visit(name, { ...phone, colorScheme: 'dark' })
    await expect.poll(() => page.locator('.record, .task').count()).toBeGreaterThan(2)
    expect(await sideways(page)).toBe(0)
    expect(await violations(page)).toEqual([])
    await page.locator('.task-title, .record .acts .button').first().click()
    expect(await page.locator('dialog').evaluate(one => one.scrollWidth - one.clientWidth)).toBeLessThanOrEqual(0)
    await page.emulateMedia({ colorScheme: 'light' })
    expect(await violations(page)).toEqual([])
    expect(trouble).toEqual([])
    await page.close()
  }
  const { page } = await place.visit('tasks', phone)
  await page.getByRole('button', { name: 'Move “Rest”' }).tap()
  await page.getByRole('button', { name: 'Move to Done' }).tap()
  await expect.poll(() => column(page, 'Done')).toEqual(['Rest'])
})
