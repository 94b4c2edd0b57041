// Several connections: each tells of its own guilds, and together they make up the whole.
import { expect, test } from 'vitest'
import type { ChatMemory } from '../../base/chat.ts'
import { openDispatches, type Self, shareOf } from './dispatches.ts'
import { openMarks } from './marks.ts'
import type { Places } from './places.ts'

/** Guilds of the first and of the second of two connections. */
const [first, second] = [String(2n << 22n), String(3n << 22n)]

function setup() {
  const kept = new Map<string, string>()
  const memory: ChatMemory = {
    get: name => kept.get(name) ?? null,
    put: (name, value) => void (value === null ? kept.delete(name) : kept.set(name, value)),
    list: () => [],
  }
  const marks = openMarks(memory)
  let self: Self | null = null
  const told: object[] = []
  const looked: (string | null)[] = []
  const heed = openDispatches({
    marks,
    clock: { now: () => 1_500_000_000_000, sleep: async () => undefined },
    places: { learnGuild: () => undefined } as unknown as Places,
    listening: {
      ...{ message: async () => true, edited: async () => true, deleted: async () => true, joined: async () => true },
      left: async () => true,
      async catchUp(guild) {
        looked.push(guild?.id ?? null)
        return true
      },
    },
    self: () => self,
    keepSelf: now => {
      self = now
    },
    ready: (resumed, shard) => void (self && told.push({ ...shareOf(self, shard), resumed })),
    interaction: async () => undefined,
    life: () => new AbortController().signal,
  })
  const ready = (shard: number, shards: number, guilds: readonly string[]) => {
    const d = { user: { id: '9', username: 'aetheel' }, application: { id: '9' }, shard: [shard, shards] }
    return heed({ t: 'READY', s: 1, shard, d: { ...d, guilds: guilds.map(id => ({ id, unavailable: true })) } })
  }
  const guild = (id: string, shard: number) =>
    heed({ t: 'GUILD_CREATE', s: 2, shard, d: { id, channels: [], threads: [] } })
  return { heed, ready, guild, told, looked, marks, self: () => self }
}

test('a single connection is not counted', async () => {
  const { ready, told } = setup()
  await ready(0, 1, [first, second])
  expect(told).toEqual([{ guilds: 2, shard: null, resumed: false }])
})

test('of several, each says which it is and how many guilds it has, also when it is taken up again', async () => {
  const { heed, ready, told, looked, self } = setup()
  await ready(0, 2, [first])
  await ready(1, 2, [second])
  await heed({ t: 'RESUMED', s: 3, shard: 0, d: {} })
  expect(told).toEqual([
    { guilds: 1, shard: '1 of 2', resumed: false },
    { guilds: 1, shard: '2 of 2', resumed: false },
    { guilds: 1, shard: '1 of 2', resumed: true },
  ])
  expect(self()?.guilds).toEqual([first, second])
  // Direct messages are looked for once.
  expect(looked).toEqual([null])
  // A guild that was left meanwhile is not told of any more; those of the other connection stay.
  await ready(1, 2, [])
  expect(self()?.guilds).toEqual([first])
})

test('the horizon waits until all connections have caught up', async () => {
  const { ready, guild, marks } = setup()
  const reached = () => {
    marks.save()
    return marks.horizon()
  }
  await ready(0, 2, [first])
  const began = reached()
  await guild(first, 0)
  marks.seen('channel', first, String(1n << 62n))
  expect(reached()).toBe(began)
  await ready(1, 2, [second])
  expect(reached()).toBe(began)
  await guild(second, 1)
  expect(reached()).toBe(String(1n << 62n))
})
