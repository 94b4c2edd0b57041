// The pages of Mission Control in a real browser, against a scripted gateway.
import { expect, test } from 'vitest'
import type { World } from './mission-stage.ts'
import { connected, ordered, page, press, shows, stage, trouble, visit } from './owner.ts'

test('the overview shows the state of the gateway and follows it live', async () => {
  await visit('overview')
  await shows('.health', '1 turn failed today')
  await shows('.health', '1 turn running, 2 queued.')
  expect(page.url()).toBe(`${stage.url}/#/overview`)
  expect(await page.title()).toBe('Overview · Aetheel')
  expect((await page.locator('.tile').allInnerTexts()).map(text => text.replace(/\s+/g, ' '))).toEqual([
    'Running 1',
    'Queued 2',
    'Turns today 37',
    'Failed today 1',
    'Cost today $1.84 of $5.00',
    'Tokens today 655.8K 51.8K output',
  ])
  await shows('[aria-label="Running now"] .row', 'heat pump')
  await shows('[aria-label="Failed today"] .row', 'usage limit of claude')
  await shows('[aria-label="Next jobs"] .row', 'morning news')
  await connected()
  const { overview } = stage.world
  overview.running = []
  stage.tellStatus()
  await shows('[aria-label="Running now"]', 'Nothing is running.')
  overview.waiting = []
  overview.today = { ...overview.today, failed: 0, costUsd: 2.5 }
  stage.happens({ text: 'something' })
  await shows('.health', 'All systems normal')
  await shows('.health', 'Idle.')
  await shows('.tile', '$2.50')
  expect(trouble).toEqual([])
})

test('the overview shows a disconnected chat, and the total of a long queue', async () => {
  const { overview } = stage.world
  overview.status.unreached = ['discord']
  overview.status.events.waiting = 240
  overview.waiting = Array.from({ length: 100 }, (_, place) => ({ ...overview.waiting[0]!, event: 100 + place }))
  await visit('overview')
  await shows('.health', 'Discord is not connected')
  await shows('.tile', 'Queued\n240')
  await shows('[aria-label="Queued"] .card-head', 'first 6 of 240')
  expect(await page.locator('[aria-label="Queued"] .row').count()).toBe(6)
  await connected()
  overview.status.unreached = []
  stage.tellStatus()
  await shows('.health', '1 turn running, 240 queued.')
  expect(trouble).toEqual([])
})

test('the overview data is prefetched once, and only for the overview', async () => {
  const asked: string[] = []
  const loads = async (name: string) => {
    asked.length = 0
    page.on('request', request => asked.push(new URL(request.url()).pathname))
    await page.goto('about:blank')
    await page.goto(`${stage.url}/#/${name}`)
    await connected()
    page.removeAllListeners('request')
  }
  await visit('sessions')
  await loads('overview')
  await shows('.health', 'failed today')
  expect(asked.filter(path => path === '/api/overview')).toHaveLength(1)
  await loads('sessions')
  await shows('tbody tr', 'kitchen')
  expect(asked).not.toContain('/api/overview')
  await page.route('**/api/overview', route => route.fulfill({ status: 500, json: { error: 'The disk is full.' } }))
  await loads('')
  await shows('.notice', 'The disk is full.')
  await page.unroute('**/api/overview')
  await press('Try again')
  await shows('.health', 'failed today')
})

test('activity arrives live, is filtered by text and level, and older entries can be loaded', async () => {
  await visit('activity')
  await shows('.feed .row', 'Answered in 14 s')
  const rows = () => page.locator('.feed .row').count()
  expect(await rows()).toBe(50)
  await connected()
  stage.happens({ text: 'A <b>bold</b> guest came', level: 'warn', event: 41, lane: 'discord:hall' })
  await expect.poll(() => page.locator('.feed .asked').first().textContent()).toBe('A <b>bold</b> guest came')
  expect(await page.locator('.feed .ago').first().textContent()).toBe('now')
  await page.getByLabel('Filter by text').fill('HALL')
  await expect.poll(rows).toBe(1)
  await page.getByLabel('Filter by text').fill('')
  await page.getByLabel('Level').selectOption('warn')
  await expect.poll(rows).toBe(3)
  await page.getByLabel('Level').selectOption('all')
  await press('Show older')
  await expect.poll(rows).toBe(101)
  await press('Show older')
  await expect.poll(rows).toBe(119)
  expect(await page.getByRole('button', { name: 'Show older' }).count()).toBe(0)
  await page.getByLabel('Filter by text').fill('no such thing')
  await shows('.empty', 'No entries match the filter.')
  expect(trouble).toEqual([])
})

