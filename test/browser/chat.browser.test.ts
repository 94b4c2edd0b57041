// The chat page in a real browser, against the real HTTP server and a scripted conversation.
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { launch, openStage, token, watch } from './stage.ts'

let browser: Browser
let stage: Awaited<ReturnType<typeof openStage>>
let page: Page
let trouble: string[]
const ends: (() => Promise<void>)[] = []

beforeAll(async () => {
  browser = await launch()
})
afterAll(() => browser.close())
beforeEach(async () => {
  stage = await openStage()
})
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
  await stage.stop()
})

const visit = async (options: BrowserContextOptions = {}, path = `/chat?token=${token}`) => {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options })
  ends.push(() => context.close())
  page = await context.newPage()
  trouble = watch(page, stage.url)
  await page.goto(stage.url + path)
}

const type = async (text: string) => {
  await page.fill('#box', text)
  await page.press('#box', 'Enter')
}
const count = (selector: string) => page.locator(selector).count()
const shows = (selector: string, text: string) =>
  expect.poll(() => page.locator(selector).allInnerTexts()).toContain(text)
const state = (number = 0) => page.locator('.turn').nth(number).getAttribute('data-state')

test('a message is sent, streams and ends, and the address keeps the conversation but not the token', async () => {
  await visit()
  await type('What is **new**?')
  const peer = await stage.peer()
  const { id, text } = await peer.next('message')
  expect(text).toBe('What is **new**?')
  await shows('.status', 'Sending …')
  peer.say(
    { type: 'accepted', id },
    { type: 'unheard-of', id, x: 1 },
    { type: 'action', id, label: 'Read notes.md', phase: 'started' },
  )
  await shows('.actions', 'Read notes.md')
  expect(await page.locator('.answer').getAttribute('aria-busy')).toBe('true')
  expect(await page.isVisible('#stop')).toBe(true)
  peer.say({ type: 'action', id, label: 'Read notes.md', phase: 'ended' }, { type: 'draft', id, text: 'Some **bo' })
  await shows('.prose', 'Some **bo')
  peer.say({ type: 'draft', id, text: 'Some **bold** words\n\n```ts\nconst a = 1' })
  await shows('.prose strong', 'bold')
  const answer = 'Some **bold** words\n\n```ts\nconst a = 1 < 2\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- [x] done'
  peer.say({ type: 'final', id, text: answer, ok: true }, { type: 'final', id, text: answer, ok: true })
  await shows('.code pre', 'const a = 1 < 2\n')
  await shows('.code-head span', 'ts')
  await shows('.prose li', '☑ done')
  expect([await count('.turn'), await count('.prose'), await count('.code'), await count('.prose table')]).toEqual([
    1, 1, 1, 1,
  ])
  expect(await page.locator('.answer').getAttribute('aria-busy')).toBe('false')
  expect(await page.isVisible('#stop')).toBe(false)
  peer.say({ type: 'draft', id, text: 'a draft of the past' }, { type: 'waiting', id, position: 1 })
  await page.waitForTimeout(150)
  expect([await state(), await page.isVisible('#stop')]).toEqual(['answered', false])
  expect(await page.textContent('.question')).toBe('What is **new**?')
  expect(page.url()).toBe(`${stage.url}/chat#talk-1`)
  expect(trouble).toEqual([])
})

test('a long draft arrives word by word and looks the same as its final', async () => {
  await visit()
  await type('tell')
  const peer = await stage.peer()
  const { id } = await peer.next('message')
  peer.say({ type: 'accepted', id })
  const text =
    '# One\n\nSome text\nhere\n\n- a\n- b\n\n  more b\n\n1. x\n\n> quote\n\n```js\nlet a\n\n\nlet b\n```\n\nThe end.\r\n\r\nReally.'
  for (let length = 1; length <= text.length; length += 3) {
    peer.say({ type: 'draft', id, text: text.slice(0, length) })
    await new Promise(done => setTimeout(done, 15))
  }
  peer.say({ type: 'draft', id, text })
  await shows('.prose p', 'Really.')
  const draft = await page.innerHTML('.prose')
  await page.reload()
  const again = await stage.peer(1)
  again.say({
    type: 'history',
    messages: [
      { id, role: 'user', text: 'tell', at: 1, state: 'answered' },
      { id, role: 'agent', text, at: 2, ok: true },
    ],
  })
  await shows('.prose p', 'Really.')
  expect(await page.innerHTML('.prose')).toBe(draft)
  expect(trouble).toEqual([])
})

