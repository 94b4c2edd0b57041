// The loopback Slack refuses what Slack refuses, and has its surprises.
import { expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { createWeb } from '../../../src/chat/slack/web.ts'
import { openSlack, type SlackOptions } from './index.ts'

async function setup(options: SlackOptions = {}) {
  const slack = await openSlack(options)
  onTestFinished(() => slack.close())
  const web = createWeb(slack.url, slack.tokens.bot)
  const errorOf = (method: string, args: object) =>
    web.call(method, args as Record<string, unknown>).then(
      () => 'ok',
      (error: { code?: string }) => error.code,
    )
  return { slack, web, errorOf }
}

const markdown = (length: number) => [{ type: 'markdown', text: 'x'.repeat(length) }]

test('messages: what is refused, and as what', async () => {
  const { slack, errorOf } = await setup()
  const channel = slack.general.id
  const root = slack.say(slack.ada, slack.general, 'root')
  const reply = slack.say(slack.ada, slack.general, 'reply', { thread: root.ts })
  const closed = slack.channel('closed', [slack.ada], { invited: false })
  for (const [args, code] of [
    [{ channel, text: 'fine' }, 'ok'],
    [{ channel, text: 'x'.repeat(40_001) }, 'msg_too_long'],
    [{ channel }, 'no_text'],
    [{ text: 'x' }, 'invalid_arguments'],
    [{ channel, text: 'x', nonsense: 1 }, 'invalid_arguments'],
    [{ channel: 'C404', text: 'x' }, 'channel_not_found'],
    [{ channel: closed.id, text: 'x' }, 'not_in_channel'],
    [{ channel, text: 'x', blocks: [{ type: 'nonsense' }] }, 'invalid_blocks'],
    [{ channel, text: 'x', blocks: markdown(12_001) }, 'msg_blocks_too_long'],
    [{ channel, text: 'x', markdown_text: 'y' }, 'markdown_text_conflict'],
    [{ channel, text: 'x', metadata: { nonsense: 1 } }, 'invalid_metadata_format'],
    [{ channel, text: 'x', thread_ts: reply.ts }, 'thread_not_found'],
    [{ channel, text: 'x', thread_ts: root.ts }, 'ok'],
    [{ channel, text: 'a <b' }, 'invalid_arguments'],
  ] as const)
    expect([args, await errorOf('chat.postMessage', args)]).toEqual([args, code])
  expect(await errorOf('chat.nonsense', {})).toBe('unknown_method')
  expect(await errorOf('chat.update', { channel, ts: root.ts, text: 'x' })).toBe('cant_update_message')
  const [own] = slack.answers(slack.general)
  expect(await errorOf('chat.update', { channel, ts: own?.ts, text: 'x'.repeat(4001) })).toBe('msg_too_long')
  slack.archive(slack.general)
  expect(await errorOf('chat.postMessage', { channel, text: 'x' })).toBe('is_archived')
})

test('tokens: each for its own methods, and none once it is revoked', async () => {
  const { slack, errorOf } = await setup()
  expect(await errorOf('apps.connections.open', {})).toBe('not_allowed_token_type')
  const wrong = createWeb(slack.url, 'xoxb-wrong').call('auth.test')
  await expect(wrong).rejects.toMatchObject({ code: 'invalid_auth' })
  slack.revoke()
  expect(await errorOf('auth.test', {})).toBe('token_revoked')
})

test('streams: only in threads, only while they run, and not to be edited meanwhile', async () => {
  const { slack, web, errorOf } = await setup()
  const direct = slack.dm(slack.ada)
  const root = slack.say(slack.ada, direct, 'root')
  const place = { channel: direct.id, thread_ts: root.ts }
  expect(await errorOf('chat.startStream', { channel: direct.id })).toBe('invalid_arguments')
  const { ts } = await web.call<{ ts: string }>('chat.startStream', { ...place, markdown_text: 'a' })
  const it = { channel: direct.id, ts }
  expect(await errorOf('chat.appendStream', { ...it, markdown_text: 'b' })).toBe('ok')
  expect(await errorOf('chat.update', { ...it, text: 'x' })).toBe('streaming_state_conflict')
  expect(await errorOf('chat.stopStream', it)).toBe('ok')
  expect(await errorOf('chat.stopStream', it)).toBe('message_not_in_streaming_state')
  expect(await errorOf('chat.update', { ...it, text: 'x' })).toBe('ok')
})

test('buttons and dialogs: ids once, labels of 75 characters, titles of 24, and a trigger is good for one dialog', async () => {
  const { slack, web, errorOf } = await setup()
  const button = (more: object) => ({
    type: 'button',
    action_id: 'a',
    text: { type: 'plain_text', text: 'A' },
    ...more,
  })
  const post = (...elements: object[]) =>
    errorOf('chat.postMessage', { channel: slack.general.id, text: 'x', blocks: [{ type: 'actions', elements }] })
  expect(await post(button({}), button({}))).toBe('invalid_blocks')
  expect(await post(button({ text: { type: 'plain_text', text: 'x'.repeat(76) } }))).toBe('invalid_blocks')
  expect(await post(button({ style: 'green' }))).toBe('invalid_blocks')
  expect(await post(button({ style: 'danger' }))).toBe('ok')
  const plain = (text: string) => ({ type: 'plain_text', text })
  const view = (title: string) => ({
    ...{ type: 'modal', title: plain(title), submit: plain('Send'), close: plain('Cancel') },
    blocks: [
      { type: 'input', block_id: 'b', label: plain('Why?'), element: { type: 'plain_text_input', action_id: 'c' } },
    ],
  })
  const open = (trigger_id: string, title = 'Reason') => errorOf('views.open', { trigger_id, view: view(title) })
  expect(await open('1.2')).toBe('invalid_trigger_id')
  slack.state.triggers.set('1.2', { user: slack.ada.id, until: slack.state.now() + 3000 })
  expect(await open('1.2', 'x'.repeat(25))).toBe('invalid_arguments')
  slack.state.triggers.set('1.2', { user: slack.ada.id, until: slack.state.now() + 3000 })
  expect(await open('1.2')).toBe('ok')
  expect(await open('1.2')).toBe('invalid_trigger_id')
  expect(slack.dialogs(slack.ada)).toHaveLength(1)
  await expect(web.call('views.open', { trigger_id: 'x' })).rejects.toMatchObject({ code: 'invalid_arguments' })
})

test('too fast is a 429 with the seconds to wait; failures may come after the work was done', async () => {
  const { slack, web, errorOf } = await setup()
  slack.limit('chat.postMessage', 1, 5000)
  const post = { channel: slack.general.id, text: 'x' }
  expect(await errorOf('chat.postMessage', post)).toBe('ok')
  await expect(web.call('chat.postMessage', post)).rejects.toMatchObject({ status: 429, retryAfterMs: 5000 })
  slack.fail('chat.postEphemeral', { status: 502, storeFirst: true })
  await expect(web.call('chat.postEphemeral', { ...post, user: slack.ada.id })).rejects.toMatchObject({ status: 502 })
  expect(slack.ephemerals()).toHaveLength(1)
})

test('Socket Mode: a greeting, an address for one connection, and envelopes until they are confirmed', async () => {
  const { slack } = await setup({ ackMs: 50 })
  const { url } = await createWeb(slack.url, slack.tokens.app).call<{ url: string }>('apps.connections.open')
  const heard: { type: string; envelope_id?: string; retry_attempt?: number }[] = []
  const socket = new WebSocket(url)
  onTestFinished(() => socket.terminate())
  socket.on('message', data => heard.push(JSON.parse(String(data))))
  await slack.until(() => heard[0]?.type === 'hello')
  const second = new WebSocket(url)
  await expect(new Promise((resolve, reject) => second.on('open', resolve).on('error', reject))).rejects.toThrow()
  slack.say(slack.ada, slack.general, 'hello', { mention: true })
  await slack.until(() => heard.some(({ retry_attempt }) => retry_attempt === 1))
  const ids = new Set(heard.flatMap(({ envelope_id }) => (envelope_id ? [envelope_id] : [])))
  // A mention is told twice.
  expect(ids.size).toBe(2)
  for (const envelope_id of ids) socket.send(JSON.stringify({ envelope_id }))
  await slack.until(() => slack.envelopes().length === 2)
  expect(slack.envelopes().every(({ acknowledgedAfterMs }) => acknowledgedAfterMs !== null)).toBe(true)
})
