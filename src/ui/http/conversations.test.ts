// WebChat's history over HTTP: valid and invalid requests.
import { afterEach, expect, test } from 'vitest'
import type { ConversationList } from '../../base/conversations.ts'
import { bearer, closeAll, open } from './server.rig.ts'

afterEach(closeAll)

async function rig() {
  const asked: unknown[] = []
  const nothing = { messages: [], older: null, newer: null }
  const conversations: ConversationList = {
    list: most => {
      asked.push(['list', most])
      return [{ id: 'a', title: 'apples', at: 1, waiting: 0, running: true }]
    },
    before: (...given) => {
      asked.push(['before', ...given])
      return nothing
    },
    from: (...given) => {
      asked.push(['from', ...given])
      return nothing
    },
    search: async (...given) => {
      asked.push(['search', ...given])
      return []
    },
  }
  const { url } = await open({ webchat: { conversations: conversations } })
  const read = async (path: string, headers: Record<string, string> = bearer) => {
    const answer = await fetch(`${url}${path}`, { headers })
    return [answer.status, await answer.json()] as const
  }
  return { read, asked }
}

test('conversations are listed, paged and searched', async () => {
  const { read, asked } = await rig()
  expect(await read('/api/conversations')).toEqual([
    200,
    { conversations: [{ id: 'a', title: 'apples', at: 1, waiting: 0, running: true }] },
  ])
  expect(await read('/api/history?conversation=a')).toMatchObject([200, { messages: [] }])
  await read('/api/history?conversation=a&before=7&limit=2')
  await read('/api/history?conversation=a&from=9')
  expect(await read('/api/history?q=%20two%20words&limit=3')).toEqual([200, { hits: [] }])
  expect(asked).toEqual([
    ['list', 50],
    ['before', 'a', null, 100],
    ['before', 'a', 7, 2],
    ['from', 'a', 9, 100],
    ['search', 'two words', 3],
  ])
})

test('invalid requests are refused, and so are those without a token', async () => {
  const { read, asked } = await rig()
  for (const path of [
    '/api/conversations?limit=0',
    '/api/conversations?limit=501',
    '/api/history',
    '/api/history?conversation=..%2Fa',
    '/api/history?conversation=a&before=x',
    '/api/history?conversation=a&from=-1',
    '/api/history?conversation=a&limit=1e9',
    '/api/history?q=',
    `/api/history?q=${'x'.repeat(201)}`,
  ])
    expect((await read(path))[0], path).toBe(400)
  expect((await read('/api/conversations', {}))[0]).toBe(401)
  expect((await read('/api/history?q=x', { Authorization: 'Bearer wrong' }))[0]).toBe(401)
  expect(asked).toEqual([])
})
