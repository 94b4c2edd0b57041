// The Slack adapter by itself, on the loopback Slack: when it confirms, and how it waits.
import { expect, onTestFinished, test } from 'vitest'
import type { Outgoing } from '../../src/base/chat.ts'
import type { Accepted, EventSink, NewEvent, Refused } from '../../src/base/event.ts'
import { remoteChats } from '../../src/chat/index.ts'
import { contextForTests } from '../contracts/platforms/platform.ts'
import { openSlack, type SlackOptions } from '../fakes/slack/index.ts'
import { pause } from '../fakes/temporary.ts'
import { drafts, finals } from '../harness/slack.ts'

const never = new AbortController().signal
const accepted: Accepted = { type: 'accepted', id: 1, position: 0 }

async function setup(sink: EventSink, options: SlackOptions = {}, files: Record<string, Uint8Array> = {}) {
  const slack = await openSlack(options)
  const { context, remove } = await contextForTests()
  const readFile = async (path: string) => files[path] ?? null
  const chat = await remoteChats.slack.open(
    {
      slack: {
        ...{ enabled: true, botToken: slack.tokens.bot, appToken: slack.tokens.app, api: slack.url },
        ...{ threads: 'auto', catchupMaxAge: 86_400_000, fileOver: 12_000 },
      },
    },
    { ...context, workspace: { ...context.workspace, readFile } },
  )
  const stop = new AbortController()
  const life = chat.run(sink, stop.signal)
  onTestFinished(async () => {
    stop.abort()
    await life.catch(() => undefined)
    await slack.close()
    await remove()
  })
  await slack.ready()
  return { slack, chat, life, stop }
}

const outgoing = (key: string, text: string, more: Partial<Outgoing> = {}): Outgoing => ({
  ...{ key, kind: 'final', about: null, text, ok: true, action: null },
  ...more,
})

test('an envelope is confirmed only after the commit', async () => {
  const heard: NewEvent[] = []
  const committed = Promise.withResolvers<Accepted>()
  const { slack } = await setup(
    event => {
      heard.push(event)
      return committed.promise
    },
    { ackMs: 60_000 },
  )
  slack.say(slack.ada, slack.general, 'hello', { mention: true })
  await slack.until(() => heard.length === 1)
  await pause(200)
  expect(slack.envelopes()).toEqual([])
  committed.resolve(accepted)
  await slack.until(() => slack.envelopes().length === 2)
  expect(heard).toHaveLength(1)
})

test('what cannot be accepted now is not confirmed, and is taken when it comes again', async () => {
  const stopping: Refused = { type: 'refused', why: 'stopping', reason: 'Stopping.' }
  let times = 0
  const { slack } = await setup(async () => (++times === 1 ? stopping : accepted), { ackMs: 200 })
  slack.say(slack.ada, slack.dm(slack.ada), 'hello')
  await slack.until(() => slack.envelopes().length === 1)
  expect(slack.envelopes()[0]).toMatchObject({ attempt: 2, acknowledgedAfterMs: expect.any(Number) })
  expect(slack.ephemerals()).toEqual([])
})

test('drafts keep the pace of the channel, also in several threads of it, and the final is the last word', async () => {
  const { slack, chat } = await setup(async () => accepted)
  const roots = [1, 2, 3].map(n => slack.say(slack.ada, slack.general, `root ${n}`))
  const about = (ts: string) => `${slack.general.id}:${ts}`
  const place = (ts: string) => ({ chat: 'slack', conversation: about(ts) })
  const began = Date.now()
  for (let n = 0; n < 30; n++) {
    for (const { ts } of roots)
      await chat.post(
        place(ts),
        outgoing(`${ts}#draft`, 'word '.repeat(n + 1), { kind: 'draft', about: about(ts) }),
        never,
      )
    await pause(100)
  }
  const elapsed = Date.now() - began
  const writes = slack.requests().filter(({ method }) => method === 'chat.postMessage' || method === 'chat.update')
  expect(writes.length).toBeGreaterThan(0)
  expect(writes.length).toBeLessThanOrEqual(Math.ceil(elapsed / 1400) + 1)
  for (const { ts } of roots)
    expect(
      await chat.post(place(ts), outgoing(`${ts}#final`, `done ${ts}`, { about: about(ts) }), never),
    ).toMatchObject({
      type: 'posted',
    })
  await pause(300)
  expect(drafts(slack, slack.general)).toEqual([])
  expect(
    finals(slack, slack.general)
      .map(({ text }) => text)
      .sort(),
  ).toEqual(roots.map(({ ts }) => `done ${ts}`).sort())
})

