// The chat page when responses are late, duplicated, or arrive after another chat was opened: nothing is lost, and nothing ends up in the wrong chat.
import type { Route } from 'playwright-core'
import { expect, test } from 'vitest'
import { hold, reveal } from './held-requests.ts'
import type { Peer } from './stage.ts'
import { count, page, reopen, shows, stage, trouble, type, visit } from './visitor.ts'

const body = 'document.activeElement === document.body'
const box = () => page.inputValue('#box')
const said = (id: string, text: string, more: object = {}) => ({
  id,
  role: 'user',
  text,
  at: 1,
  state: 'answered',
  ...more,
})
const answered = (id: string, text: string, at = 1) => ({ id, role: 'agent', text, at, ok: true, state: 'answered' })
const talk = (from: number, to: number, name = 'm') =>
  Array.from({ length: to - from }, (_, i) => from + i).flatMap(n => [
    said(`${name}${n}`, `question ${n}`, { at: n }),
    answered(`${name}${n}`, `answer ${n}`, n),
  ])
const waitingMessage = async (peer: Peer, text: string) => {
  await type(text)
  const { id } = await peer.next('message')
  peer.say({ type: 'accepted', id }, { type: 'waiting', id, position: 1 })
  await expect.poll(() => page.locator('.status').last().textContent()).toContain('number 1')
  return id
}

/** A queued message "first words" with an unconfirmed edit to "better words". */
const changedMessage = async (peer: Peer) => {
  const id = await waitingMessage(peer, 'first words')
  await page.press('#box', 'ArrowUp')
  await type('better words')
  await peer.next('edit')
  return id
}

test('the edit of a queued message survives a disconnect before it is confirmed', async () => {
  await visit()
  const peer = await stage.peer()
  const id = await changedMessage(peer)
  stage.greetWith(next => next.say({ type: 'history', messages: [said(id, 'first words', { state: 'waiting' })] }))
  peer.hangUp()
  const second = await stage.peer(1)
  await expect.poll(box).toBe('better words')
  expect(await page.isVisible('#editing')).toBe(true)
  await page.press('#box', 'Enter')
  expect(await second.next('edit')).toEqual({ type: 'edit', id, text: 'better words' })

  // This time the gateway had received it.
  stage.greetWith(next => next.say({ type: 'history', messages: [said(id, 'better words', { state: 'waiting' })] }))
  second.hangUp()
  await stage.peer(2)
  await shows('.question', 'better words')
  await expect.poll(() => page.locator('.status').last().textContent()).toContain('Queued')
  expect([await box(), await page.isVisible('#editing')]).toEqual(['', false])
  expect(trouble).toEqual([])
})

test('an edit that is too late is not dropped when another message is being written', async () => {
  await visit()
  const peer = await stage.peer()
  const id = await changedMessage(peer)
  await page.fill('#box', 'meanwhile')
  peer.say({ type: 'action', id, label: 'too late to change', phase: 'failed' })
  await expect.poll(box).toBe('better words\n\nmeanwhile')
})

test('holding Enter saves an edit and does not send the draft below it', async () => {
  await visit()
  const peer = await stage.peer()
  const id = await waitingMessage(peer, 'first words')
  await page.fill('#box', 'half a')
  await page.getByRole('button', { name: 'Edit' }).click()
  await page.fill('#box', 'better words')
  await page.keyboard.down('Enter')
  await page.keyboard.down('Enter')
  await page.keyboard.up('Enter')
  expect(await peer.next('edit')).toEqual({ type: 'edit', id, text: 'better words' })
  await page.waitForTimeout(100)
  expect([await box(), peer.heard.filter(one => one.type === 'message').length]).toEqual(['half a', 1])
})

test('a message written in a new chat while the gateway was down is found again and sent', async () => {
  await visit()
  const { conversation } = await stage.peer()
  await type('in the first')
  const peer = await stage.peer()
  const { id } = await peer.next('message')
  peer.say({ type: 'accepted', id }, { type: 'final', id, text: 'done', ok: true })
  await shows('.prose', 'done')
  const { port } = stage
  await stage.stop()
  await expect.poll(() => page.isVisible('#banner')).toBe(true)
  await page.click('#new-chat')
  await expect.poll(() => count('.turn')).toBe(0)
  await type('written in vain?')
  await page.locator(`#recent [data-id="${conversation}"] a`).click()
  await expect.poll(() => page.locator('#recent .title').allInnerTexts()).toContain('written in vain?')
  await reopen(port)
  await stage.peer()
  await page.locator('#recent a', { hasText: 'written in vain?' }).click()
  const fresh = await stage.peer(1)
  expect((await fresh.next('message')).text).toBe('written in vain?')
})

