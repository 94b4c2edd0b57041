// Attachments with the whole gateway: uploaded, sent, kept by an edit, fetched, and refused if missing.
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { statusOf, unaccounted } from '../fakes/temporary.ts'
import { connect } from '../harness/client.ts'
import { type Home, makeHome, type RunningGateway, startGateway, token } from '../harness/gateway.ts'

const ends: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
})

async function open(): Promise<{ home: Home; gateway: RunningGateway }> {
  const home = await makeHome()
  const gateway = await startGateway(home, { CLAUDE_STAND_IN_STEP_MS: '100' })
  ends.push(
    () => gateway.stop(),
    () => home.remove(),
  )
  return { home, gateway }
}
const headers = { Authorization: `Bearer ${token}` }
const upload = async ({ url }: RunningGateway, conversation: string, name: string, body: string) => {
  const query = new URLSearchParams({ conversation, name })
  const answer = await fetch(`${url}/api/attachments?${query}`, {
    ...{ method: 'POST', body },
    headers: { ...headers, 'Content-Type': 'text/plain' },
  })
  expect(answer.status).toBe(201)
  return ((await answer.json()) as { attachment: { id: string } }).attachment
}

test('an edit of a waiting message changes its text and keeps its files, for the agent and in the history', async () => {
  const { home, gateway } = await open()
  const { id } = await upload(gateway, 'a', 'notes.txt', 'hello')
  const client = await connect(gateway.url, 'a')
  client.say('1', 'one two three four five six seven eight')
  await client.next(({ type }) => type === 'draft')
  client.send({ type: 'message', id: '2', text: 'read ths', attachments: [id] })
  await client.next(({ type, id: of }) => type === 'waiting' && of === '2')
  client.send({ type: 'edit', id: '2', text: 'read this' })
  expect((await client.final('2')).text).toBe('turn 2: read this')
  const path = `files/in/web-${id}/notes.txt`
  expect(home.journal().filter(({ what }) => what === 'begin')[1]?.prompt).toBe(
    `[Attached: ${path} (text/plain, 5 bytes)]\nread this`,
  )
  expect(existsSync(join(home.configDir, path))).toBe(true)
  const other = await connect(gateway.url, 'a')
  const history = await other.next(({ type }) => type === 'history')
  expect(history.messages?.find(one => one.id === '2' && one.role === 'user')).toMatchObject({
    text: 'read this',
    attachments: [{ id, name: 'notes.txt', bytes: 5, type: 'text/plain' }],
  })
  await client.close()
  await other.close()
})

test('a program can send files too; missing ones and those of another conversation are refused', async () => {
  const { home, gateway } = await open()
  const { id } = await upload(gateway, 'a', '../../up.txt', 'hello')
  const say = async (conversation: string, attachments: unknown) => {
    const body = JSON.stringify({ conversation, text: '', attachments })
    const answer = await fetch(`${gateway.url}/api/messages?wait=true`, { method: 'POST', headers, body })
    return [answer.status, await answer.json()] as const
  }
  const refused = { type: 'refused', why: 'not-attached', reason: expect.stringMatching(/^Not attached: /) }
  expect(await say('b', [id])).toMatchObject([400, refused])
  expect(await say('a', [id, 'unknown'])).toMatchObject([400, refused])
  expect(await say('a', ['../x'])).toMatchObject([400, { error: expect.stringContaining('attachments') }])
  expect(
    await say(
      'a',
      Array.from({ length: 11 }, () => id),
    ),
  ).toMatchObject([400, { error: expect.any(String) }])
  expect((await say('a', [id]))[0]).toBe(200)
  expect(home.journal().find(({ what }) => what === 'begin')?.prompt).toContain(
    `[Attached: files/in/web-${id}/_.._up.txt`,
  )
  const client = await connect(gateway.url, 'b')
  client.send({ type: 'message', id: '1', text: 'mine?', attachments: [id] })
  expect((await client.next(({ type }) => type === 'refused')).reason).toMatch(/^Not attached: /)
  await client.close()
})

test('a message right after one with files does not overtake it, and an edit right after it keeps the files', async () => {
  const { home, gateway } = await open()
  const first = await upload(gateway, 'a', 'first.txt', 'hello')
  const second = await upload(gateway, 'a', 'second.txt', 'hello')
  const client = await connect(gateway.url, 'a')
  client.send({ type: 'message', id: '1', text: 'with a file', attachments: [first.id] })
  client.say('2', 'without')
  client.send({ type: 'message', id: '3', text: 'wth another', attachments: [second.id] })
  client.send({ type: 'edit', id: '3', text: 'with another' })
  client.say('4', 'not this')
  client.send({ type: 'edit', id: '4', text: 'nor this' })
  client.send({ type: 'cancel', id: '4' })
  expect((await client.final('3')).text).toBe('turn 3: with another')
  const prompts = home.journal().flatMap(({ what, prompt }) => (what === 'begin' ? [prompt] : []))
  expect(prompts).toEqual([
    `[Attached: files/in/web-${first.id}/first.txt (text/plain, 5 bytes)]\nwith a file`,
    'without',
    `[Attached: files/in/web-${second.id}/second.txt (text/plain, 5 bytes)]\nwith another`,
  ])
  await client.close()
})

test('a message resent after the agent moved its file is a duplicate; a new one is refused and counted', async () => {
  const { home, gateway } = await open()
  const { id } = await upload(gateway, 'a', 'notes.txt', 'hello')
  const client = await connect(gateway.url, 'a')
  const say = (of: string) => client.send({ type: 'message', id: of, text: 'read this', attachments: [id] })
  say('1')
  await client.final('1')
  rmSync(join(home.configDir, `files/in/web-${id}`), { recursive: true })
  say('1')
  await client.next(({ type, id: of }) => type === 'accepted' && of === '1')
  say('2')
  const { reason } = await client.next(({ type, id: of }) => type === 'refused' && of === '2')
  expect(reason).toMatch(/^Not attached: /)
  expect(home.journal().filter(({ what }) => what === 'begin')).toHaveLength(1)
  expect((await statusOf(gateway)).events).toMatchObject({ received: 2, answered: 1, refused: 1 })
  expect(await unaccounted(gateway)).toBe(0)
  await client.close()
})
