// The chat as a page of Mission Control and alone, before the whole gateway: conversations, search, code, files.
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { openPlace } from './whole.ts'

const say = async (page: Page, text: string) => {
  await page.fill('textarea', text)
  await page.press('textarea', 'Enter')
}
const answers = (page: Page) => page.locator('.prose').allInnerTexts()
const picture = async (page: Page, name: string) => {
  if (process.env.SCREENSHOTS) await page.screenshot({ path: `${process.env.SCREENSHOTS}/${name}.png` })
}

test('a talk goes on in both windows, and leaving the page leaves no line behind', async () => {
  const place = await openPlace()
  const { page, trouble } = await place.visit('overview')
  const sockets: { isClosed(): boolean }[] = []
  page.on('websocket', socket => sockets.push(socket))
  await page.getByRole('link', { name: 'Chat' }).first().click()
  await say(page, 'hello there')
  await expect.poll(() => answers(page)).toEqual(['turn 1: hello there'])
  const id = new URL(page.url()).hash.split('conversation=')[1] ?? ''
  expect(id).toMatch(/^[\w.-]+$/)
  await picture(page, 'mission')

  const bare = await page.context().newPage()
  await bare.goto(`${place.gateway.url}/chat#${id}`)
  await expect.poll(() => answers(bare)).toEqual(['turn 1: hello there'])
  await say(bare, 'and from here')
  await expect.poll(() => answers(page)).toEqual(['turn 1: hello there', 'turn 2: and from here'])

  // An event over the chat does not lose the conversation, and its Escape stops nothing.
  await page.evaluate('location.hash += "&event=1"')
  await expect.poll(() => page.getByRole('dialog').count()).toBe(1)
  await page.keyboard.press('Escape')
  await expect.poll(() => page.getByRole('dialog').count()).toBe(0)
  await expect.poll(() => new URL(page.url()).hash).toBe(`#/chat?conversation=${id}`)
  expect(await page.locator('.turn').count()).toBe(2)

  const chatLines = () => sockets.filter(socket => !socket.isClosed()).length
  expect(chatLines()).toBe(1)
  for (let i = 0; i < 3; i += 1) {
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Activity' }).click()
    await expect.poll(() => page.locator('h1').textContent()).toBe('Activity')
    await expect.poll(chatLines).toBe(0)
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Chat' }).click()
    await expect.poll(() => page.locator('.turn').count()).toBe(2)
    await expect.poll(chatLines).toBe(1)
  }
  expect(trouble).toEqual([])
})
