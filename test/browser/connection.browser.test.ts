// The chat page when the connection breaks, the gateway goes down, or another window is open.
import { expect, test } from 'vitest'
import { count, page, reopen, shows, stage, state, trouble, type, visit } from './visitor.ts'

test('after a disconnect the same conversation comes back with the missed final, once', async () => {
  await visit()
  await type('slow one')
  const first = await stage.peer()
  const { id } = await first.next('message')
  first.say({ type: 'accepted', id }, { type: 'draft', id, text: 'half an' })
  await shows('.prose', 'half an')
  const history = [
    { id, role: 'user', text: 'slow one', at: Date.now(), ok: true, state: 'answered' },
    { id, role: 'agent', text: 'half an answer, and the rest', at: Date.now(), ok: true, state: 'answered' },
  ]
  stage.greetWith(peer =>
    peer.say(
      { type: 'final', id, text: 'half an answer, and the rest', ok: true },
      { type: 'history', messages: history },
    ),
  )
  first.hangUp()
  const second = await stage.peer(1)
  expect(second.conversation).toBe(first.conversation)
  await shows('.prose', 'half an answer, and the rest')
  await expect.poll(() => page.isVisible('#banner')).toBe(false)
  expect([await count('.turn'), await state()]).toEqual([1, 'answered'])
  expect(second.heard).toEqual([])
  expect(trouble).toEqual([])
})

test('an unaccepted message is sent again under its id, after a disconnect and after a reload', async () => {
  await visit()
  await type('precious')
  const { id } = await (await stage.peer()).next('message')
  ;(await stage.peer()).hangUp()
  expect(await (await stage.peer(1)).next('message')).toEqual({ type: 'message', id, text: 'precious' })
  await page.reload()
  const third = await stage.peer(2)
  expect(third.conversation).toBe('talk-1')
  expect(await third.next('message')).toEqual({ type: 'message', id, text: 'precious' })
  third.say({ type: 'accepted', id }, { type: 'final', id, text: 'kept', ok: true })
  await shows('.prose', 'kept')
  expect(await count('.turn')).toBe(1)
  await page.reload()
  await page.waitForTimeout(300)
  expect((await stage.peer(3)).heard).toEqual([])
  expect(trouble).toEqual([])
})

test('an unaccepted message is neither lost nor sent to another chat', async () => {
  await visit()
  await type('for the first chat')
  const { id } = await (await stage.peer()).next('message')
  await page.click('#new-chat')
  const second = await stage.peer(1)
  await shows('#connection', 'connected')
  await page.click('#recent a')
  const third = await stage.peer(2)
  expect([second.heard, third.conversation]).toEqual([[], 'talk-1'])
  expect(await third.next('message')).toEqual({ type: 'message', id, text: 'for the first chat' })
  expect(trouble).toEqual([])
})

test('while the gateway is down a banner says so, and messages are sent once it is back', async () => {
  await visit()
  await stage.peer()
  const { port } = stage
  await stage.stop()
  await expect.poll(() => page.isVisible('#banner')).toBe(true)
  expect(await page.isDisabled('#stop')).toBe(true)
  await type('written offline')
  await shows('.status', 'Will be sent once the gateway is back')
  // Long enough before the next retry that it is the button which reconnects.
  await expect.poll(() => page.textContent('#banner-text')).toMatch(/in (?:[3-9]|1\d) s/)
  await reopen(port)
  await page.click('#try-now')
  const peer = await stage.peer()
  const { id, text } = await peer.next('message')
  expect(text).toBe('written offline')
  peer.say({ type: 'accepted', id })
  await expect.poll(() => page.isVisible('#banner')).toBe(false)
  await expect.poll(() => state()).toBe('accepted')
})

test('a message written or edited in another window shows up here, once', async () => {
  await visit()
  await type('mine')
  const peer = await stage.peer()
  const mine = await peer.next('message')
  peer.say({ type: 'accepted', id: mine.id }, { type: 'said', id: mine.id, text: 'mine' })
  peer.say({ type: 'said', id: 'b', text: '**theirs**' }, { type: 'waiting', id: 'b', position: 1 })
  await expect.poll(() => page.locator('.question').allInnerTexts()).toEqual(['mine', '**theirs**'])
  expect([await state(0), await state(1)]).toEqual(['accepted', 'waiting'])
  peer.say({ type: 'said', id: 'b', text: 'theirs, better' })
  await expect.poll(() => page.locator('.question').allInnerTexts()).toEqual(['mine', 'theirs, better'])
  expect(await state(1)).toBe('waiting')
  peer.say(
    { type: 'final', id: mine.id, text: 'one', ok: true },
    { type: 'draft', id: 'c', text: 'first seen by its answer' },
    { type: 'final', id: 'b', text: 'two', ok: true },
    { type: 'said', id: 'b', text: 'too late' },
    { type: 'said', id: 'c', text: 'third' },
  )
  await expect.poll(() => page.locator('.question').allInnerTexts()).toEqual(['mine', 'theirs, better', 'third'])
  expect(await page.locator('.turn').evaluateAll(all => all.map(one => one.dataset.state))).toEqual([
    'answered',
    'answered',
    'running',
  ])
  await page.reload()
  await stage.peer(1)
  await page.waitForTimeout(200)
  expect((await stage.peer(1)).heard).toEqual([]) // not ours to send
  expect(trouble).toEqual([])
})

test('a message refused by a stopping gateway is kept and sent under its id after the restart, also from other windows', async () => {
  await visit()
  await type('before')
  const first = await stage.peer()
  const before = await first.next('message')
  first.say({ type: 'accepted', id: before.id }, { type: 'draft', id: before.id, text: 'on' })
  const other = await page.context().newPage()
  await other.goto(`${stage.url}/chat#talk-1`)
  const elsewhere = await stage.peer(1)
  await type('meanwhile')
  const { id } = await first.next('message')
  first.say({ type: 'refused', id, reason: 'Stopping: I am shutting down and accept no new messages.' })
  await shows('.status', 'Will be sent once the gateway is back')
  expect([await state(1), await page.isVisible('.status button')]).toEqual(['sending', false])
  for (const peer of [first, elsewhere]) peer.say({ type: 'final', id: before.id, text: 'on and done', ok: true })
  await expect.poll(() => other.locator('.prose').allInnerTexts()).toEqual(['on and done'])
  await other.close()
  await page.reload()
  const second = await stage.peer(2)
  expect(await second.next('message')).toEqual({ type: 'message', id, text: 'meanwhile' })
  second.say({ type: 'refused', id, reason: 'Stopping: I am shutting down and accept no new messages.' })
  await shows('.status', 'Will be sent once the gateway is back')
  second.hangUp()
  const third = await stage.peer(3)
  expect(await third.next('message')).toEqual({ type: 'message', id, text: 'meanwhile' })
  await shows('.status', 'Sending …')
  third.say({ type: 'accepted', id }, { type: 'final', id, text: 'here', ok: true })
  await shows('.prose', 'here')
  expect([second.heard.length, third.heard.length]).toEqual([1, 1])
  expect(trouble).toEqual([])
})

test('when the token changes the page says so instead of retrying silently', async () => {
  await visit()
  await stage.peer()
  await page.context().clearCookies()
  ;(await stage.peer()).hangUp()
  await expect.poll(() => page.locator('#banner').textContent()).toContain('npx aetheel status')
})
