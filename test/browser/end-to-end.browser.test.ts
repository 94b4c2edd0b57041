// The chat page against the real gateway, which is killed or stopped in the middle: the answer still arrives.
import { createServer } from 'node:net'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Home, makeHome, startGateway, token } from '../harness/gateway.ts'
import { launch, watch } from './stage.ts'

let browser: Browser
let home: Home
beforeAll(async () => {
  browser = await launch()
  home = await makeHome()
})
afterAll(async () => {
  await browser.close()
  await home.remove()
})

const freePort = () =>
  new Promise<string>(resolve => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(String(typeof address === 'object' ? address?.port : 0)))
    })
  })

const refusedWhileDown = /ERR_CONNECTION_REFUSED|WebSocket connection|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET/

test('a message is answered, even if the gateway is killed with SIGKILL in the middle', async () => {
  const env = { HTTP_PORT: await freePort(), CLAUDE_STAND_IN_STEP_MS: '150' }
  const first = await startGateway(home, env)
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage()
  const trouble = watch(page, first.url)
  await page.goto(`${first.url}/chat?token=${token}`)
  const say = async (text: string) => {
    await page.fill('#box', text)
    await page.press('#box', 'Enter')
  }
  const answers = () => page.locator('.prose').allInnerTexts()
  await say('hello there')
  await expect.poll(answers, { timeout: 10_000 }).toEqual(['turn 1: hello there'])
  await say('one two three four five six seven eight')
  await expect.poll(async () => (await answers()).at(-1), { timeout: 10_000 }).toMatch(/^turn 2: one two/)
  await first.stop('SIGKILL')
  const second = await startGateway(home, env)
  await expect
    .poll(answers, { timeout: 20_000 })
    .toEqual(['turn 1: hello there', 'turn 3: one two three four five six seven eight'])
  expect(await page.locator('.turn').count()).toBe(2)
  await say('and a last one')
  await expect.poll(async () => (await answers()).at(-1), { timeout: 10_000 }).toBe('turn 4: and a last one')
  expect(trouble.filter(line => !refusedWhileDown.test(line))).toEqual([])
  if (process.env.SCREENSHOTS) await page.screenshot({ path: `${process.env.SCREENSHOTS}/whole.png` })
  await second.stop()
})

test('two windows show the same conversation, and a message written during a shutdown is answered after the restart', async () => {
  const env = { HTTP_PORT: await freePort(), CLAUDE_STAND_IN_STEP_MS: '150' }
  const first = await startGateway(home, env)
  const context = await browser.newContext()
  const [here, there] = [await context.newPage(), await context.newPage()]
  const trouble = [here, there].map(page => watch(page, first.url))
  await here.goto(`${first.url}/chat?token=${token}#two-windows`)
  await there.goto(`${first.url}/chat#two-windows`)
  for (const page of [here, there]) await expect.poll(() => page.textContent('#connection')).toBe('connected')
  const say = async (page: Page, text: string) => {
    await page.fill('#box', text)
    await page.press('#box', 'Enter')
  }
  const talk = (page: Page) => page.locator('.question, .prose').allInnerTexts()
  const long = 'one two three four five six seven eight nine ten'
  await say(here, long)
  await expect.poll(async () => (await talk(there))[1], { timeout: 10_000 }).toMatch(/^turn 1: one/)
  const exit = first.stop()
  await expect.poll(first.output).toContain('stopping')
  await say(there, 'meanwhile')
  await expect.poll(() => there.locator('.status').nth(1).textContent()).toMatch(/^Will be sent/)
  expect(await exit).toBe(0)
  const second = await startGateway(home, env)
  for (const page of [here, there])
    await expect
      .poll(() => talk(page), { timeout: 20_000 })
      .toEqual([long, `turn 1: ${long}`, 'meanwhile', 'turn 2: meanwhile'])
  expect(trouble.flat().filter(line => !refusedWhileDown.test(line))).toEqual([])
  await second.stop()
  await context.close()
})

test('what the agent did is under its answer, also after a reload', async () => {
  const gateway = await startGateway(home, { HTTP_PORT: await freePort(), CLAUDE_STAND_IN_STEP_MS: '5' })
  const page = await (await browser.newContext({ viewport: { width: 390, height: 844 } })).newPage()
  const trouble = watch(page, gateway.url)
  await page.goto(`${gateway.url}/chat?token=${token}#work`)
  await page.fill('#box', 'look [[tool]]')
  await page.press('#box', 'Enter')
  const unfold = async () => {
    await page.locator('.work > summary', { hasText: 'What it did: 1 step' }).click()
    await expect.poll(() => page.locator('.work-line').allInnerTexts()).toEqual([expect.stringContaining('memory.md')])
  }
  await unfold()
  await page.reload()
  await unfold()
  expect(trouble).toEqual([])
  expect(await gateway.stop()).toBe(0)
})
