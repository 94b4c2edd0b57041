// The tools, with fake parts that record their calls.
import { expect, test } from 'vitest'
import type { Place } from '../base/event.ts'
import type { Jobs, JobView, NewJob } from '../base/jobs.ts'
import type { BoardTask, ContentItem, Fact, Records } from '../base/records.ts'
import type { NewSubAgent, Parent, SubAgent, SubAgents } from '../base/subagents.ts'
import { ownTools } from '../base/tools.ts'
import { createTools } from './all-tools.ts'
import { jobTools } from './jobs.ts'
import { asMcpTool } from './mcp/schema.ts'
import { createToolServer } from './tool-server.ts'
import { eventBy, taken } from './turns.fixture.ts'

const never = new AbortController().signal

function records<One extends { readonly id: string }>(): Records<One> {
  const all = new Map<string, One>()
  let n = 0
  return {
    list: async () => [...all.values()],
    async add(record) {
      const at = `2026-01-0${++n}`
      const one = { ...record, id: `r${n}`, createdAt: at, updatedAt: at } as unknown as One
      all.set(one.id, one)
      return one
    },
    async change(id, change, was = {}) {
      const one = all.get(id)
      if (!one) return { type: 'gone' }
      const fields = Object.keys(was) as (keyof typeof was & keyof One)[]
      if (fields.some(field => one[field] !== was[field])) return { type: 'conflict', item: one }
      const item = { ...one, ...change }
      all.set(id, item)
      return { type: 'changed', item }
    },
    restore: () => Promise.reject(new Error('not by tools')),
    async remove(id) {
      const one = all.get(id) ?? null
      all.delete(id)
      return one
    },
  }
}