test('entries dropped from the end of a long list can be loaded again', async () => {
  await visit('activity')
  const rows = () => page.locator('.feed .row').count()
  const older = page.getByRole('button', { name: 'Show older' })
  await expect.poll(rows).toBe(50)
  await older.click()
  await expect.poll(rows).toBe(100)
  await older.click()
  await expect.poll(() => older.count()).toBe(0)
  const all = await rows()
  for (let i = all; i < 1010; i += 1) stage.happens({ text: `news ${i}` })
  await expect.poll(rows).toBe(1000)
  await older.click()
  await expect.poll(rows).toBe(1010)
  stage.happens({ text: 'one more' })
  await shows('.feed .asked', 'one more')
  expect(await rows()).toBe(1010)
})

const activity = () => page.getByRole('link', { name: 'Activity', exact: true }).click()

/** Opens the page; an entry arrives before the response, which does not include it. */
const happensMeanwhile = async (text: string) => {
  const held = Promise.withResolvers<void>()
  const fetched = Promise.withResolvers<void>()
  await page.route('**/api/activity?*', async route => {
    const response = await route.fetch()
    fetched.resolve()
    await held.promise
    await route.fulfill({ response })
  })
  await activity()
  await fetched.promise
  stage.happens({ text })
  await page.waitForTimeout(150)
  held.resolve()
  await shows('.feed .asked', text)
}

test('an entry that arrives during the first request is in the list', async () => {
  await visit('sessions')
  await connected()
  await happensMeanwhile('just in between')
  expect(await page.locator('.feed .row').count()).toBe(51)
})

test('after more than a page of missed entries the list has no gap', async () => {
  await visit('activity')
  await expect.poll(() => page.locator('.feed .row').count()).toBe(50)
  await page.getByRole('link', { name: 'Sessions' }).click()
  await shows('tbody tr', 'kitchen')
  for (let i = 0; i < 60; i += 1) stage.happens({ text: `news ${i}` })
  await page.waitForTimeout(150)
  await happensMeanwhile('the last')
  await expect.poll(() => page.locator('.feed .row').count()).toBe(51)
  await press('Show older')
  await shows('.feed .asked', 'news 0')
  expect(await page.locator('.feed .row').count()).toBe(101)
  expect(trouble).toEqual([])
})

test('an event opens with its timeline and exact prompt, and is updated while it runs', async () => {
  await visit('activity')
  await page.locator('.feed a.row').first().click()
  const panel = page.getByRole('dialog', { name: 'Event 41' })
  await expect
    .poll(() => panel.locator('.timeline .what').allInnerTexts())
    .toEqual(['queued', 'started', 'first output', 'tool', 'tool', 'finished', 'delivered'])
  expect(await panel.locator('.timeline .when').nth(2).textContent()).toBe('+2.1 s')
  await shows('.facts', '18,412 in, 326 out')
  await panel.getByText('System prompt', { exact: true }).click()
  expect(await panel.locator('details[open] pre').textContent()).toBe(stage.world.events.get(41)?.prompt.system)
  stage.world.events.get(41)?.steps.push({ at: Date.now(), what: 'sent', detail: 'a second message' })
  stage.happens({ event: 41 })
  await shows('.timeline .detail', 'a second message')
  await page.keyboard.press('Escape')
  await expect.poll(() => panel.count()).toBe(0)
  await expect.poll(() => page.url()).toBe(`${stage.url}/#/activity`)
  expect(trouble).toEqual([])
  await page.goto(`${stage.url}/#/overview?event=7`)
  await shows('dialog', 'This event is no longer stored.')
})

