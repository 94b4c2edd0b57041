// Several connections: each covers its own guilds.
import { expect, test } from 'vitest'
import type { ChatMemory } from '../../base/chat.ts'
import { createDispatches, type Self, shareOf } from './dispatches.ts'
import { openCursors, type Places } from './places.ts'

/** Guilds of the first and of the second of two connections. */
const [first, second] = [String(2n << 22n), String(3n << 22n)]

function setup() {
  const kept = new Map<string, string>()
  const memory: ChatMemory = {
    get: name => kept.get(name) ?? null,
    put: (name, value) => void (value === null ? kept.delete(name) : kept.set(name, value)),
    list: () => [],
  }
  const cursors = openCursors(memory)
  let self: Self | null = null
  const reported: object[] = []
  const looked: (string | null)[] = []
  const posted: string[][] = []
  const handle = createDispatches({
    cursors,
    clock: { now: () => 1_500_000_000_000, sleep: async () => undefined },
    places: { learnGuild: () => undefined } as unknown as Places,
    inbound: {
      ...{ message: async () => true, edited: async () => true, deleted: async () => true, joined: async () => true },
      left: async () => true,
      async catchUp(guild) {
        looked.push(guild?.id ?? null)
        return true
      },
    },
    self: () => self,
    saveSelf: now => {
      self = now
    },
    ready: (resumed, shard) => void (self && reported.push({ ...shareOf(self, shard), resumed })),
    posted: (...post) => void posted.push(post),
    interaction: async () => undefined,
    life: () => new AbortController().signal,
  })
  const ready = (shard: number, shards: number, guilds: readonly string[]) => {
    const d = { user: { id: '9', username: 'aetheel' }, application: { id: '9' }, shard: [shard, shards] }
    return handle({
      t: 'READY',
      s: 1,
      shard,
      missed: false,
      d: { ...d, guilds: guilds.map(id => ({ id, unavailable: true })) },
    })
  }
  const guild = (id: string, shard: number) =>
    handle({ t: 'GUILD_CREATE', s: 2, shard, missed: false, d: { id, channels: [], threads: [] } })
  return { handle, ready, guild, reported, looked, posted, cursors, self: () => self }
}

test('a single connection has no number', async () => {
  const { ready, reported } = setup()
  await ready(0, 1, [first, second])
  expect(reported).toEqual([{ guilds: 2, shard: null, resumed: false }])
})

test('each of several connections reports its number and guild count, also when it resumes', async () => {
  const { handle, ready, reported, looked, self } = setup()
  await ready(0, 2, [first])
  await ready(1, 2, [second])
  await handle({ t: 'RESUMED', s: 3, shard: 0, missed: false, d: {} })
  expect(reported).toEqual([
    { guilds: 1, shard: '1 of 2', resumed: false },
    { guilds: 1, shard: '2 of 2', resumed: false },
    { guilds: 1, shard: '1 of 2', resumed: true },
  ])
  expect(self()?.guilds).toEqual([first, second])
  // Direct messages are caught up once.
  expect(looked).toEqual([null])
  // A guild that was left is not listed any more; those of the other connection stay.
  await ready(1, 2, [])
  expect(self()?.guilds).toEqual([first])
})

test('the horizon waits until all connections have caught up', async () => {
  const { ready, guild, cursors } = setup()
  const reached = () => {
    cursors.save()
    return cursors.horizon()
  }
  await ready(0, 2, [first])
  const began = reached()
  await guild(first, 0)
  cursors.seen('channel', first, String(1n << 62n))
  expect(reached()).toBe(began)
  await ready(1, 2, [second])
  expect(reached()).toBe(began)
  await guild(second, 1)
  expect(reached()).toBe(String(1n << 62n))
})

test('only our own messages with a nonce count as posted', async () => {
  const { handle, ready, posted } = setup()
  await ready(0, 1, [first])
  for (const [id, author, nonce] of [
    ['1', '9', 'ours'],
    ['2', '5', 'theirs'],
    ['3', '9'],
  ])
    await handle({
      t: 'MESSAGE_CREATE',
      s: 2,
      shard: 0,
      missed: false,
      d: { id, channel_id: 'c', author: { id: author }, nonce },
    })
  expect(posted).toEqual([['c', 'ours', '1']])
})