function rig({ open = false } = {}) {
  const said: { key: string; place: Place; text: string; files: readonly string[] }[] = []
  const added: NewJob[] = []
  const spawned: { wanted: NewSubAgent; parent: Parent; key: string }[] = []
  const posts: { channel: string; from: string; text: string }[] = []
  const stopped: string[] = []
  const sent = new Map<string, number>()
  const job = (name: string): JobView => ({
    ...{ kind: 'cron', name, when: { type: 'every', seconds: 60 }, instruction: 'look at\nthe mail', zone: null },
    ...{ channel: 'discord:1', model: null, missed: 'skip', paused: false, skipIf: null },
    ...{ words: 'every minute', next: [1, 2, 3], last: null, answersTo: 'discord:1' },
  })
  const jobs: Jobs = {
    list: async () => ({ jobs: [job('mail')], troubles: [{ file: 'agents.md', name: 'bad', why: 'No schedule.' }] }),
    async add(wanted) {
      added.push(wanted)
      if (wanted.schedule === 'sometimes') return { ok: false, why: '"sometimes" is not a schedule.' }
      return { ok: true, job: job(wanted.name) }
    },
    pause: async (name, paused) => ({ ok: true, job: { ...job(name), paused, next: paused ? [] : [1] } }),
    remove: async name =>
      name === 'mail' ? { ok: true, job: job(name) } : { ok: false, why: 'There is no such job.' },
    run: async name => ({ ok: true, job: job(name) }),
  }
  const agentOf = (id: string, parent: string, person: string | null = null): SubAgent => ({
    ...{
      id,
      name: `agent-${id}`,
      instruction: 'look',
      parent,
      root: parent,
      place: null,
      depth: 1,
      model: null,
      state: 'working',
    },
    ...{ principal: { owner: person === null, person, origin: 'k' }, at: 0, endedAt: null, progress: 'reading' },
  })
  const all = [
    ...[agentOf('a1', 'discord:1', 'eve'), agentOf('a2', 'discord:2')],
    // In the same conversation, for the owner and for another guest.
    ...[agentOf('a4', 'discord:1'), agentOf('a5', 'discord:1', 'bob')],
  ]
  const agents: SubAgents = {
    async spawn(wanted, parent, key) {
      spawned.push({ wanted, parent, key })
      return { ok: true, agent: agentOf('a3', parent.lane) }
    },
    ask: async id => ({ ok: true, agent: agentOf(id, 'discord:1') }),
    answer: async (_, __, ___, ms) =>
      ms > 100_000 ? { type: 'pending', why: 'late' } : { type: 'answered', ok: ms > 1000, text: `after ${ms}` },
    list: async lane => all.filter(one => lane === undefined || one.parent === lane),
    find: async id => all.find(one => one.id === id) ?? null,
    async stop(id) {
      stopped.push(id)
      return true
    },
    async publish(channel, from, text) {
      if (channel.includes(' ')) throw new RangeError('No blanks.')
      posts.push({ channel, from, text })
    },
    read: async (channel, _, wait) =>
      posts
        .map(({ from, text, channel }, i) => ({ id: i + 1, at: wait?.ms ?? 0, from, text, channel }))
        .filter(post => post.channel === channel && post.id > (wait?.after ?? 0)),
  }
  const toolServer = createToolServer({
    tools: createTools({
      takeMessage: async ({ origin }) => {
        const sends = (sent.get(origin) ?? 0) + 1
        sent.set(origin, sends)
        return sends > 20 ? 'Enough.' : null
      },
      formatTime: (ms, zone) => `time ${ms}${zone ? ` in ${zone}` : ''}`,
      messages: {
        placeNamed: channel =>
          channel.startsWith('discord:') ? { chat: 'discord', conversation: channel.slice(8) } : null,
        objection: async ({ conversation }) => (conversation === '404' ? 'It is gone.' : null),
        async say(key, place, text, files) {
          said.push({ key, place, text, files })
          return { left: files.filter(file => file.startsWith('/')) }
        },
        scopeOf: () => undefined,
      },
      jobs,
      memory: {
        search: async (_, most) =>
          [
            { source: 'conversations/discord/2026.md', title: 'Ada', snippet: 'a **secret**', at: 0 },
            { source: 'notes/plan.md', title: 'notes/plan.md', snippet: 'a **secret** plan', at: 0 },
            { source: 'memory.md', title: 'memory.md', snippet: 'likes **tea**', at: 0 },
            { source: 'brain', title: 'fact', snippet: 'the car is **red**', at: 0 },
          ].slice(0, most),
        isOpenToGuests: () => open,
        remember: async (text, { principal }) => ({
          ok: true,
          text: text === 'known' ? 'That is there already.' : principal.owner ? 'Remembered.' : 'It waits (change 7).',
        }),
        forget: async () => ({ ok: false, text: 'It is not there.' }),
      },
      facts: records<Fact>(),
      tasks: records<BoardTask>(),
      content: records<ContentItem>(),
      agents,
      askUser: async ({ question, options }) => {
        if (question === 'Anybody there?') return null
        const [first] = options
        return first ? { allow: true, answers: { [question]: first.label } } : { allow: false, message: 'Not now.' }
      },
    }),
    newKey: () => Math.random().toString(36),
    broke: (_, error) => {
      throw error
    },
  })
  const turn = (owner: boolean, lane = 'discord:1', event = eventBy(owner, lane)) => {
    const { key } = toolServer.enter(taken(event))
    return async (tool: string, args: object = {}) => toolServer.call(key, tool, args, never)
  }
  return { toolServer, turn, said, added, spawned, posts, stopped }
}

test('the whole list fits into 8 kB, and guests get the shorter one', () => {
  const { toolServer } = rig()
  const { key } = toolServer.enter(taken(eventBy(true)))
  const tools = (toolServer.list(key) ?? []).map(asMcpTool)
  expect(tools.map(tool => tool.name)).toEqual(ownTools)
  expect(JSON.stringify({ tools }).length).toBeLessThan(8000)
  const guest = toolServer.enter(taken(eventBy(false)))
  expect((toolServer.list(guest.key) ?? []).map(tool => tool.name)).toEqual([
    ...['send_message', 'list_jobs', 'memory_search', 'remember', 'forget', 'brain_search', 'brain_list', 'tasks_list'],
    ...['content_list', 'spawn_agent', 'ask_agent', 'list_agents', 'stop_agent', 'publish', 'read_channel'],
  ])
})