test('a chat opens at its end, even if another one was scrolled to the top', async () => {
  stage.greetWith(peer => peer.say({ type: 'history', messages: talk(0, 40), older: null }))
  await visit({}, '/chat?token=browser-token#one')
  await shows('.prose', 'answer 39')
  await type('two')
  await page.evaluate('document.getElementById("scroll").scrollTo(0, 0)')
  await expect.poll(() => page.isVisible('#to-end')).toBe(true)
  await page.evaluate('location.hash = "#two"')
  await stage.peer(1)
  await expect.poll(() => count('.turn')).toBe(40)
  const fromEnd =
    'document.getElementById("scroll").scrollHeight - document.getElementById("scroll").scrollTop - document.getElementById("scroll").clientHeight'
  await expect.poll(() => page.evaluate(fromEnd)).toBeLessThan(40)
})

test('after a long disconnect there is no gap in the conversation: older messages can be loaded', async () => {
  stage.greetWith(peer => peer.say({ type: 'history', messages: talk(0, 3), older: null }))
  await visit({}, '/chat?token=browser-token#one')
  await shows('.prose', 'answer 2')
  stage.greetWith(peer =>
    peer.say(
      { type: 'final', id: 'm59', text: 'answer 59', ok: true },
      { type: 'history', messages: talk(40, 60), older: 40 },
    ),
  )
  await page.route('**/api/history?*', route => {
    const before = Number(new URL(route.request().url()).searchParams.get('before'))
    return route.fulfill({
      json: { messages: talk(before - 20, before), older: before === 20 ? null : before - 20, newer: before },
    })
  })
  ;(await stage.peer()).hangUp()
  await shows('.prose', 'answer 59')
  await expect.poll(() => page.isVisible('#older')).toBe(true)
  await page.click('#older')
  await expect.poll(() => count('.turn')).toBe(40)
  await page.click('#older')
  await expect.poll(() => page.isVisible('#older')).toBe(false)
  const all = Array.from({ length: 60 }, (_, n) => `question ${n}`)
  await expect.poll(() => page.locator('.question').allInnerTexts()).toEqual(all)
})

test('of two search results opened in a row the last one is shown, whichever response comes first', async () => {
  stage.greetWith(peer => peer.say({ type: 'history', messages: talk(500, 520), older: 500 }))
  await visit({}, '/chat?token=browser-token#one')
  await shows('.prose', 'answer 519')
  const hit = (n: number) => ({
    conversation: 'one',
    id: `m${n}`,
    role: 'user',
    item: n,
    at: n,
    snippet: `question ${n}`,
  })
  const slow: Route[] = []
  await page.route('**/api/history?*', route => {
    const query = new URL(route.request().url()).searchParams
    if (query.has('q')) return route.fulfill({ json: { hits: [hit(100), hit(300)] } })
    const at = Number(query.get('before') ?? query.get('from'))
    const answer = query.has('before')
      ? { messages: talk(at - 5, at), older: at - 5, newer: at }
      : { messages: talk(at, at + 5), older: at, newer: at + 5 }
    if (at === 305) Object.assign(answer, { messages: talk(305, 500), newer: 500 })
    if (at === 100) return void slow.push(route)
    return route.fulfill({ json: answer })
  })
  await page.fill('#search', 'question')
  await expect.poll(() => count('.hit')).toBe(2)
  await page.locator('.hit a').first().click()
  await expect.poll(() => slow.length).toBe(2)
  await page.locator('.hit a').last().click()
  await expect.poll(() => page.evaluate('document.activeElement.dataset.id')).toBe('m300')
  for (const route of slow) {
    const query = new URL(route.request().url()).searchParams
    await route.fulfill({
      json: query.has('before')
        ? { messages: talk(95, 100), older: 95, newer: 100 }
        : { messages: talk(100, 105), older: 100, newer: 105 },
    })
  }
  await page.waitForTimeout(200)
  expect(await page.evaluate('document.activeElement.dataset.id')).toBe('m300')
  expect(await page.locator('.question', { hasText: 'question 100' }).count()).toBe(0)

  await page.locator('.gap:visible').press('Enter')
  await expect.poll(() => count('.gap:visible')).toBe(0)
  await page.waitForTimeout(100)
  expect(await page.evaluate('document.activeElement.dataset.id')).toBe('m500')
})

test('loading older messages of one chat shows no error in the next one and does not block it', async () => {
  stage.greetWith(peer => peer.say({ type: 'history', messages: talk(50, 60, peer.conversation), older: 50 }))
  await visit({}, '/chat?token=browser-token#one')
  await shows('.prose', 'answer 59')
  const next = await hold(page, '**/api/history?*', 'GET')
  await page.click('#older')
  const route = await next()
  await page.evaluate('location.hash = "#two"')
  await stage.peer(1)
  await expect.poll(() => page.locator('.turn').first().getAttribute('data-id')).toBe('two50')
  expect(await page.isDisabled('#older')).toBe(false)
  const hint = await page.locator('#hint').textContent()
  await route.abort()
  await page.waitForTimeout(200)
  expect(await page.locator('#hint').textContent()).toBe(hint)
})