test('jobs are run, paused, resumed, deleted after a confirmation, and added', async () => {
  await visit('schedule')
  await shows('.notice', 'water the plants in agents.md is not valid: the schedule “when dry” cannot be read.')
  expect(await page.locator('.job').nth(1).locator('.nexts li').count()).toBe(3)
  await press('Run now: inbox')
  await ordered({ run: 'inbox' })
  await shows('#toast', '“inbox” started.')
  await press('Pause inbox')
  await ordered({ pause: 'inbox', paused: true })
  await press('Resume inbox')
  await ordered({ pause: 'inbox', paused: false })
  await press('Delete inbox')
  await press('Cancel')
  await expect.poll(() => page.locator('dialog').count()).toBe(0)
  await ordered({ pause: 'inbox', paused: false })
  await press('Delete inbox')
  await press('Delete')
  await ordered({ remove: 'inbox' })
  await expect.poll(() => page.locator('.job h2').allInnerTexts()).toEqual(['morning news', 'check the site'])

  await press('Add job')
  await page.getByLabel('Name').fill('tea')
  await page.getByLabel('Schedule').fill('sometimes')
  await page.getByLabel('Instruction').fill('Remind me of tea.')
  await press('Add')
  await shows('dialog .notice', 'The schedule “sometimes” cannot be read.')
  expect(trouble.filter(one => !one.includes('400'))).toEqual([])
  await page.getByLabel('Schedule').fill('every day at 16:00')
  await press('Add')
  await ordered({
    add: { name: 'tea', schedule: 'every day at 16:00', instruction: 'Remind me of tea.', missed: 'skip' },
  })
  await shows('.job h2', 'tea')
})

test('a sub-agent is stopped after a confirmation', async () => {
  await visit('agents')
  await shows('.job', 'Read: offers/second.pdf')
  expect(await page.getByRole('button', { name: /^Stop / }).count()).toBe(1)
  await press('Stop offers')
  await press('Stop')
  await ordered({ stop: 'a2' })
  await shows('.badge', 'stopped')
  expect(trouble).toEqual([])
})

test('a gateway without sub-agents has no page for them', async () => {
  stage.world.agents = null
  await visit('overview')
  await shows('.health', 'failed today')
  await connected()
  await page.waitForTimeout(200)
  expect(await page.getByRole('navigation').getByRole('link', { name: 'Sub-agents' }).count()).toBe(0)
  expect(await page.getByRole('navigation').getByRole('link').count()).toBeGreaterThan(6)
})

test('one session is reset, the others stay', async () => {
  await visit('sessions')
  await press('Reset session: discord:garden')
  await press('Reset')
  await ordered({ clear: 'discord:garden' })
  await shows('#toast', '1 session reset.')
  await expect.poll(() => page.locator('tbody tr').count()).toBe(2)
  await press('Reset old sessions')
  await press('Reset')
  await ordered({ clear: 'stale' })
  await shows('#toast', 'There were no sessions to reset.')
  expect(trouble).toEqual([])
})

test('of very many sessions the most recent are shown, and older ones on request', async () => {
  const [first] = stage.world.sessions
  for (let i = 0; i < 150; i++) stage.world.sessions.push({ ...first!, lane: `webchat:old-${i}` })
  await visit('sessions')
  await expect.poll(() => page.locator('tbody tr').count()).toBe(100)
  await shows('.centre', 'The 100 most recent of 153 conversations.')
  await press('Show older')
  await expect.poll(() => page.locator('tbody tr').count()).toBe(153)
  expect(await page.getByRole('button', { name: 'Show older' }).count()).toBe(0)
  expect(trouble).toEqual([])
})

test('memory is searched, and its changes are approved, denied and undone', async () => {
  await visit('memory?tab=search')
  await page.getByLabel('Search memory').fill('backup')
  await shows('[aria-label="Results"] mark', 'backup')
  await shows('.snippet', '<img src=x onerror=alert(1)>')
  expect(await page.locator('.snippet img').count()).toBe(0)
  await press('Rebuild index')
  await shows('#toast', '812 documents checked, 3 updated.')
  await page.getByRole('link', { name: 'Changes 1 waiting for approval' }).click()
  await expect
    .poll(() => page.locator('.diff[open] .added').allInnerTexts())
    .toEqual(['+- The hose is behind the house\n', '+- Kim waters on Tuesdays\n'])
  await page.getByRole('link', { name: 'event 39' }).click()
  await shows('dialog', 'How did the backup go')
  await press('Close')
  await expect.poll(() => page.locator('a:focus').textContent()).toBe('event 39')
  await press('Approve change 12 of memory.md')
  await ordered({ approve: 12 })
  await shows('.badge', 'approved')
  await press('Undo change 11 of memory.md')
  await ordered({ undo: 11 })
  stage.world.changes[2] = { ...stage.world.changes[2]!, state: 'waiting' }
  stage.happens({})
  await press('Deny change 10 of CLAUDE.md')
  await ordered({ deny: 10 })
  expect(trouble).toEqual([])
})

