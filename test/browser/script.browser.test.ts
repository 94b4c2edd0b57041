// Stored XSS: script in every text that is stored and shown, written over every API and directly into the files, stays text on every page.
import { appendFileSync, mkdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { looks, type Scene, show } from '../../demo/scenes.ts'
import { rows } from '../harness/paths.ts'
import { dashboard, look, scenes } from './samples.ts'

const script =
  '<script>hacked=1</script><img src=x onerror=hacked=1>"\'><svg onload=hacked=1>[a](javascript:hacked=1)<style>*{display:none}</style>'
const short = '<img src=x onerror=hacked=1>'

/** Bodies for each path that writes, with as much script as possible. */
const orders: Readonly<Record<string, readonly object[]>> = {
  'POST /api/messages': [
    { conversation: 'desk', text: script },
    { conversation: 'scripted', text: `\`\`\`html\n${script}\n\`\`\`\n\n| ${script} |\n|---|\n\n# ${script}` },
  ],
  'POST /api/pairing': [{ approve: short }, { deny: `discord:${short.replaceAll(' ', '/')}` }],
  'POST /api/jobs': [
    { add: { name: short, schedule: 'every day at 7:00', instruction: script, channel: 'webchat:scripted' } },
    { run: short },
  ],
  'POST /api/sessions': [{ clear: short }],
  'POST /api/memory': [{ sync: true }],
  'POST /api/requests': [{ id: 1, allow: false, message: script }],
  'POST /api/permissions': [
    { add: { list: 'deny', rule: `Bash(echo ${short})`, conversation: `webchat:${short}` } },
    { add: { list: 'deny', rule: `Edit(${short}/**)`, project: `/tmp/${short}` } },
    { remove: { list: 'allow', rule: script } },
  ],
  'POST /api/agents': [{ stop: short }],
  'POST /api/logins': [{ revoke: short }],
  'POST /api/settings': [{ set: { 'agent.model': short } }, { set: { [short]: script } }],
  'POST /api/brain': [{ content: script, type: short, category: short, tags: [short] }],
  'POST /api/tasks': [{ title: script, notes: script }],
  'POST /api/content': [
    { title: script, url: 'javascript:hacked=1', kind: short, summary: script, tags: [short] },
    { title: short, url: `https://example.org/"onmouseover="hacked=1`, summary: script },
  ],
}
/** Covered below, or without a text. */
const apart = new Set([
  'POST /api/attachments',
  'POST /api/file',
  'PATCH /api/brain',
  'PATCH /api/tasks',
  'PATCH /api/content',
  'DELETE /api/brain',
  'DELETE /api/tasks',
  'DELETE /api/content',
  'POST /api/tools/send_message',
])

const order = (method: string, path: string, body: object) =>
  fetch(`${dashboard.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${dashboard.token}` },
    body: JSON.stringify(body),
  })

