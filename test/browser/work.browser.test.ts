// What the agent did, folded under its answer: in the chat, after a reload, and in the panel of an event.
import { expect, test } from 'vitest'
import { axeComplaints } from './axe.ts'
import { openMission } from './mission-stage.ts'
import { token } from './stage.ts'
import { count, page, shows, stage, trouble, visit } from './visitor.ts'

const home = `/chat?token=${token}#home`
const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }

const answered = (id: string, work: Record<string, number>) => ({
  type: 'history',
  messages: [
    { id, role: 'user', text: 'Please test it.', at: 1, ok: true, state: 'answered' },
    { id, role: 'agent', text: 'All is well.', at: 2, ok: true, state: 'answered' },
  ],
  older: null,
  requests: [],
  work,
})
const requested = () => {
  const paths: string[] = []
  page.on('request', request => request.url().includes('/api/work') && paths.push(request.url()))
  return paths
}

test('under an answer of the past, the work is folded, loaded when it is opened, and shows each step whole', async () => {
  stage.greetWith(peer => peer.say(answered('m1', { m1: 3 })))
  await visit({}, home)
  const paths = requested()
  await shows('.work > summary', 'What it did: 3 steps')
  expect(paths).toEqual([])
  await page.locator('.work > summary').click()
  await expect.poll(() => count('.work-item')).toBe(4)
  expect(paths).toEqual([`${stage.url}/api/work?conversation=home&id=m1`])
  const line = page.locator('.work-item', { hasText: 'npm test' }).locator('.work-line')
  expect(await line.textContent()).toContain('allowed by Ada · 2.5 s')
  await line.click()
  await shows('.work-item[open] pre[aria-label=Output]', '12 passed')
  await shows('.work-detail p', 'Exit code 0')

  await page.locator('.work-line', { hasText: 'src/garden.ts' }).click()
  await shows('.work .added', '+<b>new</b>\n')
  const colours = (await page.evaluate(
    `['.work .added', '.work .removed'].map(kind => getComputedStyle(document.querySelector(kind)).color)`,
  )) as string[]
  expect(new Set(colours).size).toBe(2)
  await page.locator('.work-line', { hasText: '1 of 2 done' }).click()
  await shows('.work .ask-todo li', '☑ Dig')
  await page.locator('.work-line', { hasText: 'The tests come first.' }).click()
  await shows('.work-thought', 'The tests come first.')
  expect(trouble).toEqual([])
})

test('an answer that has just come has its work, and an answer without work has none', async () => {
  await visit({}, home)
  const peer = await stage.peer()
  peer.say(
    { type: 'said', id: 'm1', text: 'Please test it.' },
    { type: 'action', id: 'm1', label: 'Thinking', phase: 'started' },
    { type: 'action', id: 'm1', label: 'Run npm test', phase: 'started' },
    { type: 'action', id: 'm1', label: 'Run npm test', phase: 'ended' },
  )
  await shows('.actions li', 'Run npm test')
  expect(await count('.work:visible')).toBe(0)
  peer.say({ type: 'final', id: 'm1', text: 'Done.', ok: true })
  await shows('.work > summary', 'What it did: 1 step')
  expect(await count('.actions li')).toBe(0)
  peer.say({ type: 'said', id: 'm2', text: 'Thanks.' }, { type: 'final', id: 'm2', text: 'Gladly.', ok: true })
  await shows('.turn[data-id=m2] .prose', 'Gladly.')
  expect(await count('.turn[data-id=m2] .work:visible')).toBe(0)
})

test('work that is not stored any more is said so, and opening it again asks again', async () => {
  stage.greetWith(peer => peer.say(answered('gone', { gone: 1 })))
  await visit({}, home)
  const paths = requested()
  await page.locator('.work > summary').click()
  await shows('.work-error', 'This message is not stored (any more).')
  await page.locator('.work > summary').click()
  await page.locator('.work > summary').click()
  await expect.poll(() => paths.length).toBe(2)
})

test.for(['light', 'dark'] as const)('at phone width it fits, and axe finds nothing: %s', async colorScheme => {
  stage.greetWith(peer => peer.say(answered('m1', { m1: 3 })))
  await visit({ ...phone, colorScheme }, home)
  await page.locator('.work > summary').click()
  await expect.poll(() => count('.work-item')).toBe(4)
  for (const item of await page.locator('.work-item > summary').all()) await item.click()
  await shows('.work pre[aria-label=Output]', '12 passed')
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
  expect(await axeComplaints(page, colorScheme)).toEqual([])
})

test('the panel of an event shows the same work', async () => {
  const mission = await openMission()
  try {
    await visit()
    await page.goto(`${mission.url}/?token=${token}`)
    await page.goto(`${mission.url}/#/activity?event=41`)
    await page.locator('.panel .work > summary').click()
    await page.locator('.work-line', { hasText: 'npm test' }).click()
    await shows('.panel .work pre[aria-label=Output]', '12 passed')
    expect(await axeComplaints(page, 'event')).toEqual([])
  } finally {
    await mission.stop()
  }
})