test('a question to the user is answered, declined, or answered later; sub-agents and guests cannot ask', async () => {
  const { turn } = rig()
  const ask = (who: ReturnType<typeof turn>, question: string, options?: readonly string[]) =>
    who('ask_user', { question, ...(options && { options }) })
  expect(await ask(turn(true), 'Tea?', ['Yes', 'No'])).toEqual({ ok: true, text: 'The answer: Yes' })
  expect(await ask(turn(true), 'Tea?')).toEqual({ ok: true, text: 'Not now.' })
  expect((await ask(turn(true), 'Anybody there?')).text).toContain('as the next message')
  expect(await ask(turn(true, 'agent:abc'), 'Tea?')).toMatchObject({ ok: false })
  expect(await ask(turn(false), 'Tea?')).toMatchObject({ ok: false })
})

test('a message goes to its conversation, or where the owner says; a guest’s only to its own', async () => {
  const { turn, said } = rig()
  const owner = turn(true)
  expect((await owner('send_message', { text: 'hi' })).ok).toBe(true)
  expect((await owner('send_message', { text: 'hi', channel: 'discord:9' })).ok).toBe(true)
  expect(await owner('send_message', { text: 'hi', channel: 'nowhere' })).toMatchObject({ ok: false })
  expect(await owner('send_message', { text: 'hi', channel: 'discord:404' })).toEqual({
    ...{ ok: false, text: 'It is gone. Nothing was sent.' },
  })
  const guest = turn(false)
  expect(await guest('send_message', { text: 'hi', channel: 'discord:9' })).toEqual({
    ...{ ok: false, text: expect.stringMatching(/their own conversation only\. Nothing was sent/) },
  })
  expect((await guest('send_message', { text: 'hi', channel: 'discord:1' })).ok).toBe(true)
  expect(said.map(({ place }) => place.conversation)).toEqual(['1', '9', '1'])
  const nowhere = turn(true, 'cron:x', { ...eventBy(true, 'cron:x'), replyTo: null })
  expect((await nowhere('send_message', { text: 'hi' })).text).toMatch(/Name a channel/)
})

test('a retried turn uses the same keys, and the same message twice gets two keys', async () => {
  const { turn, said } = rig()
  const event = eventBy(true)
  for (let attempt = 0; attempt < 2; attempt++) {
    const call = turn(true, 'discord:1', event)
    await call('send_message', { text: 'a' })
    await call('send_message', { text: 'a' })
    await call('send_message', { text: 'b' })
  }
  const keys = said.map(({ key }) => key)
  expect(new Set(keys.slice(0, 3)).size).toBe(3)
  expect(keys.slice(3)).toEqual(keys.slice(0, 3))
  expect(keys.every(key => key.startsWith(`${event.key}#said-`))).toBe(true)
  await turn(true)('send_message', { text: 'a' })
  expect(keys).not.toContain(said.at(-1)?.key)
})

test('files that cannot be sent are named', async () => {
  const { turn } = rig()
  const answer = await turn(true)('send_message', { text: 'hi', files: ['a.pdf', '/etc/passwd'] })
  expect(answer.text).toMatch(/without \/etc\/passwd/)
})

test('a job is scheduled for this conversation and reported with its schedule and next runs; a guest cannot schedule one', async () => {
  const { turn, added } = rig()
  const owner = turn(true)
  const wanted = { name: 'mail', schedule: 'every minute', instruction: 'look' }
  expect((await owner('schedule_job', wanted)).text).toBe(
    'mail runs every minute. The next runs: time 1; time 2; time 3.',
  )
  expect(added[0]).toMatchObject({ ...wanted, channel: 'discord:1', zone: null })
  expect(await owner('schedule_job', { ...wanted, schedule: 'sometimes' })).toEqual({
    ok: false,
    text: '"sometimes" is not a schedule. Nothing was changed.',
  })
  expect((await owner('list_jobs')).text).toBe(
    '- mail (cron): every minute, next time 1; time 2; time 3, to discord:1: look at the mail\n- bad in agents.md cannot be used: No schedule.',
  )
  expect((await owner('list_jobs', { query: 'MAIL look' })).text).toMatch(/^- mail [^\n]*$/)
  expect((await owner('list_jobs', { query: 'tea' })).text).toBe('No job contains these words.')
  expect((await owner('pause_job', { name: 'mail' })).text).toBe('mail is paused.')
  expect((await owner('pause_job', { name: 'mail', paused: false })).text).toMatch(/is resumed/)
  expect((await owner('remove_job', { name: 'other' })).ok).toBe(false)
  const guest = turn(false)
  for (const tool of ['schedule_job', 'pause_job', 'remove_job'])
    expect(await guest(tool, wanted)).toEqual({ ok: false, text: expect.stringMatching(/owner only/) })
  expect(added).toHaveLength(2)
})