test('nothing the agent writes runs, loads or poses as the page', async () => {
  await visit()
  await type('<img src=x onerror=alert(1)>')
  const peer = await stage.peer()
  const { id } = await peer.next('message')
  const evil = [
    '<img src=x onerror="alert(1)"> <script>alert(2)</script> [click](javascript:alert(3)) <a href="jAvascript:alert(4)">x</a>',
    '<svg onload=alert(5)><style>*{display:none}</style><iframe srcdoc="<script>alert(6)</script>"></iframe>',
    '<form action="/x"><input name=q><button id="send" class="round">ok</button></form>',
    '![pic](https://elsewhere.example/p.png) <img src="https://elsewhere.example/q.png"> <video src="https://elsewhere.example/v">',
    '<p style="position:fixed;inset:0" class="banner" id="box" data-x=1 onclick="alert(7)">styled</p> <div background="https://elsewhere.example/b">',
    '[good](https://example.com/a) <data:text/html,x> [data](data:text/html,<script>alert(8)</script>)',
    '![dot](data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw==)',
    '```"><script>alert(9)</script>\n<b>code</b>\n```',
  ].join('\n\n')
  peer.say({ type: 'accepted', id }, { type: 'draft', id, text: evil })
  await shows('.prose a', 'good')
  peer.say({ type: 'final', id, text: evil, ok: true })
  await shows('.code pre', '<b>code</b>\n')
  await page.waitForTimeout(300)
  const found = await page.$$eval('.prose *', all =>
    all.flatMap(({ localName, attributes }) => [localName, ...[...attributes].map(one => `${localName}[${one.name}]`)]),
  )
  for (const bad of ['script', 'style', 'iframe', 'form', 'input', 'svg', 'video']) expect(found).not.toContain(bad)
  expect(found.filter(one => /\[(on.*|style|id|name|data-.*|background)\]/.test(one))).toEqual([])
  const links = await page.$$eval('.prose a[href]', all =>
    all.map(a => [a.getAttribute('href'), a.getAttribute('rel'), a.getAttribute('target')]),
  )
  expect(links).toEqual([
    ['https://elsewhere.example/p.png', 'noopener noreferrer', '_blank'],
    ['https://example.com/a', 'noopener noreferrer', '_blank'],
  ])
  const pictures = await page.$$eval('.prose img', all => all.map(one => one.getAttribute('src')?.slice(0, 14)))
  expect(pictures).toEqual(['data:image/gif'])
  expect(await page.textContent('.question')).toBe('<img src=x onerror=alert(1)>')
  expect(await page.textContent('.prose')).toContain('<p style="position:fixed;inset:0"') // shown, not obeyed
  expect(trouble).toEqual([])
})

