// What Discord costs: the latency of a message to the CLI and of its answer back, and memory.
import { openDiscord } from '../test/fakes/discord/index.ts'
import type { DiscordOptions, FakeDiscord } from '../test/fakes/discord/types.ts'
import { epochNow, momentsIn, startDirectly } from './clock.ts'
import { type Figure, median, ms, percentile, times, whole } from './figures.ts'
import { idleNode, residentMb, settleMs } from './memory.ts'
import { echo, fastAgent, type Gateway, pause, withGateway, withHome } from './rig.ts'

const messages = 200
const warmUp = 30
/** Discord accepts fifty requests per second, and a message needs two. */
const breathMs = 30
const rounds = 3
/** The worst case: all members are listed, which Discord does not do for a bot without the presence intent. */
const crowd = { channels: 1000, members: 10_000, listed: true }
const budget = { toSpawned: 10, toPost: 5, idle: 2.5, crowdMb: 20 }

export const discordFigures = async (): Promise<readonly Figure[]> => [
  ...(await latencyFigures()),
  ...(await memoryFigures()),
]

/** A gateway connected to its own fake Discord, which runs in this process. */
async function withDiscord<T>(
  options: DiscordOptions,
  env: Readonly<Record<string, string>>,
  use: (discord: FakeDiscord, gateway: Gateway) => Promise<T>,
): Promise<T> {
  await using discord = await openDiscord(options)
  const settings = {
    DISCORD: 'true',
    DISCORD_API: discord.url,
    DISCORD_BOT_TOKEN: discord.token,
    OWNERS: `discord:${discord.ada.id}`,
  }
  return await withHome(home =>
    withGateway(home, { ...env, ...settings }, async gateway => {
      await discord.ready()
      return use(discord, gateway)
    }),
  )
}

interface Delays {
  readonly toFirst: readonly number[]
  readonly toPost: readonly number[]
  /** How long the CLI takes to start once it is spawned, measured in direct starts between the messages. */
  readonly ownStart: readonly number[]
}

async function latencyFigures(): Promise<readonly Figure[]> {
  let epoch = epochNow()
  const synchronize = () => {
    epoch = epochNow()
    return epoch
  }
  // The fake Discord reports when it got a message, with fractions of a millisecond.
  const now = () => epoch + performance.now()
  return withDiscord({ now }, fastAgent, async discord => {
    await converse(discord, warmUp, synchronize)
    const { toFirst, toPost, ownStart } = await converse(discord, messages, synchronize)
    const own = median(ownStart)
    const spawned = toFirst.map(sample => sample - own)
    return [
      delay('Discord: MESSAGE_CREATE to CLI spawned', spawned, budget.toSpawned, own),
      delay('Discord: last line of the CLI to POST', toPost, budget.toPost),
    ]
  })
}

/** Mentions in one channel, one after the other, with a short pause in between. */
async function converse(discord: FakeDiscord, count: number, synchronize: () => number): Promise<Delays> {
  const delays = { toFirst: [] as number[], toPost: [] as number[], ownStart: [] as number[] }
  const channel = discord.channel(discord.home, `talk-of-${count}`)
  let epoch = 0
  for (let i = 0; i < count; i++) {
    if (i % 10 === 0) {
      epoch = synchronize()
      delays.ownStart.push(await startDirectly(epoch))
    }
    const sent = performance.now()
    discord.say(discord.ada, channel, 'slowly', { mention: true })
    const answer = await discord.until(() => discord.answers(channel)[i])
    const { first, last } = momentsIn(answer.content, epoch)
    delays.toFirst.push(first - sent)
    delays.toPost.push(answer.at - epoch - last)
    await pause(breathMs)
  }
  return delays
}

const delay = (name: string, samples: readonly number[], most: number, ownStart?: number): Figure => ({
  name,
  value: `p50 ${ms(median(samples))}, p99 ${ms(percentile(samples, 0.99))} (${samples.length})`,
  baseline: ownStart === undefined ? '' : `the CLI's own start, subtracted: ${ms(ownStart)}`,
  budget: `p50 ≤ ${most} ms`,
  ok: median(samples) <= most,
})

/** A small and a large Discord at the same time, so that both see the same load. */
async function memoryFigures(): Promise<readonly Figure[]> {
  const bare = idleNode()
  try {
    const found: { small: Resident; large: Resident }[] = []
    for (let i = 0; i < rounds; i++) {
      const [small, large] = await Promise.all([residents({}), residents({ scale: crowd })])
      found.push({ small, large })
    }
    const nothing = residentMb(bare.pid)
    const idle = (name: string, which: keyof Resident): Figure => {
      const value = median(found.map(({ small }) => small[which]))
      return {
        name,
        value: `${value.toFixed(1)} MB = ${times(value / nothing)}`,
        baseline: `idle node: ${nothing.toFixed(1)} MB`,
        budget: `≤ ${budget.idle}×`,
        ok: value / nothing <= budget.idle,
      }
    }
    const more = found.map(({ small, large }) => large.fresh - small.fresh)
    return [
      idle('Discord on: idle RSS, no messages yet', 'fresh'),
      idle('Discord on: idle RSS, after one answer', 'spoken'),
      {
        name: `… more with ${whole(crowd.channels)} channels, ${whole(crowd.members)} members`,
        value: `${median(more).toFixed(1)} MB (${more.map(one => one.toFixed(1)).join(', ')})`,
        baseline: `one channel: ${median(found.map(({ small }) => small.fresh)).toFixed(1)} MB`,
        budget: `≤ ${budget.crowdMb} MB`,
        ok: median(more) <= budget.crowdMb,
      },
    ]
  } finally {
    bare.kill()
  }
}

interface Resident {
  readonly fresh: number
  readonly spoken: number
}

const residents = (world: DiscordOptions): Promise<Resident> =>
  withDiscord(world, echo, async (discord, gateway) => {
    await pause(settleMs)
    const fresh = residentMb(gateway.pid)
    discord.say(discord.ada, discord.general, 'hello', { mention: true })
    await discord.until(() => discord.answers(discord.general)[0])
    await pause(settleMs)
    return { fresh, spoken: residentMb(gateway.pid) }
  })