test('a guest finds facts, and memory.md only if the owner wants that; never notes or conversations', async () => {
  const found = async (open: boolean, owner: boolean) =>
    (await rig({ open }).turn(owner)('memory_search', { query: 'x' })).text
  expect(await found(false, true)).toMatch(/secret[\s\S]*plan[\s\S]*tea[\s\S]*red/)
  expect(await found(false, false)).toBe('- brain (fact): the car is **red**')
  expect(await found(true, false)).toBe('- memory.md: likes **tea**\n- brain (fact): the car is **red**')
})

test('what a guest wants remembered waits, tells nothing about memory.md, and is limited', async () => {
  const { turn } = rig()
  const [owner, guest] = [turn(true), turn(false)]
  expect((await owner('remember', { text: 'tea' })).text).toBe('Remembered.')
  expect(await owner('forget', { text: 'x' })).toEqual({ ok: false, text: 'It is not there.' })
  const answers = [await guest('remember', { text: 'tea' }), await guest('remember', { text: 'known' })]
  expect(new Set(answers.map(({ text }) => text))).toEqual(new Set(["This waits for your owner's approval."]))
  expect((await guest('forget', { text: 'x' })).text).toMatch(/do not see memory\.md/)
  const told = rig({ open: true }).turn(false)
  expect((await told('remember', { text: 'known' })).text).toBe('That is there already.')
  expect((await told('forget', { text: 'x' })).text).toBe('It is not there.')
  for (let i = 0; i < 30; i++) await guest('remember', { text: `fact ${i}` })
  expect(await guest('remember', { text: 'one more' })).toMatchObject({
    ok: false,
    text: expect.stringMatching(/^Enough/),
  })
  expect((await owner('remember', { text: 'tea' })).ok).toBe(true)
})

test('facts and tasks are added, found, changed and removed by the owner; guests can read them', async () => {
  const { turn } = rig()
  const [owner, guest] = [turn(true), turn(false)]
  expect((await owner('brain_add', { content: 'Ada likes tea', tags: ['food'] })).text).toBe('Added as r1.')
  await owner('brain_add', { content: 'The car is red', category: 'things' })
  expect((await guest('brain_search', { query: 'TEA nothing' })).text).toBe('- r1 (fact, food): Ada likes tea')
  expect((await owner('brain_update', { id: 'r1', content: 'Ada likes coffee' })).text).toMatch(/coffee/)
  expect((await owner('brain_list', {})).text).toBe(
    '- r2 (fact, things): The car is red\n- r1 (fact, food): Ada likes coffee',
  )
  expect((await owner('brain_remove', { id: 'r9' })).ok).toBe(false)
  expect((await guest('brain_remove', { id: 'r1' })).ok).toBe(false)
  await owner('tasks_add', { title: 'Write' })
  expect((await owner('tasks_update', { id: 'r1', status: 'sleeping' })).text).toMatch(/one of todo, doing, done/)
  expect((await owner('tasks_update', { id: 'r1', status: 'done' })).ok).toBe(true)
  expect((await guest('tasks_list', { status: 'done' })).text).toBe('- r1 (done): Write')
  expect((await guest('tasks_add', { title: 'x' })).ok).toBe(false)
  expect((await owner('tasks_remove', { id: 'r1' })).ok).toBe(true)
})

