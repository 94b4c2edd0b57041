// Jobs, sessions and memory over HTTP: valid requests reach the admin API, and invalid ones are refused before.
import { afterEach, expect, test } from 'vitest'
import { briefing, hit, kitchen, learnt, recordingAdmin } from '../../../test/fakes/admin.ts'
import { fakePermissions } from '../../../test/fakes/permissions.ts'
import { bearer, closeAll, open, post } from './server.rig.ts'

afterEach(closeAll)

async function createAdmin() {
  const admin = recordingAdmin()
  const { url } = await open({ admin: admin, limits: { bodyBytes: 100_000 } })
  const say = async (path: string, body: unknown) => {
    const answer = await post(`${url}${path}`, body)
    return [answer.status, await answer.json()]
  }
  const read = async (path: string) => {
    const answer = await fetch(`${url}${path}`, { headers: bearer })
    return [answer.status, await answer.json()]
  }
  return { ...admin, url, say, read }
}

test('jobs are listed, added, paused, removed and run', async () => {
  const { say, read, asked } = await createAdmin()
  expect(await read('/api/jobs')).toEqual([
    200,
    { jobs: [briefing], troubles: [{ file: 'agents.md', name: 'broken', why: 'no schedule' }] },
  ])
  const add = { name: 'x', schedule: 'every hour', instruction: 'Look.', zone: null, skipIf: 'notes/a.md' }
  expect(await say('/api/jobs', { add })).toMatchObject([200, { ok: true, job: { name: 'x' } }])
  expect(await say('/api/jobs', { add: { ...add, schedule: 'sometimes' } })).toEqual([
    400,
    { ok: false, why: 'Say when, such as "every 30 minutes".' },
  ])
  expect(await say('/api/jobs', { pause: 'briefing' })).toMatchObject([200, { ok: true }])
  expect(await say('/api/jobs', { pause: 'briefing', paused: false })).toMatchObject([200, { ok: true }])
  expect(await say('/api/jobs', { remove: 'briefing' })).toMatchObject([200, { ok: true }])
  expect(await say('/api/jobs', { run: 'nothing' })).toMatchObject([400, { ok: false }])
  expect(asked).toEqual([
    ['add', add],
    ['add', { ...add, schedule: 'sometimes' }],
    ['pause', 'briefing', true],
    ['pause', 'briefing', false],
    ['remove', 'briefing'],
    ['run', 'nothing'],
  ])
})

test('sessions are listed and cleared', async () => {
  const { say, read } = await createAdmin()
  const page = { sessions: [kitchen], conversations: 1, next: null }
  expect(await read('/api/sessions')).toEqual([200, page])
  expect(await read('/api/sessions?limit=1000&after=x')).toEqual([200, page])
  expect(await read('/api/sessions?limit=1001')).toMatchObject([400, {}])
  expect(await say('/api/sessions', { clear: 'all' })).toEqual([200, { ok: true, lanes: ['webchat:kitchen'] }])
  expect(await say('/api/sessions', { clear: 'stale' })).toEqual([200, { ok: true, lanes: [] }])
  expect(await say('/api/sessions', { clear: 'x' })).toMatchObject([400, { ok: false }])
})

test('memory is searched and synced, and its changes are decided', async () => {
  const { say, read, asked } = await createAdmin()
  expect(await read('/api/memory?q=the%20train')).toEqual([200, { hits: [hit] }])
  expect(await read('/api/memory?q=x&limit=3')).toEqual([200, { hits: [] }])
  expect(await read('/api/memory/log')).toEqual([200, { changes: [learnt] }])
  expect(await read('/api/memory/log?limit=1')).toEqual([200, { changes: [learnt] }])
  expect(await say('/api/memory', { sync: true })).toEqual([200, { documents: 12, changed: 1 }])
  expect(await say('/api/memory', { undo: null })).toMatchObject([200, { ok: true, change: { state: 'undone' } }])
  expect(await say('/api/memory', { undo: 8 })).toEqual([400, { ok: false, why: 'There is no change 8.' }])
  expect(await say('/api/memory', { approve: 7 })).toMatchObject([200, { change: { state: 'approved' } }])
  expect(await say('/api/memory', { deny: 7 })).toMatchObject([200, { change: { state: 'denied' } }])
  expect(asked).toEqual([
    ['search', 'the train', 10],
    ['search', 'x', 3],
    ['log', 20],
    ['log', 1],
    ['undo', null],
    ['undo', 8],
    ['approve', 7],
    ['deny', 7],
  ])
})

