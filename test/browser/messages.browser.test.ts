// What a person can do with a message on the chat page: edit, cancel, stop, send again, expand.
import { expect, test } from 'vitest'
import { count, page, shows, stage, trouble, type, visit } from './visitor.ts'

test('a queued message is edited with the arrow key or the button, or cancelled', async () => {
  await visit()
  const peer = await stage.peer()
  const ids: string[] = []
  for (const text of ['first', 'second', 'third']) {
    await type(text)
    const { id } = await peer.next('message')
    ids.push(id)
    peer.say({ type: 'accepted', id })
    if (ids.length > 1) peer.say({ type: 'waiting', id, position: ids.length - 1 })
  }
  await expect.poll(() => page.locator('.status').nth(2).textContent()).toContain('Queued, number 2')
  await page.press('#box', 'ArrowUp')
  expect(await page.inputValue('#box')).toBe('third')
  await type('third, better')
  expect(await peer.next('edit')).toEqual({ type: 'edit', id: ids[2], text: 'third, better' })
  await expect.poll(() => page.locator('.status').nth(2).textContent()).toBe('Saving edit …')
  peer.say({ type: 'accepted', id: ids[2] })
  await expect.poll(() => page.locator('.status').nth(2).textContent()).toContain('Queued')
  expect(await page.locator('.question').nth(2).textContent()).toBe('third, better')

  await page.locator('.turn').nth(1).getByRole('button', { name: 'Cancel' }).click()
  expect((await peer.next('cancel')).id).toBe(ids[1])
  peer.say({ type: 'refused', id: ids[1], reason: 'cancelled' }, { type: 'waiting', id: ids[2], position: 1 })
  await expect.poll(() => page.locator('.status').nth(1).textContent()).toContain('Cancelled')

  await page.locator('.turn').nth(2).getByRole('button', { name: 'Edit' }).click()
  await type('third, too late')
  await peer.next('edit')
  peer.say({ type: 'action', id: ids[2], label: 'too late to change: it is being answered', phase: 'failed' })
  await shows('.notice', 'too late to change: it is being answered')
  await expect.poll(() => page.locator('.question').nth(2).textContent()).toBe('third, better')
  expect(await page.inputValue('#box')).toBe('third, too late') // it was written, so it is not thrown away
  peer.say({ type: 'final', id: ids[0], text: 'one', ok: true }, { type: 'final', id: ids[2], text: 'three', ok: true })
  await expect.poll(() => page.locator('.prose').nth(2).textContent()).toContain('three')
  expect(trouble).toEqual([])
})

test('when a message starts running while it is edited, the edit stays in the box', async () => {
  await visit()
  await type('wait for it')
  const peer = await stage.peer()
  const { id } = await peer.next('message')
  peer.say({ type: 'accepted', id }, { type: 'waiting', id, position: 1 })
  await page.getByRole('button', { name: 'Edit' }).click()
  await page.fill('#box', 'new words')
  peer.say({ type: 'draft', id, text: 'already' })
  await expect.poll(() => page.isVisible('#editing')).toBe(false)
  expect(await page.inputValue('#box')).toBe('new words')
  await page.press('#box', 'Enter')
  expect((await peer.next('message')).text).toBe('new words')
  expect(trouble).toEqual([])
})

test('the answer is stopped by button and by Escape, which does not count as a failure', async () => {
  await visit()
  await type('endless')
  const peer = await stage.peer()
  const { id } = await peer.next('message')
  peer.say({ type: 'accepted', id }, { type: 'draft', id, text: 'on and on' })
  await page.click('#stop')
  await peer.next('stop')
  await page.press('body', 'Escape')
  await peer.next('stop')
  peer.say({ type: 'final', id, text: '```sh\non and on\n\n*Stopped.*', ok: false })
  await shows('.foot .stopped', 'Stopped')
  await shows('.code pre', 'on and on\n')
  await page.press('body', 'Escape')
  await page.waitForTimeout(150)
  expect(peer.heard.filter(frame => frame.type === 'stop')).toHaveLength(2)

  for (const [text, final] of [
    ['before a word', 'Stopped.'],
    ['broken', 'Crashed: claude ended unexpectedly. It said "Stopped."'],
  ]) {
    await type(text ?? '')
    const next = await peer.next('message')
    peer.say({ type: 'accepted', id: next.id }, { type: 'final', id: next.id, text: final, ok: false })
  }
  await shows('.answer.failed .prose', 'Crashed: claude ended unexpectedly. It said "Stopped."')
  expect(await page.locator('.answer').evaluateAll(all => all.map(one => one.classList.contains('failed')))).toEqual([
    false,
    false,
    true,
  ])
  expect(await page.locator('.answer').nth(1).textContent()).toMatch(/^Stopped\d+:\d+\D*$/)
  const border = (number: number) =>
    page
      .locator('.answer')
      .nth(number)
      .evaluate(node => node.ownerDocument.defaultView?.getComputedStyle(node).borderColor)
  expect(await border(1)).toBe(await border(0))
  expect(await border(2)).not.toBe(await border(0))
  expect(trouble).toEqual([])
})

test('a refused message shows the reason of the gateway and can be sent again', async () => {
  await visit()
  await type('now?')
  const peer = await stage.peer()
  const { id } = await peer.next('message')
  peer.say({ type: 'refused', id, reason: 'Busy: please try again later.' })
  await expect.poll(() => page.locator('.status').textContent()).toBe('Busy: please try again later.Retry')
  await page.getByRole('button', { name: 'Retry' }).click()
  const again = await peer.next('message')
  expect([again.text, again.id === id]).toEqual(['now?', false])
  peer.say({ type: 'accepted', id: again.id }, { type: 'final', id: again.id, text: 'yes', ok: true })
  await shows('.prose', 'yes')
  expect(await count('.turn')).toBe(1)
  expect(trouble).toEqual([])
})