test('a record changed by somebody else since the agent read it is not overwritten silently', async () => {
  const { turn } = rig()
  const [earlier, owner, other] = [turn(true), turn(true), turn(true, 'discord:2')]
  await earlier('tasks_add', { title: 'Write' })
  await earlier('tasks_list')
  await other('tasks_update', { id: 'r1', title: 'Write it down' })
  expect((await owner('tasks_update', { id: 'r1', notes: 'today' })).ok).toBe(true)
  await other('tasks_update', { id: 'r1', title: 'Write it all down' })
  expect(await owner('tasks_update', { id: 'r1', title: 'Write it up' })).toEqual({
    ok: false,
    text: expect.stringContaining('since you looked: - r1 (todo): Write it all down — today'),
  })
  expect(await owner('tasks_update', { id: 'r1', title: 'Write it up' })).toMatchObject({ ok: true })
  expect((await turn(true, 'discord:3')('tasks_update', { id: 'r1', title: 'Write' })).ok).toBe(true)
})

test('the due date of a task must be a real date', async () => {
  const owner = rig().turn(true)
  await owner('tasks_add', { title: 'Write', due: '2026-11-20' })
  for (const due of ['tomorrow', '2026-02-30', '2026-11-20T10:00'])
    expect(await owner('tasks_update', { id: 'r1', due })).toEqual({
      ok: false,
      text: expect.stringContaining('must be a day'),
    })
  expect((await owner('tasks_list')).text).toBe('- r1 (todo, due 2026-11-20): Write')
  await owner('tasks_update', { id: 'r1', due: '' })
  expect((await owner('tasks_list')).text).toBe('- r1 (todo): Write')
})

test('content items are added, listed, changed and removed by the owner; guests can read them', async () => {
  const { turn } = rig()
  const [owner, guest] = [turn(true), turn(false)]
  const found = { title: 'On lanes', url: 'https://example.org/a', summary: 'Long.', tags: ['queues'] }
  expect((await owner('content_add', found)).text).toBe('Added as r1.')
  await owner('content_add', { title: 'A film', kind: 'video', status: 'used' })
  expect((await guest('content_list', { status: 'new' })).text).toBe(
    '- r1 (new, article, queues): On lanes — https://example.org/a — Long.',
  )
  expect((await owner('content_update', { id: 'r1', status: 'lost' })).text).toMatch(/one of new, reading/)
  expect((await owner('content_update', { id: 'r1', status: 'reading', summary: '' })).text).toBe(
    'Changed: - r1 (reading, article, queues): On lanes — https://example.org/a',
  )
  for (const tool of ['content_add', 'content_update', 'content_remove'])
    expect((await guest(tool, { id: 'r1', title: 'x' })).ok).toBe(false)
  expect((await owner('content_remove', { id: 'r1' })).ok).toBe(true)
  expect((await owner('content_remove', { id: 'r1' })).ok).toBe(false)
  expect((await owner('content_list')).text).toBe('- r2 (used, video): A film')
})