test('loading older chats does not take the focus from the message box', async () => {
  const many = (n: number) =>
    Array.from({ length: n }, (_, i) => ({ id: `c${i}`, title: `chat ${i}`, at: 1000 - i, waiting: 0, running: false }))
  const slow: Route[] = []
  await visit({}, '/chat?token=browser-token#one')
  await page.route('**/api/conversations?*', route => {
    if (route.request().url().includes('limit=100')) return route.fulfill({ json: { conversations: many(100) } })
    return void slow.push(route)
  })
  const peer = await stage.peer()
  peer.say({ type: 'final', id: 'x', text: 'news', ok: true })
  await expect.poll(() => page.isVisible('#more-chats')).toBe(true)
  await page.click('#more-chats')
  await expect.poll(() => slow.length).toBe(1)
  await page.click('#box')
  await slow[0]?.fulfill({ json: { conversations: many(150) } })
  await expect.poll(() => count('#recent li')).toBeGreaterThan(140)
  expect(await page.evaluate('document.activeElement.id')).toBe('box')
})

test('the focus stays in the search results when the next response arrives', async () => {
  await visit()
  await stage.peer()
  const slow: Route[] = []
  await page.route('**/api/history?*', route => {
    const words = new URL(route.request().url()).searchParams.get('q') ?? ''
    const hits = [1, 2].map(n => ({
      conversation: 'c',
      id: `${n}`,
      role: 'user',
      item: n,
      at: n,
      snippet: `${words} ${n}`,
    }))
    if (words === 'abc') return void slow.push(route)
    return route.fulfill({ json: { hits } })
  })
  await page.fill('#search', 'ab')
  await expect.poll(() => count('.hit')).toBe(2)
  await page.press('#search', 'End')
  await page.keyboard.type('c')
  await expect.poll(() => slow.length).toBe(1)
  await page.keyboard.press('ArrowDown')
  expect(await page.evaluate('document.activeElement.tagName')).toBe('A')
  await slow[0]?.fulfill({
    json: { hits: [{ conversation: 'c', id: '9', role: 'user', item: 9, at: 9, snippet: 'abc' }] },
  })
  await expect.poll(() => count('.hit')).toBe(1)
  expect(await page.evaluate('document.activeElement.closest(".hit") !== null')).toBe(true)
})

test('keyboard focus is never lost: older messages, a message resent or cancelled, a chat removed from the list', async () => {
  stage.greetWith(peer => peer.say({ type: 'history', messages: talk(50, 60), older: 50 }))
  await visit({}, '/chat?token=browser-token#one')
  await shows('.prose', 'answer 59')
  await page.route('**/api/history?*', route => {
    const before = Number(new URL(route.request().url()).searchParams.get('before'))
    return route.fulfill({
      json: { messages: talk(before - 5, before), older: before === 45 ? null : before - 5, newer: before },
    })
  })
  await page.focus('#older')
  await page.keyboard.press('Enter')
  await expect.poll(() => count('.turn')).toBe(15)
  await page.waitForTimeout(100)
  expect(await page.evaluate('document.activeElement.id')).toBe('older')
  await page.keyboard.press('Enter')
  await expect.poll(() => count('.turn')).toBe(20)
  await page.waitForTimeout(100)
  expect(await page.evaluate(body)).toBe(false)

  const peer = await stage.peer()
  const id = await waitingMessage(peer, 'never mind')
  await page.getByRole('button', { name: 'Cancel' }).focus()
  peer.say({ type: 'waiting', id, position: 0 })
  await expect.poll(() => page.locator('.status').last().textContent()).toContain('up next')
  await page.waitForTimeout(100)
  expect(await page.evaluate('document.activeElement.textContent')).toBe('Cancel')
  await page.keyboard.press('Enter')
  await peer.next('cancel')
  await page.waitForTimeout(100)
  expect(await page.evaluate(body)).toBe(false)
  peer.say({ type: 'refused', id, reason: 'cancelled' })
  await page.getByRole('button', { name: 'Send again' }).focus()
  await page.keyboard.press('Enter')
  await peer.next('message')
  await page.waitForTimeout(100)
  expect(await page.evaluate(body)).toBe(false)

  await page.click('#new-chat')
  const other = await stage.peer(1)
  await type('another')
  await other.next('message')
  await page.locator('#recent .forget').last().focus()
  await page.keyboard.press('Enter')
  await expect.poll(() => count('#recent li')).toBe(1)
  await page.waitForTimeout(100)
  expect(await page.evaluate(body)).toBe(false)
})