test('after a broken line the same conversation comes back and the missed final is there once', async () => {
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

test('what was not accepted is sent again under its id, after a break and after a reload', async () => {
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

test('what was not accepted in one chat is neither lost nor sent to another', async () => {
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

test('while the gateway is away a banner says so, and what is written then goes out later', async () => {
  await visit()
  await stage.peer()
  const { port } = stage
  await stage.stop()
  await expect.poll(() => page.isVisible('#banner')).toBe(true)
  expect(await page.isDisabled('#stop')).toBe(true)
  await type('written offline')
  await shows('.status', 'Sending …')
  stage = await openStage(port)
  await page.click('#try-now')
  const peer = await stage.peer()
  const { id, text } = await peer.next('message')
  expect(text).toBe('written offline')
  peer.say({ type: 'accepted', id })
  await expect.poll(() => page.isVisible('#banner')).toBe(false)
  await expect.poll(() => state()).toBe('accepted')
})

test('a waiting message is edited with the arrow key or the button, or cancelled', async () => {
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
  await expect.poll(() => page.locator('.status').nth(2).textContent()).toContain('number 2 in the queue')
  await page.press('#box', 'ArrowUp')
  expect(await page.inputValue('#box')).toBe('third')
  await type('third, better')
  expect(await peer.next('edit')).toEqual({ type: 'edit', id: ids[2], text: 'third, better' })
  await expect.poll(() => page.locator('.status').nth(2).textContent()).toBe('Saving the change …')
  peer.say({ type: 'accepted', id: ids[2] })
  await expect.poll(() => page.locator('.status').nth(2).textContent()).toContain('Waiting')
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
  peer.say({ type: 'final', id: ids[0], text: 'one', ok: true }, { type: 'final', id: ids[2], text: 'three', ok: true })
  await expect.poll(() => page.locator('.prose').nth(2).textContent()).toContain('three')
  expect(trouble).toEqual([])
})

test('a message that begins to be answered while it is edited leaves the words in the box', async () => {
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

test('the answer is stopped by button and by Escape, and a failed one says so', async () => {
  await visit()
  await type('endless')
  const peer = await stage.peer()
  const { id } = await peer.next('message')
  peer.say({ type: 'accepted', id }, { type: 'draft', id, text: 'on and on' })
  await page.click('#stop')
  await peer.next('stop')
  await page.press('body', 'Escape')
  await peer.next('stop')
  peer.say({ type: 'final', id, text: 'Stopped.', ok: false })
  await shows('.answer.failed .prose', 'Stopped.')
  await page.press('body', 'Escape')
  await page.waitForTimeout(150)
  expect(peer.heard.filter(frame => frame.type === 'stop')).toHaveLength(2)
  expect(trouble).toEqual([])
})

test('a refused message says why and can be sent again; one that is too long never leaves', async () => {
  await visit()
  await type('now?')
  const peer = await stage.peer()
  const { id } = await peer.next('message')
  peer.say({ type: 'refused', id, reason: 'busy, try again later' })
  await expect.poll(() => page.locator('.status').textContent()).toContain('Not taken: busy, try again later')
  await page.getByRole('button', { name: 'Retry' }).click()
  const again = await peer.next('message')
  expect([again.text, again.id === id]).toEqual(['now?', false])
  peer.say({ type: 'accepted', id: again.id }, { type: 'final', id: again.id, text: 'yes', ok: true })
  await shows('.prose', 'yes')
  expect(await count('.turn')).toBe(1)

  await page.fill('#box', 'x'.repeat(1_200_000))
  await page.press('#box', 'Enter')
  await expect.poll(() => page.locator('.status').nth(1).textContent()).toContain('too long')
  expect(peer.heard).toHaveLength(2)
  expect(trouble).toEqual([])
})

test('Shift+Enter makes a line, blank messages stay, and reading above is not disturbed', async () => {
  await visit()
  const peer = await stage.peer()
  await type('   ')
  await page.fill('#box', 'a')
  await page.press('#box', 'Shift+Enter')
  await page.keyboard.type('b')
  await page.press('#box', 'Enter')
  const { id, text } = await peer.next('message')
  expect(text).toBe('a\nb')
  const long = Array.from({ length: 80 }, (_, i) => `line ${i}`).join('\n\n')
  peer.say({ type: 'accepted', id }, { type: 'draft', id, text: long })
  await shows('.prose p', 'line 79')
  const top = () => page.$eval('#scroll', node => node.scrollTop)
  await expect.poll(() => page.$eval('#scroll', n => n.scrollHeight - n.scrollTop - n.clientHeight)).toBeLessThan(2)
  await page.$eval('#scroll', node => node.scrollTo(0, 100))
  await expect.poll(() => page.isVisible('#to-end')).toBe(true)
  peer.say({ type: 'final', id, text: `${long}\n\nthe end`, ok: true })
  await shows('.prose p', 'the end')
  expect(await top()).toBe(100)
  await page.click('#to-end')
  await expect.poll(top).toBeGreaterThan(1000)
  expect(trouble).toEqual([])
})

test('chats are listed by their first words, switched, and left out on request', async () => {
  await visit()
  await type('about apples')
  const one = await stage.peer()
  const { id } = await one.next('message')
  one.say({ type: 'accepted', id }, { type: 'final', id, text: 'apples', ok: true })
  await shows('#recent a', 'about apples')
  await page.click('#new-chat')
  expect((await stage.peer(1)).conversation).toBe('talk-2')
  expect(await page.isVisible('#welcome')).toBe(true)
  await type('about pears')
  const two = await stage.peer(1)
  const pears = await two.next('message')
  two.say({ type: 'accepted', id: pears.id })
  await expect.poll(() => page.locator('#recent a').allInnerTexts()).toEqual(['about pears', 'about apples'])
  stage.greetWith(peer =>
    peer.say({
      type: 'history',
      messages: [
        { id, role: 'user', text: 'about apples', at: 1, state: 'answered' },
        { id, role: 'agent', text: 'apples', at: 2, ok: true },
      ],
    }),
  )
  await page.click('#recent a:has-text("apples")')
  expect((await stage.peer(2)).conversation).toBe('talk-1')
  await shows('.prose', 'apples')
  expect(await page.locator('.question').allInnerTexts()).toEqual(['about apples'])
  await page.hover('#recent li:has-text("pears")')
  await page.click('#recent li:has-text("pears") .forget')
  await expect.poll(() => page.locator('#recent a').allInnerTexts()).toEqual(['about apples'])
  expect(trouble).toEqual([])
})

test('without the link there is a page that says where to find it', async () => {
  await visit({}, '/chat')
  expect(await page.textContent('main')).toContain('aetheel status')
  expect(trouble.filter(one => !one.includes('401'))).toEqual([])
})

test('a link on another site opens the chat, although the cookie is strict', async () => {
  await visit({}, '/healthz')
  const other = stage.url.replace('127.0.0.1', 'localhost')
  await page.goto(`${other}/chat`)
  await page.$eval(
    'main p',
    (node, link) => {
      node.innerHTML = `<a href="${link}">open</a>`
    },
    `${stage.url}/chat?token=${token}`,
  )
  await page.click('main p a')
  await stage.peer()
  expect(await page.isVisible('#box')).toBe(true)
  expect(page.url()).toBe(`${stage.url}/chat#talk-1`)
})

test('when the token changes the page says so instead of trying in silence', async () => {
  await visit()
  await stage.peer()
  await page.context().clearCookies()
  ;(await stage.peer()).hangUp()
  await expect.poll(() => page.locator('#banner').textContent()).toContain('aetheel status')
})

test('a phone has the whole page in its width and the chats in a drawer', async () => {
  await visit({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true })
  await type('a rather long question that has to wrap on such a narrow screen, does it not?')
  const peer = await stage.peer()
  const { id } = await peer.next('message')
  const text = `Look:\n\n\`\`\`sh\n${'long '.repeat(60)}\n\`\`\`\n\n| ${'col | '.repeat(12)}\n|${'---|'.repeat(12)}\n| ${'value | '.repeat(12)}\n\n${'unbroken'.repeat(30)}`
  peer.say({ type: 'accepted', id }, { type: 'final', id, text, ok: true })
  await shows('.code-head span', 'sh')
  expect(await page.$eval('html', node => node.scrollWidth)).toBe(390)
  expect(await page.$eval('#scroll', node => node.scrollWidth - node.clientWidth)).toBe(0)
  const inside = async (selector: string) => {
    const { x, y, width, height } = (await page.locator(selector).boundingBox()) ?? { x: -1, y: 0, width: 0, height: 0 }
    return x >= 0 && x + width <= 390 && y + height <= 844
  }
  for (const selector of ['#send', '#box', '#new-chat', '#chats-button'])
    expect(await inside(selector), selector).toBe(true)
  expect(await page.isVisible('#recent a')).toBe(false)
  await page.tap('#chats-button')
  await expect.poll(() => page.isVisible('#recent a')).toBe(true)
  await page.keyboard.press('Escape')
  await expect.poll(() => page.isVisible('#recent a')).toBe(false)
  await page.tap('#chats-button')
  await page.touchscreen.tap(380, 400)
  await expect.poll(() => page.isVisible('#recent a')).toBe(false)
  expect(trouble).toEqual([])
})

test('everything can be reached by keyboard, has a name, and shows where the focus is', async () => {
  await visit()
  await stage.peer()
  const names: string[] = []
  await page.evaluate('document.body.tabIndex = -1; document.body.focus()')
  for (let i = 0; i < 4; i += 1) {
    await page.keyboard.press('Tab')
    const focused = page.locator(':focus')
    names.push((await focused.ariaSnapshot()).split('\n')[0] ?? '')
    const ring = await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')
    const box = await focused.getAttribute('id')
    // The box has its ring on the frame around it.
    if (box === 'box')
      expect(await page.evaluate('document.querySelector(".field").matches(":focus-within")')).toBe(true)
    else expect(ring).toBe('solid')
  }
  expect(names).toEqual([
    expect.stringContaining('link "Skip to the message box"'),
    expect.stringContaining('button "New chat"'),
    expect.stringContaining('textbox "Your message"'),
    expect.stringContaining('button "Send"'),
  ])
})
