// The page Approvals and the badge: open requests with the ways to answer, the history, and news from elsewhere.
import { expect, test } from 'vitest'
import { askedCommand, someRequest } from '../fakes/requests.ts'
import { axeComplaints } from './axe.ts'
import { connected, ordered, page, press, shows, stage, trouble, visit } from './owner.ts'

const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }
const title = () => page.title()

test('an open request is answered in place, moves to the history, and the badge and the title follow', async () => {
  stage.requests.put(someRequest({ event: 12 }))
  await visit('approvals')
  await shows('#nav-asks', '1')
  await expect.poll(title).toBe('(1) Approvals · Aetheel')
  await shows('.card', 'npm test -- --run')
  await press('Allow once')
  await expect.poll(() => stage.requests.decisions).toEqual([{ id: 1, decision: { allow: true } }])
  await shows('[aria-label="History"] .ask-outcome', 'Allowed once by owner')
  await shows('[aria-label="Waiting for an answer"]', 'Nothing is waiting for you.')
  await expect.poll(title).toBe('Approvals · Aetheel')
  expect(await page.locator('#nav-asks').isVisible()).toBe(false)
  // The focus was on a button that is gone.
  expect(await page.evaluate('document.activeElement.tagName')).toBe('H1')
  await page.locator('.ask-card summary').click()
  await page.locator('.ask-event').click()
  await shows('dialog', 'Event 12')
  // The event is not in this sample, so the browser logs that.
  expect(trouble.filter(line => !/status of 404/.test(line))).toEqual([])
})

test('news from elsewhere are shown at once, on every page', async () => {
  await visit('overview')
  await connected()
  stage.requests.put(someRequest())
  stage.requests.put(someRequest({ id: 2, ask: askedCommand('git push') }))
  await shows('#bar-asks', '2')
  await expect.poll(title).toBe('(2) Overview · Aetheel')
  await page.locator('#bar-asks').click()
  await shows('[aria-label="Waiting for an answer"]', 'git push')
  await stage.requests.decide(2, { allow: false, message: 'Not on Fridays.' }, 'ada')
  await shows('[aria-label="History"] .ask-outcome', 'Denied by ada')
  await expect.poll(title).toBe('(1) Approvals · Aetheel')
  expect(trouble).toEqual([])
})

test('rules are listed with their origin, and revoked after a question', async () => {
  await visit('approvals')
  await shows('[aria-label="Rules"] tbody tr', 'Bash(git status:*)')
  await shows('[aria-label="Rules"] tbody tr', 'webchat:home')
  await shows('[aria-label="Rules"] tbody tr', 'by hand')
  await press('Revoke Bash(git status:*)')
  await press('Revoke')
  const rule = { list: 'allow', rule: 'Bash(git status:*)', conversation: 'webchat:home', project: null }
  await ordered({ remove: rule })
  await expect.poll(() => page.locator('.rule').allTextContents()).toEqual(['Edit(secrets/**)'])
  expect(trouble).toEqual([])
})

test.for(['light', 'dark'] as const)('the page fits a phone, and axe finds nothing: %s', async colorScheme => {
  stage.requests.put(someRequest({ ask: askedCommand(`echo ${'a-very-long-word'.repeat(20)}`) }))
  stage.requests.put(someRequest({ id: 2 }))
  await stage.requests.decide(2, { allow: false, message: 'no' }, 'owner')
  await visit('approvals', { ...phone, colorScheme })
  await page.locator('.ask-card summary').click()
  await press('Allow always …')
  expect(
    await page.evaluate('document.querySelector("#main").scrollWidth > document.querySelector("#main").clientWidth'),
  ).toBe(false)
  expect(await axeComplaints(page, 'approvals')).toEqual([])
  if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/approvals-${colorScheme}.png` })
})