test('nothing that is stored runs, loads anything or violates the content security policy, on any page', {
  timeout: 120_000,
}, async () => {
  const writing = rows.filter(({ method }) => method !== 'GET').map(({ method, path }) => `${method} ${path}`)
  expect(
    writing.filter(one => !(one in orders) && !apart.has(one)),
    'paths that nobody attacks here',
  ).toEqual([])
  for (const [to, bodies] of Object.entries(orders)) {
    const [method = '', path = ''] = to.split(' ')
    for (const body of bodies) expect((await order(method, path, body)).status, to).toBeLessThan(500)
  }
  await sendFile()
  const dir = readlinkSync(`/proc/${dashboard.pid}/cwd`)
  for (const file of ['brain.json', 'tasks.json', 'content-items.json']) await withScriptIn(join(dir, file))
  const read = await fetch(`${dashboard.url}/api/file?name=user.md`, {
    headers: { authorization: `Bearer ${dashboard.token}` },
  })
  const { text, version } = (await read.json()) as { text: string; version: string }
  expect((await order('POST', '/api/file', { name: 'user.md', text: `${text}\n${script}\n`, version })).status).toBe(
    200,
  )
  appendFileSync(join(dir, 'memory.md'), `\n## ${script}\n- ${script}\n`)
  appendFileSync(
    join(dir, 'heartbeat.md'),
    `\n## ${short}\nInterval: 1800\nInstruction: ${script}\n\n## ${short} broken\nInterval: soon\nInstruction: ${script}\n`,
  )
  mkdirSync(join(dir, 'skills', 'scripted'))
  writeFileSync(
    join(dir, 'skills', 'scripted', 'SKILL.md'),
    `---\nname: scripted\ndescription: '${script.replaceAll("'", "''")}'\n---\n${script}\n`,
  )
  writeFileSync(join(dir, 'notes', 'scripted.md'), `# ${script}\n\nhacked ${script}\n`)
  await order('POST', '/api/memory', { sync: true })

  const { page, trouble } = await look(looks.light)
  const shown: string[] = []
  for (const scene of [...scenes.filter(({ stranger }) => !stranger), ...(await scripted())]) {
    await show(page, dashboard, scene)
    await page.evaluate('for (const one of document.querySelectorAll("#page details")) one.open = true')
    await page.waitForTimeout(50)
    expect(await page.evaluate('globalThis.hacked'), scene.name).toBe(undefined)
    expect(
      await page
        .locator(
          '#page :is(script, style, iframe, object), #page img[src="x"], a[href^="javascript:"], [onerror], [onload], [onmouseover]',
        )
        .count(),
      scene.name,
    ).toBe(0)
    expect(trouble, scene.name).toEqual([])
    if ((await page.textContent('body'))?.includes('onerror=hacked')) shown.push(scene.name)
  }
  // It is there as text; otherwise this would prove nothing.
  expect(shown).toEqual(
    expect.arrayContaining([
      ...['overview', 'brain', 'tasks', 'content', 'skills', 'schedule', 'approvals', 'webchat', 'chat scripted'],
    ]),
  )
})

/** An HTML file with script in its name and content is served so that no browser renders it. */
async function sendFile(): Promise<void> {
  const headers = { authorization: `Bearer ${dashboard.token}`, 'Content-Type': 'text/html' }
  const query = new URLSearchParams({ conversation: 'scripted', name: `${short}.html` })
  const sent = await fetch(`${dashboard.url}/api/attachments?${query}`, { method: 'POST', headers, body: script })
  const { attachment } = (await sent.json()) as { attachment: { id: string } }
  await order('POST', '/api/messages', { conversation: 'scripted', text: 'see there', attachments: [attachment.id] })
  const back = await fetch(`${dashboard.url}/api/attachments?conversation=scripted&id=${attachment.id}`, { headers })
  expect(back.headers.get('content-type')).toBe('application/octet-stream')
  expect(back.headers.get('content-disposition')).toMatch(/^attachment;/)
  expect(back.headers.get('content-security-policy')).toContain('sandbox')
}

/** As an agent or a text editor might write it. */
async function withScriptIn(file: string): Promise<void> {
  const list = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>[]
  const evil = Object.fromEntries(
    Object.entries(list[0] ?? {}).map(([name, value]) => [name, Array.isArray(value) ? [script] : script]),
  )
  writeFileSync(
    file,
    JSON.stringify([...list, { ...evil, id: `${short}-id` }, { ...list[0], id: short, [short]: script }]),
  )
}

/** The resulting events and conversations, and a search. */
async function scripted(): Promise<readonly Scene[]> {
  const asked = await fetch(`${dashboard.url}/api/activity?limit=100`, {
    headers: { authorization: `Bearer ${dashboard.token}` },
  })
  const { entries } = (await asked.json()) as { entries: { event: number | null }[] }
  const events = [...new Set(entries.flatMap(({ event }) => event ?? []))].slice(0, 4)
  return [
    ...events.map(event => ({ name: `event ${event}`, address: `/#/activity?event=${event}` })),
    { name: 'chat scripted', address: '/chat#scripted' },
    { name: 'chat within, scripted', address: '/#/chat?conversation=scripted' },
    { name: 'memory search', address: '/#/memory?q=hacked' },
  ]
}