test('usage is charted by day, grouped and listed', async () => {
  await visit('usage')
  await expect.poll(() => page.locator('.plot canvas').count()).toBe(4)
  expect(await page.locator('tbody tr').count()).toBe(3)
  await page.getByLabel('Group by').selectOption('channel')
  const channels = ['#kitchen of Our House', 'webchat desk', 'cron morning news', 'discord garden']
  await expect
    .poll(() => page.locator('[aria-label="Turns"] .legend-item').allInnerTexts())
    .toEqual(channels.map(name => expect.stringMatching(new RegExp(`^${name} \\d+$`))))
  expect(await page.locator('tbody td:first-child').allInnerTexts()).toEqual(channels)
  await page.getByLabel('Group by').selectOption('backend')
  await expect
    .poll(() => page.locator('[aria-label="Turns"] .legend-item').allInnerTexts())
    .toEqual([expect.stringMatching(/^claude \d+$/), expect.stringMatching(/^gemini \d+$/)])
  expect(await page.locator('[aria-label="Cost"] .legend-item').nth(1).textContent()).toBe('gemini –') // it does not report its cost
  const drawn = await page.locator('.plot canvas').evaluateAll(all =>
    all.map(one => {
      const canvas = one as unknown as {
        width: number
        height: number
        getContext(kind: '2d'): { getImageData(...box: number[]): { data: number[] } }
      }
      return canvas
        .getContext('2d')
        .getImageData(0, 0, canvas.width, canvas.height)
        .data.some(byte => byte > 0)
    }),
  )
  expect(drawn).toEqual([true, true, true, true])
  const day = () => page.locator('.legend-day').first().textContent()
  const last = await day()
  await page.waitForTimeout(200) // until it is drawn, and not only written
  await page
    .locator('.plot')
    .first()
    .hover({ position: { x: 200, y: 80 } })
  await expect.poll(day).not.toBe(last)
  // Redrawn, it still shows the day under the pointer.
  const pointed = await day()
  await page.getByLabel('Group by').selectOption('channel')
  await page.waitForTimeout(200)
  expect(await day()).toBe(pointed)
  expect(trouble).toEqual([])
})

test('the time to first token is averaged over all turns with output, and the remaining channels are grouped', async () => {
  const [some] = stage.world.usage
  const line = (channel: string | null, turns: number, spoke: number, firstWordMs: number | null) =>
    ({
      ...some!,
      channel,
      source: 'discord',
      backend: 'claude',
      turns,
      failed: turns - spoke,
      spoke,
      firstWordMs,
    }) as World['usage'][number]
  stage.world.usage = [
    line('discord:a', 10, 1, 9000),
    { ...line('discord:a', 3, 3, 1000), day: '2020-01-01' },
    line('discord:b', 2, 0, null),
    line(null, 1, 0, null),
  ]
  await visit('usage')
  await shows('.tile', '3.0 s\non average')
  await page.getByLabel('Group by').selectOption('channel')
  await expect
    .poll(() => page.locator('[aria-label="Time to first token"] .legend-item').allInnerTexts())
    .toEqual(['discord a 9.0 s', 'discord b –', 'other channels –'])
  expect(await page.locator('tbody td:last-child').allInnerTexts()).toEqual(['3.0 s', '–', '–'])
  expect(trouble).toEqual([])
})

test('people are approved, made owners and denied, and access is revoked', async () => {
  await visit('pairing')
  await press('Approve Sam')
  await ordered({ approve: 'K7QX-2M', owner: false })
  await shows('tbody tr', 'Sam')
  await press('Approve as owner: Alex <b>')
  await press('Make owner')
  await ordered({ approve: 'P3TR-9C', owner: true })
  await shows('.empty', 'No pending requests.')
  await press('Revoke access for Kim')
  await press('Revoke access')
  await ordered({ deny: 'discord:23' })
  await press('Approve Spammer')
  await ordered({ approve: 'discord:31', owner: false })
  expect(trouble).toEqual([])
})