test('invalid requests are refused with a clear message and go no further', async () => {
  const { say, read, asked } = await createAdmin()
  const job = { name: 'x', schedule: 'every hour', instruction: 'Look.' }
  const bad: [string, unknown, string][] = [
    ['/api/jobs', '{"add":', 'not JSON'],
    ['/api/jobs', 'null', 'JSON object'],
    ['/api/jobs', {}, 'needs one of "add", "pause", "remove", "run"'],
    ['/api/jobs', { remove: 'a', run: 'a' }, 'needs one of'],
    ['/api/jobs', { add: 'x' }, '"add" must be an object'],
    ['/api/jobs', { add: { ...job, name: '' } }, '"add.name" must not be empty'],
    ['/api/jobs', { add: { ...job, name: 'x'.repeat(201) } }, '"add.name" must have at most 200'],
    ['/api/jobs', { add: { ...job, instruction: undefined } }, '"add.instruction" is missing'],
    ['/api/jobs', { add: { ...job, channel: 7 } }, '"add.channel" must be a string'],
    ['/api/jobs', { add: { ...job, missed: 'twice' } }, '"add.missed" must be "skip" or "once"'],
    ['/api/jobs', { pause: 'x', paused: 'no' }, '"paused" must be true or false'],
    ['/api/sessions', {}, '"clear" is missing'],
    ['/api/sessions', { clear: ['a'] }, '"clear" must be a string'],
    ['/api/sessions', '\u0000', 'not JSON'],
    ['/api/memory', { sync: false }, '"sync" must be true'],
    ['/api/memory', { undo: '7' }, '"undo" must be a number'],
    ['/api/memory', { undo: -1 }, '"undo" must be 1 or more'],
    ['/api/memory', { approve: null }, '"approve" must be a number'],
    ['/api/memory', { approve: 1.5 }, '"approve" must be a whole number'],
    ['/api/memory', { sync: true, deny: 1 }, 'needs one of'],
  ]
  for (const [path, body, words] of bad)
    expect(await say(path, body)).toEqual([400, { error: expect.stringContaining(words) }])
  for (const query of ['', '?q=', '?q=%20', `?q=${'x'.repeat(1001)}`])
    expect(await read(`/api/memory${query}`)).toEqual([400, { error: expect.stringContaining('what to look for') }])
  for (const limit of ['0', '-1', '101', '1e3', 'x', ''])
    expect(await read(`/api/memory?q=x&limit=${limit}`)).toEqual([
      400,
      { error: expect.stringContaining('from 1 to 100') },
    ])
  expect(await read('/api/memory/log?limit=1001')).toMatchObject([400, {}])
  for (const path of ['/api/jobs', '/api/sessions', '/api/memory'])
    expect(await say(path, { run: 'x'.repeat(100_000) })).toEqual([
      413,
      { error: expect.stringContaining('longer than') },
    ])
  expect(asked).toEqual([])
})

test('nobody gets in without the token, from another site, or by another method', async () => {
  const { url, asked } = await createAdmin()
  for (const path of ['/api/jobs', '/api/sessions', '/api/memory']) {
    const order = JSON.stringify({ run: 'briefing', clear: 'all', undo: null })
    for (const headers of [{}, { Authorization: 'Bearer wrong' }]) {
      expect((await fetch(`${url}${path}?q=x`, { headers })).status).toBe(401)
      expect((await fetch(`${url}${path}`, { method: 'POST', headers, body: order })).status).toBe(401)
    }
    const foreign = { ...bearer, Origin: 'https://example.org' }
    expect((await fetch(`${url}${path}`, { method: 'POST', headers: foreign, body: order })).status).toBe(403)
    const other = await fetch(`${url}${path}`, { method: 'DELETE', headers: bearer })
    expect([other.status, other.headers.get('allow')]).toEqual([405, 'GET, HEAD, POST'])
  }
  expect((await fetch(`${url}/api/memory/log`)).status).toBe(401)
  expect(asked).toEqual([])
})

test('an admin API that throws only fails its request', async () => {
  const { jobs, ...admin } = recordingAdmin()
  const list = async () => Promise.reject(new Error('the disk /somewhere is full'))
  const { url, warnings } = await open({ admin: { ...admin, jobs: { ...jobs, list } } })
  const answer = await fetch(`${url}/api/jobs`, { headers: bearer })
  expect([answer.status, await answer.text()]).toEqual([500, expect.not.stringContaining('somewhere')])
  expect(warnings).toEqual(['request failed'])
})

test('rules of permissions.json are listed, added and removed; half an order is refused', async () => {
  const orders: unknown[] = []
  const { url } = await open({ admin: { permissions: fakePermissions(orders) } })
  const path = `${url}/api/permissions`
  const list = async () => ((await (await fetch(path, { headers: bearer })).json()) as { rules: object[] }).rules
  expect(await list()).toHaveLength(2)
  expect((await post(path, { add: { list: 'ask', rule: 'WebFetch' } })).status).toBe(200)
  expect(await list()).toContainEqual({
    ...{ list: 'ask', rule: 'WebFetch', conversation: null, project: null, by: 'owner', added: null },
  })
  expect((await post(path, { remove: { list: 'deny', rule: 'Edit(secrets/**)' } })).status).toBe(200)
  expect(orders).toEqual([{ remove: { list: 'deny', rule: 'Edit(secrets/**)', conversation: null, project: null } }])
  for (const order of [{}, { add: { list: 'sometimes', rule: 'x' } }, { add: { list: 'ask' } }])
    expect((await post(path, order)).status).toBe(400)
  expect((await fetch(path)).status).toBe(401)
})
