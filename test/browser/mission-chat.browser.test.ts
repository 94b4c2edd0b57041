// The chat in Mission Control and on its own page, against the real gateway: conversations, search, code, files.
import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { token } from '../harness/gateway.ts'
import { openPlace, type Place } from './real-gateway.ts'

const say = async (page: Page, text: string) => {
  await page.fill('textarea', text)
  await page.press('textarea', 'Enter')
}
const answers = (page: Page) => page.locator('.prose').allInnerTexts()
const titles = (page: Page) => page.locator('.chats .title:visible').allInnerTexts()
const connected = (page: Page) => expect.poll(() => page.locator('#chat-connection').textContent()).toBe('connected')

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

test('a conversation continues in both windows, and leaving the page closes its connection', async () => {
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

  // Opening an event over the chat keeps the conversation, and closing it with Escape stops nothing.
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

test('all conversations are listed with running and unread marks, and each keeps its draft', async () => {
  const place = await openPlace({}, { CLAUDE_STAND_IN_STEP_MS: '150' })
  await post(place, 'apples', 'about apples')
  await post(place, 'pears', 'about pears')
  const { page, trouble } = await place.visit('chat')
  await connected(page)
  await expect.poll(() => titles(page)).toEqual(['about pears', 'about apples'])
  await page.getByRole('link', { name: 'about apples' }).click()
  await expect.poll(() => answers(page)).toEqual(['turn 1: about apples'])
  await page.fill('textarea', 'half a thought about apples')

  // Activity in other conversations shows up by itself.
  await post(place, 'pears', 'one two three four five six seven eight', false)
  await expect.poll(() => page.getByRole('img', { name: 'working' }).count()).toBe(1)
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

test('the edit of a queued message survives a reload, another chat and the start of its turn', async () => {
  const place = await openPlace()
  const { page, trouble } = await place.visit('chat')
  const box = () => page.inputValue('textarea')
  const edit = (turn: number) => page.locator('.turn').nth(turn).getByRole('button', { name: 'Edit' }).click()
  const editing = () => page.locator('#chat-editing').isVisible()
  await say(page, '[[hang]] so that the next has to wait')
  await say(page, 'second')
  await edit(1)
  await page.fill('textarea', 'second, better')
  await page.reload()
  await expect.poll(editing).toBe(true)
  expect(await box()).toBe('second, better')
  await page.getByRole('button', { name: 'New chat' }).click()
  await expect.poll(editing).toBe(false)
  expect(await box()).toBe('')
  await page.getByRole('link', { name: /has to wait/ }).click()
  await expect.poll(editing).toBe(true)
  expect(await box()).toBe('second, better')
  await page.press('textarea', 'Enter')
  await expect.poll(() => page.locator('.question').nth(1).textContent()).toBe('second, better')
  await page.click('#chat-stop')
  await expect.poll(async () => (await answers(page)).at(-1)).toBe('turn 2: second, better')
  expect(await box()).toBe('')

  await say(page, '[[hang]] once more')
  await say(page, 'third')
  await edit(3)
  await page.fill('textarea', 'third, better')
  const address = page.url()
  await page.goto('about:blank')
  const { page: other } = await place.visit(address.split('#/')[1] ?? '')
  await other.click('#chat-stop')
  await expect.poll(async () => (await answers(other)).at(-1)).toBe('turn 4: third')
  await page.goto(address)
  await expect.poll(box).toBe('third, better')
  expect(await page.locator('#chat-hint').textContent()).toMatch(/^That message is already being answered/)
  expect(trouble).toEqual([])
})

test('more than a hundred chats are listed on request, and a failure to list them is shown', async () => {
  const place = await openPlace()
  const { page } = await place.visit('overview')
  const all = Array.from({ length: 103 }, (_, i) => {
    return { id: `talk-${i}`, title: `about ${i}`, at: 1e12 - i, waiting: 0, running: false }
  })
  await page.route('**/api/conversations*', async route => {
    const limit = Number(new URL(route.request().url()).searchParams.get('limit'))
    if (limit > 100) await new Promise(done => setTimeout(done, 200))
    return route.fulfill({ json: { conversations: all.slice(0, limit) } })
  })
  await page.goto(`${place.gateway.url}/#/chat`)
  await expect.poll(async () => (await titles(page)).length).toBe(100)
  await page.getByRole('button', { name: 'Show older chats' }).press('Enter')
  // An update during the request causes another one.
  await page.evaluate('document.dispatchEvent(new Event("visibilitychange"))')
  await expect.poll(async () => (await titles(page)).length).toBe(103)
  await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('about 100')
  expect(await page.getByRole('button', { name: 'Show older chats' }).count()).toBe(0)

  const { page: other } = await place.visit('overview')
  await other.route('**/api/conversations*', route => route.fulfill({ status: 500, json: { error: 'It went wrong.' } }))
  await other.goto(`${place.gateway.url}/#/chat`)
  await expect.poll(() => other.locator('#chat-no-recent').textContent()).toBe('It went wrong.')
})

test('an old message is found by search, the conversation opens there, and the messages in between can be loaded', async () => {
  const place = await openPlace()
  await post(place, 'long', 'the first word is Quokka')
  for (let i = 0; i < 260; i += 1) await post(place, 'long', `/help`)
  await post(place, 'other', 'nothing to see')
  const { page, trouble } = await place.visit('chat?conversation=other')
  await expect.poll(() => answers(page)).toEqual(['turn 1: nothing to see'])
  await page.fill('[type=search]', 'quokka <b>')
  await expect.poll(() => page.locator('[id$=found]').textContent()).toBe('No results.')
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
  const between = page.getByRole('button', { name: 'Show messages in between' })
  const turns = () => page.locator('.turn').count()
  for (let i = 0; i < 5 && (await between.count()) > 0; i += 1) {
    const before = await turns()
    await between.click()
    await expect.poll(async () => (await turns()) > before || (await between.count()) === 0).toBe(true)
  }
  expect([await turns(), await between.count()]).toEqual([261, 0])

  // The other direction: loading older messages from the end.
  await page.fill('[type=search]', '')
  await page.reload()
  await expect.poll(turns).toBe(100)
  for (const many of [150, 200, 250, 261]) {
    await page.getByRole('button', { name: 'Show earlier messages' }).click()
    await expect.poll(turns).toBe(many)
  }
  expect(await page.getByRole('button', { name: 'Show earlier messages' }).count()).toBe(0)
  expect(trouble).toEqual([])
})

const dot = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAIAAAACUFjqAAAAEklEQVR42mOwj76JBzGMSmNDAIkLkO2gqFV9AAAAAElFTkSuQmCC',
  'base64',
)

test('files are chosen, pasted and dropped, go to the agent, and are there after a reload', async () => {
  const place = await openPlace()
  const { page, trouble } = await place.visit('chat')
  await page.setInputFiles('input[type=file]', [
    { name: 'dot.png', mimeType: 'image/png', buffer: dot },
    { name: '../evil <b>.html', mimeType: 'text/html', buffer: Buffer.from('<script>alert(1)</script>') },
  ])
  await expect.poll(() => page.locator('.attached .picture img').count()).toBe(1)
  const give = (how: 'paste' | 'drop', name: string) =>
    page.evaluate(`{
      const data = new DataTransfer()
      data.items.add(new File(['from ${how}'], '${name}', { type: 'text/plain' }))
      const target = document.querySelector('textarea')
      target.dispatchEvent('${how}' === 'paste'
        ? new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true })
        : new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }))
    }`)
  await give('paste', 'pasted.txt')
  await give('drop', 'dropped.txt')
  await expect.poll(() => page.locator('.attached a').count()).toBe(4)
  await page.getByRole('button', { name: 'Remove pasted.txt' }).click()
  await expect.poll(() => page.locator('.attached li').count()).toBe(3)
  await picture(page, 'attaching')
  // A draft keeps its files too.
  await page.fill('textarea', 'what is this?')
  await page.waitForTimeout(600)
  await page.reload()
  await expect.poll(() => page.locator('.attached li').count()).toBe(3)
  await page.press('textarea', 'Enter')
  await expect.poll(() => answers(page)).toEqual(['turn 1: what is this?'])
  expect(await page.locator('.attached li').count()).toBe(0)
  const names = () => page.locator('.question .file bdi').allInnerTexts()
  expect(await names()).toEqual(['_evil _b_.html', 'dropped.txt'])

  const { prompt } = (await page.evaluate('fetch("/api/event?id=1").then(answer => answer.json())')) as {
    prompt: { text: string }
  }
  const [, , ...lines] = prompt.text.split('\n') // the first tells the time
  expect(lines[0]).toMatch(/^\[Attached: files\/in\/web-[\w-]+\/dot\.png \(image\/png, \d+ bytes\)\]$/)
  expect(lines[1]).toMatch(/\/_evil _b_\.html \(text\/html, 25 bytes\)\]$/)
  expect(lines.at(-1)).toBe('what is this?')
  const [, path = ''] = /Attached: (\S+dropped\.txt)/.exec(prompt.text) ?? []
  expect(readFileSync(place.path(path), 'utf8')).toBe('from drop')

  // An uploaded HTML page is served as a download, never rendered.
  const link = (await page.locator('.question a.file').first().getAttribute('href')) ?? ''
  const [shown] = await Promise.all([page.waitForEvent('download'), page.evaluate(`location.assign('${link}')`)])
  expect(shown.suggestedFilename()).toBe('_evil _b_.html')
  await page.reload()
  await expect.poll(names).toEqual(['_evil _b_.html', 'dropped.txt'])
  await expect
    .poll(() => page.locator('.question img').evaluate(node => (node as { naturalWidth?: number }).naturalWidth))
    .toBe(10)

  // The other direction: a file the agent links to.
  await say(page, '[[write:out.txt|made by the agent]] see [the file](out.txt)')
  await expect.poll(() => page.locator('.answer a.file').count()).toBe(1)
  const [sent] = await Promise.all([page.waitForEvent('download'), page.click('.answer a.file')])
  expect(readFileSync(await sent.path(), 'utf8')).toBe('made by the agent\n')
  await picture(page, 'files')
  expect(trouble).toEqual([])
})

test('a file that cannot be attached shows the reason, and no text is lost', async () => {
  const place = await openPlace()
  const { page } = await place.visit('chat')
  await connected(page)
  await page.fill('textarea', 'with a large file')
  const large = place.path('large.bin')
  writeFileSync(large, Buffer.alloc(26 * 1024 * 1024))
  await page.setInputFiles('input[type=file]', large)
  await expect.poll(() => page.locator('.attached .why').textContent()).toBe('large.bin: too large (25 MB at most).')
  await page.press('textarea', 'Enter')
  expect(await page.inputValue('textarea')).toBe('with a large file')
  expect(await page.locator('.hint').textContent()).toBe('A file could not be uploaded. Remove it or try again.')
  await page.getByRole('button', { name: 'Remove large.bin' }).click()
  await page.route('**/api/attachments**', route => route.abort())
  await page.setInputFiles('input[type=file]', { name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('a') })
  await expect.poll(() => page.locator('.attached .why').textContent()).toContain('cannot reach the gateway')
  await page.unroute('**/api/attachments**')
  await page.getByRole('button', { name: 'Try again' }).click()
  await expect.poll(() => page.locator('.attached a.file').count()).toBe(1)
  const many = Array.from({ length: 12 }, (_, i) => ({
    name: `${i}.txt`,
    mimeType: 'text/plain',
    buffer: Buffer.from('x'),
  }))
  await page.setInputFiles('input[type=file]', many)
  await expect.poll(() => page.locator('.hint').textContent()).toBe('You can attach at most 10 files to a message.')
  await expect.poll(() => page.locator('.attached a.file').count()).toBe(10)
  await page.press('textarea', 'Enter')
  await expect.poll(() => answers(page)).toEqual(['turn 1: with a large file'])
})

const axe = readFileSync(resolve(import.meta.dirname, '../../node_modules/axe-core/axe.min.js'), 'utf8')

test('axe finds no violations in both themes on desktop and phone, and nothing overflows sideways', async () => {
  const place = await openPlace({
    'code.md': 'x',
  })
  await post(place, 'apples', 'about apples')
  for (const [name, options] of [
    ['dark', { colorScheme: 'dark' }],
    ['light', { colorScheme: 'light' }],
    ['phone', { colorScheme: 'dark', viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }],
    ['narrow', { viewport: { width: 360, height: 640 }, hasTouch: true, isMobile: true }],
  ] as const) {
    const { page, trouble } = await place.visit(`chat?conversation=${name}`, options)
    await page.setInputFiles('input[type=file]', {
      name: 'a rather long name of a file.txt',
      mimeType: 'text/plain',
      buffer: Buffer.from('x'),
    })
    await expect.poll(() => page.locator('.attached a.file').count()).toBe(1)
    await say(page, 'Look: `code` and [a link](https://example.com) and **more**, with [the file](code.md)')
    await expect.poll(() => page.locator('.answer a.file').count()).toBe(1)
    await page.setInputFiles('input[type=file]', { name: 'dot.png', mimeType: 'image/png', buffer: dot })
    await expect.poll(() => page.locator('.attached img').count()).toBe(1)
    for (const address of [`/#/chat?conversation=${name}`, `/chat#${name}`]) {
      if (address.startsWith('/chat')) await page.goto(place.gateway.url + address)
      await expect.poll(() => page.locator('.answer a.file').count()).toBe(1)
      await expect.poll(() => page.locator('.chats .title').count()).toBeGreaterThan(1)
      await page.evaluate(axe)
      const found = await page.evaluate(
        'axe.run({ resultTypes: ["violations"] }).then(({ violations }) => violations.map(one => [one.id, one.impact, one.nodes.map(node => node.html)]))',
      )
      expect(found, `${name} ${address}`).toEqual([])
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0)
      const { x = 0, width = 0 } = (await page.getByRole('button', { name: 'New chat' }).boundingBox()) ?? {}
      expect(x + width, `${name} ${address}`).toBeLessThanOrEqual(page.viewportSize()?.width ?? 0)
      await picture(page, `${name}${address.startsWith('/chat') ? '-bare' : ''}`)
    }
    expect(trouble).toEqual([])
  }
}, 120_000)
