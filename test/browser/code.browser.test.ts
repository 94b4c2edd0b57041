// Code in answers: highlighting, also while streaming and on hostile input, and the copy buttons.
import { expect, test } from 'vitest'
import { count, page, shows, stage, trouble, type, visit } from './visitor.ts'

const answer = async (text: string) => {
  await type('code, please')
  const peer = await stage.peer()
  const { id } = await peer.next('message')
  peer.say({ type: 'accepted', id }, { type: 'final', id, text, ok: true })
}
const fence = (language: string, code: string) => `\`\`\`${language}\n${code}\n\`\`\``

test('code in known languages is highlighted, and its text is unchanged', async () => {
  await visit()
  const script = '<script>alert(1)</script><img src=x onerror=alert(2)>'
  await answer(
    [
      fence('TypeScript', 'const a: number = 1 // one'),
      fence('html', script),
      fence('python', 'def f(x):\n    return "text"'),
      fence('klingon', 'const b = 1'),
      fence('constructor', 'const c = 1'),
      fence('', 'const d = 1'),
      `- in a list\n\n  ${fence('sh', 'echo "$HOME"').replaceAll('\n', '\n  ')}`,
    ].join('\n\n'),
  )
  await shows('.hl-kwd', 'const')
  await shows('.hl-kwd', 'return')
  await shows('.hl-cmnt', '// one\n')
  await expect.poll(() => page.locator('.prose li .hl-str').count()).toBeGreaterThan(0)
  const texts = await page.locator('.code pre').allTextContents()
  expect(texts).toEqual([
    'const a: number = 1 // one\n',
    `${script}\n`,
    'def f(x):\n    return "text"\n',
    'const b = 1\n',
    'const c = 1\n',
    'const d = 1\n',
    'echo "$HOME"\n',
  ])
  expect(await page.locator('.code').nth(1).locator('script, img').count()).toBe(0)
  for (const plain of [3, 4, 5]) expect(await page.locator('.code').nth(plain).locator('pre span').count()).toBe(0)
  expect(trouble).toEqual([])
})

test('a block is highlighted once it is complete, and stays so while the rest streams', async () => {
  await visit()
  await type('stream')
  const peer = await stage.peer()
  const { id } = await peer.next('message')
  const open = '```js\nconst a = 1\nconst b = 2'
  peer.say({ type: 'accepted', id }, { type: 'draft', id, text: open })
  await shows('.code pre', 'const a = 1\nconst b = 2\n')
  await page.waitForTimeout(300)
  expect(await count('.hl-kwd')).toBe(0)
  peer.say({ type: 'draft', id, text: `${open}\n\`\`\`\n\nThat` })
  await expect.poll(() => count('.hl-kwd')).toBe(2)
  await page
    .locator('.hl-kwd')
    .first()
    .evaluate(node => Object.assign(node, { mine: true }))
  for (const more of [' was', ' was it', ' was it, really.']) {
    peer.say({ type: 'draft', id, text: `${open}\n\`\`\`\n\nThat${more}` })
    await shows('.prose p', `That${more}`)
  }
  peer.say({ type: 'final', id, text: `${open}\n\`\`\`\n\nThat was it, really.`, ok: true })
  await expect.poll(() => page.locator('.answer').getAttribute('aria-busy')).toBe('false')
  expect(
    await page
      .locator('.hl-kwd')
      .first()
      .evaluate(node => (node as { mine?: boolean }).mine),
  ).toBe(true)
  expect(trouble).toEqual([])
})

test('code that is too long or takes too long stays plain, and the page stays responsive', async () => {
  await visit()
  const hard = 'a'.repeat(45_000) // half a minute of the patterns for C
  await answer([fence('c', hard), fence('js', `// ${'x'.repeat(50_000)}`), fence('js', 'let z = 1')].join('\n\n'))
  await shows('.code-head span', 'c')
  await page.fill('#box', 'still here', { timeout: 10_000 })
  await shows('.hl-kwd', 'let')
  expect([await page.locator('.code').nth(0).locator('pre span').count(), await count('.hl-cmnt')]).toEqual([0, 0])
  expect(trouble).toEqual([])
})

test('code and answers are copied, which is announced', async () => {
  await visit({ permissions: ['clipboard-read', 'clipboard-write'] })
  await answer(`Look:\n\n${fence('js', 'let a = "1"')}`)
  await shows('.hl-kwd', 'let')
  const copied = () => page.evaluate('navigator.clipboard.readText()')
  await page.getByRole('button', { name: 'Copy code' }).click()
  await shows('#announcer', 'Copied')
  expect(await copied()).toBe('let a = "1"\n')
  await page.getByRole('button', { name: 'Copy answer' }).click()
  await expect.poll(copied).toBe('Look:\n\n```js\nlet a = "1"\n```')
  expect(trouble).toEqual([])
})

test('very deep quotations and very many links stay text, and the page stays as it is', async () => {
  await visit()
  const links = '[x](https://example.org) '.repeat(20_000)
  await answer(`before\n\n${'> '.repeat(5000)}deep\n\n${links}`)
  await shows('.prose > p', 'before')
  await page.fill('#box', 'still here', { timeout: 10_000 })
  expect(await page.locator('.prose .as-text').textContent()).toContain('deep')
  expect([await count('.prose a'), await count('.prose blockquote')]).toEqual([0, 0])
  expect(trouble).toEqual([])
})
