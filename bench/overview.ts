// How long the overview takes in a real browser, with a gateway that has history, and the gateway's share of it.
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type BrowserContext, chromium } from 'playwright-core'
import { type Home, token } from '../test/harness/gateway.ts'
import { type Figure, median, ms, percentile, spread, times } from './figures.ts'
import { echo, type Gateway, pause, withGateway, withHome } from './rig.ts'

const events = 10_000
const entries = 2000
const days = 30
const rounds = 15
const asked = 100
const budgetMs = 300
const program = process.env.CHROMIUM ?? '/usr/bin/chromium'

export const overviewFigures = (): Promise<readonly Figure[]> =>
  withHome(async home => {
    fill(home)
    return withGateway(home, echo, async gateway => [...(await inBrowser(gateway)), await onTheWire(gateway)])
  })

async function inBrowser(gateway: Gateway): Promise<readonly Figure[]> {
  const budget = `≤ ${budgetMs} ms`
  const names = { first: 'Overview usable, first visit', again: 'Overview usable, visited before' }
  if (!existsSync(program)) {
    const value = 'not measured: no Chromium (CHROMIUM names one)'
    return Object.values(names).map(name => ({ name, value, baseline: '', budget, ok: null }))
  }
  const browser = await chromium.launch({ executablePath: program, args: ['--no-sandbox', '--disable-gpu'] })
  const samples = { first: [] as number[], again: [] as number[], bare: [] as number[] }
  try {
    for (let round = 0; round <= rounds; round++) {
      // Each is a fresh browser: nothing cached, nothing compiled.
      const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
      // Logs in without opening a page.
      await context.request.get(`${gateway.url}/?token=${token}`, { maxRedirects: 0 })
      const first = await visit(context, `${gateway.url}/`, '.tiles .value')
      const again = await visit(context, `${gateway.url}/`, '.tiles .value')
      const bare = await visit(context, `${gateway.url}/healthz`, 'pre')
      await context.close()
      if (round === 0) continue // the browser's own start
      samples.first.push(first)
      samples.again.push(again)
      samples.bare.push(bare)
    }
  } finally {
    await browser.close()
  }
  const bare = median(samples.bare)
  return (['first', 'again'] as const).map(which => ({
    name: names[which],
    value: `${spread(samples[which])} = ${times(median(samples[which]) / bare)}`,
    baseline: `/healthz as a page: ${ms(bare)}`,
    budget,
    ok: median(samples[which]) <= budgetMs,
  }))
}

/** From the start of the navigation until the element is in the document, by the page's own clock. */
async function visit(context: BrowserContext, url: string, selector: string): Promise<number> {
  const page = await context.newPage()
  await page.addInitScript({ content: noteWhenSeen(selector) })
  await page.goto(url)
  await page.locator(selector).first().waitFor({ state: 'attached' })
  const took = Number(await page.evaluate('window.seenAt'))
  await pause(50) // the rest of the page, which the next visit finds kept
  await page.close()
  return took
}

const noteWhenSeen = (selector: string) => `
  const watch = new MutationObserver(() => {
    if (!document.querySelector(${JSON.stringify(selector)})) return
    window.seenAt = performance.now()
    watch.disconnect()
  })
  watch.observe(document, { childList: true, subtree: true })`

async function onTheWire({ url }: Gateway): Promise<Figure> {
  const headers = { Authorization: `Bearer ${token}` }
  const ask = async (path: string): Promise<number> => {
    const began = performance.now()
    await (await fetch(`${url}${path}`, { headers })).arrayBuffer()
    return performance.now() - began
  }
  const overview: number[] = []
  const bare: number[] = []
  for (let i = -5; i < asked; i++) {
    const [one, other] = [await ask('/api/overview'), await ask('/healthz')]
    if (i < 0) continue
    overview.push(one)
    bare.push(other)
  }
  return {
    name: '/api/overview, with the same data',
    value: `p50 ${ms(median(overview))}, p95 ${ms(percentile(overview, 0.95))} = ${times(median(overview) / median(bare))}`,
    baseline: `/healthz: ${ms(median(bare))}`,
    budget: '',
    ok: null,
  }
}

/** Written directly, in the gateway's format: events with their turns over some days, and the activity log. */
function fill(home: Home): void {
  const now = Date.now()
  const apart = (days * 86_400_000) / events
  const db = new DatabaseSync(join(home.configDir, '.aetheel/aetheel.db'))
  try {
    db.exec(`
      BEGIN;
      WITH RECURSIVE numbers (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM numbers WHERE i < ${events - 1})
      INSERT INTO items (queue, lane, key, state, body, at, attempts, ended_at)
      SELECT 'in', 'webchat:c' || (i % 40), 'webchat:past-' || i, 'done',
        json_object('key', 'webchat:past-' || i, 'lane', 'webchat:c' || (i % 40),
          'what', json_object('kind', 'message', 'id', 'past-' || i, 'text', 'What was it that I said?',
            'author', json_object('id', 'owner', 'name', 'owner', 'owner', json('true'))),
          'replyTo', json_object('chat', 'webchat', 'conversation', 'c' || (i % 40)), 'source', 'webchat'),
        ${now} - cast((${events} - i) * ${apart} AS INTEGER), 1, ${now} - cast((${events} - i) * ${apart} AS INTEGER)
      FROM numbers;
      INSERT INTO turns (event, at, lane, source, kind, person, backend, model, ms, first_word_ms, input_tokens, output_tokens, cost_usd, ok)
      SELECT id, at, lane, 'webchat', 'message', 'owner', 'claude', 'opus', 9000, 2100, 12000, 400, 0.04, id % 40 <> 0 FROM items;
      COMMIT`)
  } finally {
    db.close()
  }
  const told = Array.from({ length: entries }, (_, i) =>
    JSON.stringify({
      ...{ id: now - entries + i, at: now - (entries - i) * 20_000, type: 'turn-ended' },
      ...{ level: i % 50 === 0 ? 'warn' : 'info', event: i + 1, lane: `webchat:c${i % 40}` },
      text: `claude answered after 4.2 s (webchat:c${i % 40})`,
    }),
  )
  writeFileSync(join(home.configDir, 'activity-log.json'), `[\n${told.join(',\n')}\n]\n`, { mode: 0o600 })
}