test('files whose sharing was not confirmed are shared once; refused ones are named', async () => {
  const files = { 'out/a.txt': Buffer.from('a'), 'out/b.txt': Buffer.from('b') }
  const { slack, chat } = await setup(async () => accepted, {}, files)
  const place = { chat: 'slack', conversation: slack.general.id }
  const message = outgoing('k1', 'with [files](out/a.txt)', { files: ['out/a.txt', 'out/b.txt', 'out/c.txt'] })
  slack.fail('files.completeUploadExternal', { status: 502, storeFirst: true })
  expect(await chat.post(place, message, never)).toMatchObject({ type: 'try-again' })
  expect(await chat.post(place, message, never)).toMatchObject({ type: 'posted' })
  const said = slack.answers(slack.general)
  expect(said.map(({ text, files: shared }) => [text, shared.map(({ name }) => name)])).toEqual([
    ['with files\n_Not sent: c.txt_', []],
    ['', ['a.txt', 'b.txt']],
  ])
  slack.fail('files.getUploadURLExternal', { error: 'missing_scope' })
  const refused = outgoing('k2', 'again', { files: ['out/a.txt'] })
  expect(await chat.post(place, refused, never)).toMatchObject({ type: 'posted' })
  expect(slack.answers(slack.general).at(-1)?.text).toMatch(/Not sent: a\.txt \(the app lacks the permission/)
})

test('a stream whose start was not confirmed is found, and becomes the answer', async () => {
  const { slack, chat } = await setup(async () => accepted)
  const direct = slack.dm(slack.ada)
  const root = slack.say(slack.ada, direct, 'root')
  const said = slack.say(slack.ada, direct, 'question', { thread: root.ts })
  const about = `${direct.id}:${said.ts}`
  const place = { chat: 'slack', conversation: `${direct.id}:${root.ts}` }
  slack.fail('chat.startStream', { cut: true, storeFirst: true })
  await chat.post(place, outgoing('d', 'so far', { kind: 'draft', about }), never)
  await slack.until(() => drafts(slack, direct).length === 1)
  await chat.post(place, outgoing('f', 'the answer', { about }), never)
  expect(slack.answers(direct).map(({ text, streaming }) => [text, streaming])).toEqual([['the answer', false]])
})

test('a stream grows by what is new, and ends as the final', async () => {
  const { slack, chat } = await setup(async () => accepted)
  const direct = slack.dm(slack.ada)
  const root = slack.say(slack.ada, direct, 'root')
  const about = `${direct.id}:${slack.say(slack.ada, direct, 'question', { thread: root.ts }).ts}`
  const place = { chat: 'slack', conversation: `${direct.id}:${root.ts}` }
  const draft = (text: string) => chat.post(place, outgoing('d', text, { kind: 'draft', about }), never)
  await draft('one')
  await slack.until(() => slack.requests('chat.startStream').length === 1)
  await draft('one two')
  await slack.until(() => slack.requests('chat.appendStream').length === 1)
  expect(slack.requests('chat.appendStream')[0]?.args.markdown_text).toBe(' two')
  await chat.post(place, outgoing('f', 'one two three', { about }), never)
  // The button beside it goes away.
  await expect.poll(() => slack.answers(direct).map(({ text }) => text)).toEqual(['one two three'])
  expect(slack.requests('chat.stopStream')).toHaveLength(1)
})

test('before there is anything to show, a draft says that we are thinking; short streams have no button beside them', async () => {
  const { slack, chat } = await setup(async () => accepted)
  const direct = slack.dm(slack.ada)
  const root = slack.say(slack.ada, direct, 'root')
  const about = `${direct.id}:${root.ts}`
  const alone = { chat: 'slack', conversation: direct.id }
  await chat.post(alone, outgoing('d', '', { kind: 'draft', about }), never)
  const draft = await slack.until(() => drafts(slack, direct)[0], 10_000)
  expect(draft.text).toContain('thinking')
  await chat.post(alone, outgoing('f', 'the answer', { about }), never)
  const second = `${direct.id}:${slack.say(slack.ada, direct, 'question', { thread: root.ts }).ts}`
  const place = { chat: 'slack', conversation: about }
  await chat.post(place, outgoing('d2', 'short', { kind: 'draft', about: second }), never)
  await slack.until(() => slack.requests('chat.startStream').length === 1)
  await chat.post(place, outgoing('f2', 'short answer', { about: second }), never)
  expect(slack.answers(direct).map(({ text }) => text)).toEqual(['the answer', 'short answer'])
  expect(slack.requests('chat.postMessage')).toHaveLength(1)
})
