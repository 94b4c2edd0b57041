// The chat as a page of Mission Control and alone, before the whole gateway: conversations, search, code, files.
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { token } from '../harness/gateway.ts'
import { openPlace, type Place } from './whole.ts'

const say = async (page: Page, text: string) => {
  await page.fill('textarea', text)
  await page.press('textarea', 'Enter')
}
const answers = (page: Page) => page.locator('.prose').allInnerTexts()
const titles = (page: Page) => page.locator('.chats .title:visible').allInnerTexts()
const connected = (page: Page) =>
  expect.poll(() => page.locator('[id$=connection][role=status]').last().textContent()).toBe('connected')

/** As a program would. */
const post = async ({ gateway }: Place, conversation: string, text: string, wait = true) => {
  const answer = await fetch(`${gateway.url}/api/messages?wait=${wait}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}` },
    body: JSON.stringify({ conversation, text }),
  })
  expect(answer.status).toBe(wait ? 200 : 202)
}

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

test('all conversations of the gateway are listed, with what runs and what is new, and drafts stay with theirs', async () => {
  const place = await openPlace({}, { CLAUDE_STAND_IN_STEP_MS: '150' })
  await post(place, 'apples', 'about apples')
  await post(place, 'pears', 'about pears')
  const { page, trouble } = await place.visit('chat')
  await connected(page)
  await expect.poll(() => titles(page)).toEqual(['about pears', 'about apples'])
  await page.getByRole('link', { name: 'about apples' }).click()
  await expect.poll(() => answers(page)).toEqual(['turn 1: about apples'])
  await page.fill('textarea', 'half a thought about apples')

  // What happens elsewhere shows by itself.
  await post(place, 'pears', 'one two three four five six seven eight', false)
  await expect.poll(() => page.getByRole('img', { name: 'at work' }).count()).toBe(1)
  await expect.poll(() => page.getByRole('img', { name: 'unread' }).count()).toBe(1)
  await picture(page, 'list')
  await page.getByRole('link', { name: /about pears/ }).click()
  await expect.poll(async () => (await answers(page)).length).toBe(2)
  expect(await page.getByRole('img', { name: 'unread' }).count()).toBe(0)
  expect(await page.inputValue('textarea')).toBe('')
  await page.getByRole('button', { name: 'New chat' }).click()
  await page.fill('textarea', 'a plan that is not ready')
  await page.getByRole('link', { name: 'about apples' }).click()
  await expect.poll(() => page.inputValue('textarea')).toBe('half a thought about apples')
  await page.getByRole('link', { name: /a plan that is not ready ?draft/ }).click()
  await expect.poll(() => page.inputValue('textarea')).toBe('a plan that is not ready')
  await page.reload()
  await expect.poll(() => page.inputValue('textarea')).toBe('a plan that is not ready')

  await page.hover('.chats li:has-text("about pears")')
  await page.getByRole('button', { name: 'Remove “about pears” from this list' }).click()
  await expect.poll(() => titles(page)).toEqual(['a plan that is not ready', 'about apples'])
  await post(place, 'pears', 'pears again')
  await expect.poll(() => titles(page)).toContain('about pears')
  expect(trouble).toEqual([])
})

test('a word said long ago is found, and the talk opens there, with the way back to now', async () => {
  const place = await openPlace()
  await post(place, 'long', 'the first word is Quokka')
  for (let i = 0; i < 260; i += 1) await post(place, 'long', `/help`)
  await post(place, 'other', 'nothing to see')
  const { page, trouble } = await place.visit('chat?conversation=other')
  await expect.poll(() => answers(page)).toEqual(['turn 1: nothing to see'])
  await page.fill('[type=search]', 'quokka <b>')
  await expect.poll(() => page.locator('[id$=found]').textContent()).toBe('Nothing found.')
  await page.fill('[type=search]', 'quokka')
  await expect.poll(() => page.locator('.hit').count()).toBe(2)
  expect(await page.locator('.hit mark').allInnerTexts()).toEqual(['Quokka', 'Quokka'])
  await picture(page, 'search')
  await page.press('[type=search]', 'ArrowDown')
  await page.keyboard.press('ArrowDown')
  await page.locator('.hit a').last().press('Enter')
  const first = page.locator('.question', { hasText: 'the first word is Quokka' })
  await expect.poll(() => first.isVisible()).toBe(true)
  expect(new URL(page.url()).hash).toBe('#/chat?conversation=long')
  const isOnScreen = () =>
    first.evaluate(node => node.getBoundingClientRect().top >= 0 && node.getBoundingClientRect().bottom < 800)
  await expect.poll(isOnScreen).toBe(true)
  await picture(page, 'found')
  const between = page.getByRole('button', { name: 'Show what was said in between' })
  const turns = () => page.locator('.turn').count()
  for (let i = 0; i < 5 && (await between.count()) > 0; i += 1) {
    const before = await turns()
    await between.click()
    await expect.poll(async () => (await turns()) > before || (await between.count()) === 0).toBe(true)
  }
  expect([await turns(), await between.count()]).toEqual([261, 0])

  // The other way: leafing back from now.
  await page.fill('[type=search]', '')
  await page.reload()
  await expect.poll(turns).toBe(100)
  for (const many of [150, 200, 250, 261]) {
    await page.getByRole('button', { name: 'Show older' }).click()
    await expect.poll(turns).toBe(many)
  }
  expect(await page.getByRole('button', { name: 'Show older' }).count()).toBe(0)
  expect(trouble).toEqual([])
})