test('a message that is too long for the page or for the gateway goes back into the box', async () => {
  await visit()
  const peer = await stage.peer()
  await page.fill('#box', 'x'.repeat(1_200_000))
  await page.press('#box', 'Enter')
  await expect
    .poll(() => page.textContent('.status'))
    .toBe('Too long: this message is larger than 1 MB. Please shorten it or send it in parts.Edit')
  expect(peer.heard).toEqual([])
  await page.fill('#box', 'a thought')
  await page.locator('.status').getByRole('button', { name: 'Edit' }).click()
  expect(await page.inputValue('#box')).toBe(`${'x'.repeat(1_200_000)}\n\na thought`)
  expect(await count('.turn')).toBe(0)

  const long = 'word '.repeat(50_000).trim()
  await type(long)
  const { id } = await peer.next('message')
  peer.say({ type: 'refused', id, reason: 'Too long: this message has more than 200000 characters.' })
  await expect
    .poll(() => page.textContent('.status'))
    .toBe('Too long: this message has more than 200000 characters.Edit')
  await page.locator('.status').getByRole('button', { name: 'Edit' }).click()
  expect(await page.inputValue('#box')).toBe(long)
  await type('short')
  const short = await peer.next('message')
  peer.say({ type: 'accepted', id: short.id }, { type: 'waiting', id: short.id, position: 1 })
  await page.locator('.status').getByRole('button', { name: 'Edit' }).click()
  await page.fill('#box', 'y'.repeat(1_200_000))
  await page.press('#box', 'Enter')
  await expect.poll(() => page.textContent('#hint')).toContain('Too long:')
  expect((await page.inputValue('#box')).length).toBe(1_200_000)
  expect(peer.heard.map(({ type: kind }) => kind)).toEqual(['message', 'message'])
  expect(trouble).toEqual([])
})

test('a very long message is collapsed until it is expanded', async () => {
  await visit()
  const peer = await stage.peer()
  const long = Array.from({ length: 900 }, (_, i) => `line ${i}`).join('\n')
  await type(long)
  const { id } = await peer.next('message')
  const beginning = (await page.textContent('.question div'))?.replace(/ …$/, '') ?? ''
  expect([long.startsWith(beginning), beginning.length > 400, beginning.length <= 600]).toEqual([true, true, true])
  peer.say({ type: 'accepted', id }, { type: 'draft', id, text: 'reading' })
  await shows('.prose', 'reading')
  const more = page.getByRole('button', { name: /^Show all \([\d,.]+ characters\)$/ })
  await more.click()
  expect(await page.textContent('.question div')).toBe(long)
  // The reader is not scrolled away by the answer that streams in below.
  const top = await page.$eval('#scroll', node => node.scrollTop)
  peer.say({ type: 'draft', id, text: 'reading on' })
  await shows('.prose', 'reading on')
  expect(await page.$eval('#scroll', node => node.scrollTop)).toBe(top)
  await page.getByRole('button', { name: 'Show less' }).click()
  expect((await page.textContent('.question div'))?.length).toBeLessThan(2000)
  await type('x'.repeat(4000))
  await expect.poll(() => count('.question')).toBe(2)
  expect([await count('.more'), await page.locator('.question').nth(1).textContent()]).toEqual([1, 'x'.repeat(4000)])
  expect(trouble).toEqual([])
})

test('a queued message is told to the running turn, or the page says why it still waits', async () => {
  await visit()
  await type('work')
  const peer = await stage.peer()
  const first = await peer.next('message')
  peer.say({ type: 'accepted', id: first.id }, { type: 'draft', id: first.id, text: 'working' })
  await type('not that folder')
  const { id } = await peer.next('message')
  peer.say({ type: 'accepted', id }, { type: 'waiting', id, position: 1 })
  await page.getByRole('button', { name: 'Tell it now' }).click()
  expect(await peer.next('steer')).toEqual({ type: 'steer', id })
  peer.say({ type: 'action', id, label: 'The turn cannot be told anything now.', phase: 'notice' })
  await shows('.notice', 'The turn cannot be told anything now.')
  await page.getByRole('button', { name: 'Tell it now' }).click()
  await peer.next('steer')
  peer.say({ type: 'final', id, text: 'Told to the turn that was running.', ok: true })
  await expect.poll(() => page.locator('.prose').nth(1).textContent()).toContain('Told to the turn')
  expect(trouble).toEqual([])
})

test('a question is asked again as it was or changed, and after a stop the agent continues', async () => {
  await visit()
  await type('what is it?')
  const peer = await stage.peer()
  const { id } = await peer.next('message')
  peer.say({ type: 'accepted', id }, { type: 'final', id, text: 'Half an answer\n\n*Stopped.*', ok: false })
  await page.getByRole('button', { name: 'Continue' }).click()
  expect((await peer.next('message')).text).toBe('/continue')
  await page.getByRole('button', { name: 'Ask again' }).click()
  expect((await peer.next('message')).text).toBe('what is it?')
  await page.getByRole('button', { name: 'Ask differently' }).click()
  expect(await page.inputValue('#box')).toBe('what is it?')
  expect(trouble).toEqual([])
})
