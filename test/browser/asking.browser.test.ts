// From the agent to the browser and back, with the real gateway and a stand-in for claude that asks before it runs a command.
import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { openPlace } from './real-gateway.ts'

const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }

test('a command runs only once it is allowed in the browser; the other window and the badge follow', async () => {
  const place = await openPlace({}, { AGENT_BACKEND: 'claude' })
  const [allowed, denied] = [place.path('allowed.txt'), place.path('denied.txt')]
  const chat = await place.visit('chat?conversation=home', phone)
  const other = await place.visit('approvals')
  const say = async (text: string) => {
    await chat.page.fill('#chat-box', text)
    await chat.page.press('#chat-box', 'Enter')
  }
  await say(`[[ask:Bash:touch ${allowed}]]`)
  await chat.page.locator('.ask-card[data-state=open] pre', { hasText: `touch ${allowed}` }).waitFor()
  await expect.poll(() => other.page.title()).toBe('(1) Approvals · Aetheel')
  expect(existsSync(allowed)).toBe(false)
  await chat.page.getByRole('button', { name: 'Allow once' }).click()
  await expect.poll(() => existsSync(allowed)).toBe(true)
  await expect.poll(() => other.page.title()).toBe('Approvals · Aetheel')
  await expect.poll(() => other.page.locator('.ask-outcome').allTextContents()).toEqual(['Allowed once by owner'])

  await say(`[[ask:Bash:touch ${denied}]]`)
  await other.page.getByRole('button', { name: 'Deny with a reason …' }).click()
  await other.page.keyboard.type('Not here.')
  await other.page.keyboard.press('Enter')
  await expect.poll(() => chat.page.locator('.ask-outcome').allTextContents()).toContain('Denied by owner')
  await expect.poll(() => chat.page.locator('.turn').last().getAttribute('data-state')).toBe('answered')
  expect(existsSync(denied)).toBe(false)

  await chat.page.reload()
  await expect
    .poll(() => chat.page.locator('.ask-outcome').allTextContents())
    .toEqual(['Allowed once by owner', 'Denied by owner'])
  expect([...chat.trouble, ...other.trouble]).toEqual([])
})
