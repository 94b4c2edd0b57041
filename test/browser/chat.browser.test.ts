// The chat page in a real browser, against a scripted conversation.
import { expect, test } from 'vitest'
import { token } from './stage.ts'
import { count, page, shows, stage, state, trouble, type, visit } from './visitor.ts'

test('a message is sent, the answer streams and finishes, and the address keeps the conversation but not the token', async () => {
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
    // Mostly only the new part, sometimes the whole text.
    const from = length - 3
    peer.say({
      type: 'draft',
      id,
      ...(from > 0 && from % 4 ? { from, text: text.slice(from, length) } : { text: text.slice(0, length) }),
    })
    await new Promise(done => setTimeout(done, 15))
  }
  peer.say({ type: 'draft', id, text })
  await shows('.prose p', 'Really.')
  await shows('.hl-kwd', 'let')
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
  await expect.poll(() => page.innerHTML('.prose')).toBe(draft)
  expect(trouble).toEqual([])
})

test('lists keep their start number and columns their alignment', async () => {
  await visit()
  await type('show')
  const peer = await stage.peer()
  const { id } = await peer.next('message')
  const text = '3. three\n4. four\n\n| a | b |\n|---|--:|\n| 1 | 2 |'
  peer.say({ type: 'accepted', id }, { type: 'final', id, text, ok: true })
  await shows('.prose td', '2')
  expect(await page.getAttribute('.prose ol', 'start')).toBe('3')
  expect(
    await page
      .locator('.prose :is(th, td)')
      .evaluateAll(all => all.map(one => one.ownerDocument.defaultView?.getComputedStyle(one).textAlign)),
  ).toEqual(['start', 'right', 'start', 'right'].map(side => expect.stringContaining(side)))
  expect(trouble).toEqual([])
})

test('nothing the agent writes runs, loads anything or passes for a part of the page', async () => {
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

test('right-to-left text is detected block by block', async () => {
  await visit()
  await page.fill('#box', 'שלום, מה שלומך?')
  const way = (selector: string) =>
    page.locator(selector).evaluateAll(all => all.map(one => (one.matches(':dir(rtl)') ? 'rtl' : 'ltr')))
  expect(await way('#box')).toEqual(['rtl'])
  await page.press('#box', 'Enter')
  const peer = await stage.peer()
  const { id } = await peer.next('message')
  const text =
    '# כותרת\n\nשלום\n\nHello\n\n- פריט\n- item\n\n  more\n\n> ציטוט\n\n```js\n// שלום\n```\n\n1. مرحبا\n\n   ```\n   code\n   ```'
  peer.say({ type: 'accepted', id }, { type: 'final', id, text, ok: true })
  await shows('.prose > p', 'Hello')
  expect(await way('.question > div')).toEqual(['rtl'])
  expect(await way('.prose h1')).toEqual(['rtl'])
  expect(await way('.prose > p')).toEqual(['rtl', 'ltr'])
  expect(await way('.prose li')).toEqual(['rtl', 'ltr', 'rtl'])
  expect(await way('.prose li p, .prose blockquote p')).toEqual(['rtl', 'ltr', 'ltr', 'rtl', 'rtl'])
  expect(await way('.prose pre')).toEqual(['ltr', 'ltr'])
  expect(await way('#recent a')).toEqual(['rtl'])
  expect(trouble).toEqual([])
})

test('Shift+Enter adds a line, blank messages are not sent, and new text does not scroll a reader who has scrolled up', async () => {
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

test('chats are listed by their first words, opened, and removed from the list', async () => {
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
  expect(await page.textContent('pre')).toBe('npx aetheel status')
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

test('on a phone the page fits the width and the chats are in a drawer', async () => {
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

test('every control is reachable by keyboard, has a name and shows its focus', async () => {
  await visit()
  await stage.peer()
  const names: string[] = []
  await page.evaluate('document.body.tabIndex = -1; document.body.focus()')
  for (let i = 0; i < 7; i += 1) {
    await page.keyboard.press('Tab')
    const focused = page.locator(':focus')
    names.push((await focused.ariaSnapshot()).split('\n')[0] ?? '')
    const ring = await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')
    const box = await focused.getAttribute('id')
    // The message box shows its focus on the frame around it.
    if (box === 'box')
      expect(await page.evaluate('document.querySelector(".field").matches(":focus-within")')).toBe(true)
    else expect(ring).toBe('solid')
  }
  expect(names).toEqual([
    expect.stringContaining('link "Skip to message box"'),
    expect.stringContaining('link "Mission Control"'),
    expect.stringContaining('button "New chat"'),
    expect.stringContaining('searchbox "Search all chats"'),
    expect.stringContaining('button "Attach files"'),
    expect.stringContaining('textbox "Your message"'),
    expect.stringContaining('button "Send"'),
  ])
})
