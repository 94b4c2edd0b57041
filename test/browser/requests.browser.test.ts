// What the agent asks, in the browser: exactly what it wants, every way to answer, and the outcome in every window.
import { expect, test } from 'vitest'
import type { Request } from '../../src/base/requests.ts'
import { askedCommand, askedEdit, askedQuestions, someRequest } from '../fakes/requests.ts'
import { axeComplaints } from './axe.ts'
import { token } from './stage.ts'
import { count, page, shows, stage, trouble, visit } from './visitor.ts'

const home = `/chat?token=${token}#home`
const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }

/** A turn that runs, and the request in it. */
const asks = async (changes: Partial<Request> = {}, options = {}) => {
  await visit(options, home)
  const peer = await stage.peer()
  peer.say(
    { type: 'said', id: 'm1', text: 'Please check the garden.' },
    { type: 'draft', id: 'm1', text: 'I will look.' },
  )
  stage.requests.put(someRequest(changes))
  await page.locator('.turn[data-id=m1] .ask-card').waitFor()
  return peer
}
const press = (name: string) => page.getByRole('button', { name, exact: true }).click()
const decided = (decision: object) => expect.poll(() => stage.requests.decisions.at(-1)?.decision).toEqual(decision)

test('the card shows the whole command, the folder, the backend and for whom, and the turn says that it waits', async () => {
  await asks({ ask: askedCommand('rm -rf build && <img src=x onerror=alert(1)>') })
  const card = page.locator('.ask-card')
  expect(await card.locator('.ask-title').textContent()).toBe('Run this command?')
  expect(await card.locator('pre').textContent()).toBe('rm -rf build && <img src=x onerror=alert(1)>')
  for (const words of ['Bash', '/space/garden', 'claude', 'you']) expect(await card.textContent()).toContain(words)
  await shows('.actions li', 'Waiting for your answer')
  await press('Allow once')
  await decided({ allow: true })
  await shows('.ask-outcome', 'Allowed once by owner')
  expect(await count('.ask-card button:visible')).toBe(0)
  expect(trouble).toEqual([])
})

test('always says which rule it adds, and asks where', async () => {
  await asks()
  await press('Allow always …')
  expect(await page.locator('.ask-rule').textContent()).toBe('Bash(npm test:*)')
  await page.getByLabel('In this project').check()
  await press('Allow always')
  await decided({ allow: true, always: 'project' })
  await shows('.ask-outcome', 'Always allowed in this project by owner')
})

test('without a rule, always is not offered', async () => {
  await asks({ rule: null })
  expect(await page.getByRole('button', { name: /always/i }).count()).toBe(0)
})

test('denied with a reason by keyboard alone: the words reach the agent, Escape only closes the panel', async () => {
  const peer = await asks()
  await page.getByRole('button', { name: 'Deny with a reason …' }).focus()
  await page.keyboard.press('Enter')
  await page.keyboard.press('Escape')
  expect(await count('.ask-panel:visible')).toBe(0)
  await page.keyboard.press('Enter')
  await page.keyboard.type('Use the old build.')
  await page.keyboard.press('Enter')
  await decided({ allow: false, message: 'Use the old build.' })
  await shows('.ask-outcome', 'Denied by owner')
  expect(await page.evaluate('document.activeElement.className')).toBe('ask-card')
  await page.locator('.ask-card summary').click()
  await shows('.ask-reason', 'Reason: Use the old build.')
  expect(peer.heard.filter(({ type }) => type === 'stop')).toEqual([])
})

test('a long diff has colours, is folded, and can be seen whole', async () => {
  const lines = Array.from({ length: 400 }, (_, i) => `${i % 2 === 0 ? '-' : '+'}line ${i}`)
  await asks({ ask: askedEdit('src/garden.ts', `@@ -1 +1 @@\n${lines.join('\n')}\n`) })
  const diff = page.locator('.ask-card pre')
  expect(await page.locator('.ask-path').textContent()).toBe('src/garden.ts')
  expect(await diff.locator('.added').count()).toBe(200)
  const heightOf = () => diff.evaluate(one => one.clientHeight)
  expect(await heightOf()).toBeLessThan(400)
  await press('Show all 401 lines')
  expect(await heightOf()).toBeGreaterThan(4000)
  expect(await diff.textContent()).toContain('+line 399')
  const colours = (await page.evaluate(
    `['.added', '.removed'].map(kind => getComputedStyle(document.querySelector(kind)).color)`,
  )) as string[]
  expect(new Set(colours).size).toBe(2)
})

test('an option is the answer to a question, and free text is possible', async () => {
  await asks({ ask: askedQuestions(['Which colour?', ['Green', 'Blue']]) })
  await page.getByRole('button', { name: 'Blue' }).click()
  await decided({ allow: true, answers: { 'Which colour?': 'Blue' } })
  await page.locator('.ask-card summary').click()
  await shows('.ask-answers', 'Which colour?\nBlue')

  stage.requests.put(someRequest({ id: 2, ask: askedQuestions(['Which colour?', ['Green', 'Blue']]) }))
  await page.getByLabel('Or in your own words').fill('Neither, leave it.')
  await page.keyboard.press('Enter')
  await decided({ allow: true, answers: { 'Which colour?': 'Neither, leave it.' } })
})