test('a guest sees, asks and stops only their own sub-agents, and shares channels with no one else', async () => {
  const { turn, spawned, posts, stopped } = rig()
  const [owner, guest] = [turn(true), turn(false)]
  await guest('spawn_agent', { task: 'look' })
  expect(spawned[0]).toMatchObject({ parent: { lane: 'discord:1', principal: { owner: false, person: 'eve' } } })
  expect((await guest('list_agents')).text).toBe('- a1 agent-a1: working; reading')
  expect((await owner('list_agents')).text).toMatch(/a2/)
  for (const agent of ['a2', 'agent-a2', 'a4', 'agent-a5']) {
    expect((await guest('stop_agent', { agent })).ok).toBe(false)
    expect((await guest('ask_agent', { agent, question: 'well?' })).ok).toBe(false)
  }
  expect((await guest('ask_agent', { agent: 'a1', question: 'well?' })).ok).toBe(true)
  expect((await owner('ask_agent', { agent: 'agent-a2', question: 'well?' })).ok).toBe(true)
  expect((await owner('stop_agent', { agent: 'a2' })).ok).toBe(true)
  expect(stopped).toEqual(['a2'])
  await owner('publish', { channel: 'news', text: 'private' })
  expect((await guest('read_channel', { channel: 'news' })).text).toBe('Nothing was posted there.')
  expect((await owner('read_channel', { channel: 'news' })).text).toBe('- time 0, agent: private')
  const waited = () => owner('read_channel', { channel: 'news', wait: 9000 })
  expect((await waited()).text).toBe('Nothing new was posted there.')
  posts.push({ channel: 'news', from: 'a2', text: 'more' })
  expect((await waited()).text).toBe('- time 300000, a2: more')
  posts.pop()
  const ask = async (wait: number) => owner('ask_agent', { agent: 'a2', question: 'well?', wait })
  expect(await ask(2)).toEqual({ ok: true, text: 'agent-a2 (a2) answers:\nafter 2000' })
  expect(await ask(1)).toEqual({ ok: false, text: 'agent-a2 (a2) failed:\nafter 1000' })
  expect(await ask(9000)).toEqual({
    ok: true,
    text: 'Asked agent-a2 (a2). There is no answer yet. The answer comes automatically, as a report.',
  })
  expect(await owner('publish', { channel: 'a b', text: 'x' })).toEqual({ ok: false, text: 'No blanks.' })
  await guest('publish', { channel: 'news', text: 'trick' })
  expect(posts.map(post => post.channel)).toEqual(['news', expect.stringMatching(/^guest-[0-9a-f]{8}\.news$/)])
})

test('of many jobs, the next to run are listed, with the number of the others', async () => {
  const view = (n: number): JobView => ({
    ...{ kind: 'cron', name: `job ${n}`, when: { type: 'every', seconds: 60 }, instruction: 'x', zone: null },
    ...{ channel: null, model: null, missed: 'skip', paused: n === 99, skipIf: null },
    ...{ words: 'every minute', next: [1000 - n], last: null, answersTo: null },
  })
  const all = Array.from({ length: 100 }, (_, n) => view(n))
  const troubles = Array.from({ length: 25 }, (_, n) => ({
    file: 'agents.md',
    name: `bad ${n}`,
    why: 'y'.repeat(5000),
  }))
  const jobs = { list: async () => ({ jobs: all, troubles }) } as unknown as Jobs
  const list = jobTools(jobs, ms => `time ${ms}`).find(({ name }) => name === 'list_jobs') ?? expect.fail('no tool')
  const told = async (args: object) => (await list.call(args as never, {} as never, never)).text.split('\n')
  const usual = await told({})
  expect(usual).toHaveLength(30 + 1 + 10 + 1)
  expect(usual[0]).toMatch(/^- job 98 /) // 99 is paused
  expect(usual[30]).toBe('- and 70 other jobs; use a query to see them')
  expect(usual.at(-1)).toBe('- and 15 others that cannot be used')
  expect(usual.join('').length).toBeLessThan(10_000)
  expect(await told({ query: 'job 7' })).toHaveLength(11 + 8) // every number with a 7
})

test('a guest chooses neither backend nor model of a sub-agent, and posts and messages of one request end', async () => {
  const { turn, spawned, said, posts } = rig()
  const guest = turn(false)
  for (const model of ['codex', 'codex/gpt-5', 'opus'])
    expect(await guest('spawn_agent', { task: 'look', model })).toMatchObject({
      ok: false,
      text: expect.stringContaining('Only the owner'),
    })
  expect(spawned).toEqual([])
  await turn(true)('spawn_agent', { task: 'look', model: 'codex/gpt-5' })
  expect(spawned).toMatchObject([{ wanted: { model: 'codex/gpt-5' } }])
  for (let n = 0; n < 15; n++) {
    await guest('send_message', { text: `${n}` })
    await guest('publish', { channel: 'news', text: `${n}` })
  }
  expect(await guest('send_message', { text: 'more' })).toMatchObject({ ok: false, text: 'Enough. Nothing was sent.' })
  expect([said.length, posts.length]).toEqual([10, 10])
})