test('after any number of retries there is one connection', async () => {
  await visit()
  await stage.peer()
  const { port } = stage
  await stage.stop()
  await expect.poll(() => page.isVisible('#banner')).toBe(true)
  await page.route('**/chat', route => setTimeout(() => void route.abort().catch(() => {}), 400))
  const hurry = () => page.evaluate('dispatchEvent(new Event("online"))')
  for (let i = 0; i < 2; i += 1) {
    await hurry()
    await page.waitForTimeout(60)
  }
  await page.waitForTimeout(500)
  await reopen(port)
  await hurry()
  await stage.peer()
  const more = stage.peer(1).then(
    () => 'another line',
    () => 'none',
  )
  expect(await Promise.race([more, page.waitForTimeout(6000).then(() => 'none')])).toBe('none')
})

test('an upload that finishes after switching chats and back is attached', async () => {
  await visit({}, '/chat?token=browser-token#one')
  await stage.peer()
  await expect.poll(() => page.locator('#connection').textContent()).toBe('connected')
  const next = await hold(page, '**/api/attachments?*', 'POST')
  await page.setInputFiles('#files', { name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('a') })
  const upload = await next()
  await page.evaluate('location.hash = "#two"')
  await stage.peer(1)
  await expect.poll(() => count('#attached li')).toBe(0)
  await page.evaluate('location.hash = "#one"')
  await stage.peer(2)
  await upload.fulfill({ status: 201, json: { attachment: { id: 'f1', name: 'a.txt', bytes: 1, type: 'text/plain' } } })
  await expect.poll(() => count('#attached a.file')).toBe(1)
  await page.fill('#box', 'with a file')
  await page.press('#box', 'Enter')
  expect(await (await stage.peer(2)).next('message')).toMatchObject({ text: 'with a file', attachments: ['f1'] })
})

test('a chat opens even if the list is updated between mouse down and mouse up', async () => {
  await visit({}, '/chat?token=browser-token#one')
  const peer = await stage.peer()
  const chats = (titles: string[]) => ({
    json: { conversations: titles.map((title, i) => ({ id: title, title, at: 1000 - i, waiting: 0, running: false })) },
  })
  let listed = ['first', 'second']
  await page.route('**/api/conversations?*', route => route.fulfill(chats(listed)))
  peer.say({ type: 'final', id: 'x', text: 'news', ok: true })
  await expect.poll(() => page.locator('#recent .title').allInnerTexts()).toEqual(['first', 'second'])
  await page.locator('#recent a').first().hover()
  await page.mouse.down()
  listed = ['first', 'second', 'third']
  peer.say({ type: 'final', id: 'y', text: 'more', ok: true })
  await expect.poll(() => count('#recent li')).toBe(3)
  await page.mouse.up()
  expect((await stage.peer(1)).conversation).toBe('first')
})

test('a window without a draft does not overwrite the draft of another window', async () => {
  await visit({}, '/chat?token=browser-token#one')
  await stage.peer()
  const other = await page.context().newPage()
  await other.goto(`${stage.url}/chat#one`)
  await stage.peer(1)
  await other.fill('#box', 'half a thought')
  await other.waitForTimeout(600)
  await other.close({ runBeforeUnload: true })
  await page.evaluate('location.hash = "#two"')
  await stage.peer(2)
  await page.evaluate('location.hash = "#one"')
  await stage.peer(3)
  expect(await box()).toBe('half a thought')

  // Sending again does not send the draft as well.
  const peer = await stage.peer(3)
  await type('refuse me')
  const { id } = await peer.next('message')
  peer.say({ type: 'refused', id, reason: 'No.' })
  await page.fill('#box', 'another thought')
  await page.waitForTimeout(600)
  await page.getByRole('button', { name: 'Retry' }).click()
  await peer.next('message')
  await page.reload()
  await stage.peer(4)
  expect(await box()).toBe('another thought')

  // A draft that is cleared here is gone.
  await page.fill('#box', '')
  await page.evaluate('location.hash = "#two"')
  await stage.peer(5)
  await page.evaluate('location.hash = "#one"')
  await stage.peer(6)
  expect(await box()).toBe('')
})

test('the chat in the address is opened, even if the hello of the previous one arrives at that moment', async () => {
  await visit()
  await reveal(page, 'WebSocket')
  await page.goto(`${stage.url}/chat#one`)
  await page.reload()
  await expect.poll(() => page.locator('#connection').textContent()).toBe('connected')
  await page.evaluate(`{
    location.hash = '#two'
    line.dispatchEvent(new MessageEvent('message', { data: '{"type":"hello","conversation":"one"}' }))
  }`)
  await expect.poll(() => page.evaluate('new URL(line.url).search')).toBe('?drafts=delta&conversation=two')
  expect(new URL(page.url()).hash).toBe('#two')
})
