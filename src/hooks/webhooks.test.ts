// Reading webhooks from agents.md, also while it changes.
import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import type { NewEvent } from '../base/event.ts'
import type { Signal } from '../base/signal.ts'
import { createWebhooks, readWebhooks } from './webhooks.ts'

test('a webhook is read with its secret, signature, channel and model', () => {
  const markdown = `## Webhooks

### GitHub-Push
Instruction: Look at {{payload.head_commit.message}}.
Then answer.
Secret: GITHUB_SECRET
Signature: GitHub
Channel: discord:1
Model: haiku

### plain
Secret: OTHER
Instruction: x
`
  expect(readWebhooks(markdown)).toEqual({
    webhooks: [
      {
        name: 'github-push',
        instruction: 'Look at {{payload.head_commit.message}}.\nThen answer.',
        secret: 'GITHUB_SECRET',
        signature: 'github',
        channel: 'discord:1',
        model: 'haiku',
      },
      { name: 'plain', instruction: 'x', secret: 'OTHER', signature: null, channel: null, model: null },
    ],
    troubles: [],
  })
})

test('invalid webhooks are reported with what to do, and a misplaced secret is not repeated', () => {
  const entry = (name: string, ...lines: string[]) => `### ${name}\nInstruction: x\n${lines.join('\n')}\n`
  const markdown = [
    '## Webhooks\n',
    entry('no-secret'),
    entry('secret-itself', 'Secret: hunter2-hunter2'),
    entry('two words', 'Secret: A'),
    entry('odd', 'Secret: A', 'Signature: md5'),
    entry('..', 'Secret: A'),
    entry('good', 'Secret: A'),
    entry('GOOD', 'Secret: B'),
  ].join('')
  const { webhooks, troubles } = readWebhooks(markdown)
  expect(webhooks.map(({ name, secret }) => [name, secret])).toEqual([['good', 'A']])
  expect(troubles.map(({ name, why }) => [name, why])).toEqual([
    ['no-secret', expect.stringContaining('"Secret: NAME"')],
    ['secret-itself', expect.stringContaining('name of a variable')],
    ['two words', expect.stringContaining('part of an address')],
    ['odd', expect.stringContaining('github, stripe, bearer')],
    ['..', expect.stringContaining('part of an address')],
    ['GOOD', expect.stringContaining('twice')],
  ])
  expect(JSON.stringify(troubles)).not.toContain('hunter2')
})

const open = (markdown: { text: string | null }) => {
  const events: NewEvent[] = []
  const signals: Signal[] = []
  const secrets: Record<string, string> = { A: 'a-secret', EMPTY: '', BLANK: '  ' }
  const clock = { now: 0 }
  const { receive } = createWebhooks({
    read: async () => markdown.text ?? Promise.reject(new Error('agents.md cannot be read')),
    secret: name => secrets[name] ?? null,
    accept: async event => {
      events.push(event)
      return { type: 'accepted', id: events.length, position: 0 }
    },
    placeOf: () => null,
    emit: signal => void signals.push(signal),
    now: () => clock.now,
  })
  const send = async (name: string, body: string, key = 'a-secret') => {
    const signature = createHmac('sha256', key).update(body).digest('hex')
    return (await receive(name, { 'x-hub-signature-256': `sha256=${signature}` }, Buffer.from(body))).status
  }
  return { send, receive, events, signals, clock }
}

test('the current agents.md is used, and each problem in it is reported once', async () => {
  const markdown = { text: '## Webhooks\n### a\nInstruction: one\nSecret: A\n### b\nInstruction: x\n' as string | null }
  const { send, events, signals } = open(markdown)
  expect([await send('a', '1'), await send('a', '2'), await send('b', '3')]).toEqual([202, 202, 404])
  markdown.text = '## Webhooks\n### a\nInstruction: two\nSecret: A\nModel: m\n'
  expect(await send('a', '4')).toBe(202)
  markdown.text = ''
  expect(await send('a', '5')).toBe(404)
  markdown.text = null
  expect([await send('a', '6'), await send('a', '7')]).toEqual([503, 503])
  expect(
    events.map(({ what, modelOverride }) => ['instruction' in what && what.instruction, modelOverride?.model]),
  ).toEqual([
    ['one', undefined],
    ['one', undefined],
    ['two', 'm'],
  ])
  expect(signals.map(signal => signal.type === 'workspace-trouble' && signal.why)).toEqual([
    expect.stringMatching(/^webhook b: It needs a line "Secret: NAME"/),
    expect.stringContaining('cannot be read'),
  ])
})

test('an empty secret admits nobody', async () => {
  const { send, receive, events } = open({
    text: '## Webhooks\n### e\nInstruction: x\nSecret: EMPTY\n### b\nInstruction: x\nSecret: BLANK\n',
  })
  expect([await send('e', 'x', ''), await send('b', 'x', '  ')]).toEqual([503, 503])
  expect((await receive('e', { authorization: 'Bearer ' }, Buffer.from(''))).status).toBe(503)
  expect(events).toEqual([])
})

test('without any id, the same body within a minute is the same delivery', async () => {
  const { send, events, clock } = open({ text: '## Webhooks\n### a\nInstruction: x\nSecret: A\n' })
  await send('a', 'x')
  await send('a', 'x')
  await send('a', 'y')
  clock.now += 60_000
  await send('a', 'x')
  const [first, second, other, next] = events.map(({ key }) => key)
  expect(first).toMatch(/^webhook:a:[0-9a-f]{32}-0$/)
  expect(second).toBe(first)
  expect(new Set([first, other, next]).size).toBe(3)
})