test('several questions are answered together, with several options where allowed; nothing is sent before all have an answer', async () => {
  await asks({ ask: askedQuestions(['Which rooms?', ['Hall', 'Kitchen', 'Attic'], true], ['When?', ['Now', 'Later']]) })
  await page.getByRole('button', { name: 'Hall' }).click()
  await page.getByRole('button', { name: 'Attic' }).click()
  await press('Send answer')
  await shows('.ask-error', 'Choose an option, or write an answer.')
  expect(stage.requests.decisions).toEqual([])
  await page.getByRole('button', { name: 'Later' }).click()
  await press('Send answer')
  await decided({ allow: true, answers: { 'Which rooms?': 'Hall, Attic', 'When?': 'Later' } })
})

test('a plan is shown as Markdown without anything that runs, and can be approved or changed with words', async () => {
  await asks({ rule: null, ask: { kind: 'plan', plan: '# Steps\n\n1. **Dig**\n2. <script>alert(1)</script>Plant' } })
  expect(await page.locator('.ask-plan h1').textContent()).toBe('Steps')
  expect(await count('.ask-card script')).toBe(0)
  await press('Keep planning …')
  await page.keyboard.type('Water first.')
  await press('Keep planning')
  await decided({ allow: false, message: 'Water first.' })
  stage.requests.put(someRequest({ id: 2, rule: null, ask: { kind: 'plan', plan: 'Water, dig, plant.' } }))
  await press('Approve')
  await decided({ allow: true })
  expect(trouble).toEqual([])
})

test('answered in one window, the other shows it at once; who comes later is told how it was answered', async () => {
  await asks()
  const other = await page.context().newPage()
  await other.goto(stage.url + home)
  await stage.peer(1)
  stage.requests.put(someRequest())
  await other.locator('.ask-card[data-state=open]').waitFor()
  await press('Deny')
  await expect.poll(() => other.locator('.ask-outcome').allInnerTexts()).toEqual(['Denied by owner'])

  // The news is lost on the way: the second answer changes nothing.
  stage.requests.put(someRequest({ id: 2 }))
  await stage.requests.decide(2, { allow: true }, 'ada')
  stage.requests.put(someRequest({ id: 3 }))
  await shows('.ask-outcome', 'Allowed once by ada')
})

test('if the gateway cannot be reached, the card says so and can be used again', async () => {
  await asks()
  await page.route('**/api/requests', route => route.abort())
  await press('Allow once')
  await shows('.ask-error', 'Cannot reach the gateway. Please try again.')
  await page.unroute('**/api/requests')
  await press('Allow once')
  await decided({ allow: true })
})

test('after a reload the cards are back with their turns, and what a job asks here is a card of its own', async () => {
  await asks()
  await press('Allow once')
  await decided({ allow: true })
  stage.greetWith(peer =>
    peer.say({
      type: 'history',
      messages: [
        { id: 'm1', role: 'user', text: 'Please check the garden.', at: 1, ok: true, state: 'answered' },
        { id: 'm1', role: 'agent', text: 'All is well.', at: 2, ok: true, state: 'answered' },
      ],
      older: null,
      requests: [
        stage.requests.find(1),
        someRequest({ id: 5, lane: 'cron:report', key: 'cron:report@1', owner: false, person: null, source: 'cron' }),
      ],
    }),
  )
  await page.reload()
  await shows('.turn[data-id=m1] .ask-outcome', 'Allowed once by owner')
  await shows('.turn[data-id="request:5"] .ask-title', 'Run this command?')
  expect(await page.locator('.turn[data-id="request:5"]').textContent()).toContain('cron (no person)')
  expect(await page.locator('#stop').isVisible()).toBe(false)
})

test.for(['light', 'dark'] as const)('at phone width everything fits, and axe finds nothing: %s', async colorScheme => {
  await asks(
    { ask: askedEdit('src/a/very/long/path/of/the/garden/that/goes/on.ts', `+${'long '.repeat(60)}\n-short`) },
    { ...phone, colorScheme },
  )
  stage.requests.put(someRequest({ id: 2, ask: askedQuestions(['Which rooms?', ['Hall', 'Kitchen'], true]) }))
  stage.requests.put(someRequest({ id: 3, ask: { kind: 'plan', plan: '1. Dig\n2. Plant' }, rule: null }))
  stage.requests.put(someRequest({ id: 4, ask: askedCommand('ls') }))
  await stage.requests.decide(4, { allow: false, message: 'no' }, 'owner')
  await page.locator('.ask-card[data-state=denied] summary').click()
  for (const name of ['Allow always …', 'Deny with a reason …']) {
    await page.getByRole('button', { name, exact: true }).first().click()
    const wide = await page.evaluate(
      'document.documentElement.scrollWidth > innerWidth || document.querySelector("#scroll").scrollWidth > document.querySelector("#scroll").clientWidth',
    )
    expect(wide).toBe(false)
    expect(await axeComplaints(page, name)).toEqual([])
  }
  const small = await page
    .locator('.ask-card .button:visible')
    .evaluateAll(all => all.filter(one => one.getBoundingClientRect().height < 40).length)
  expect(small).toBe(0)
  if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/phone-${colorScheme}.png` })
  expect(trouble).toEqual([])
})
