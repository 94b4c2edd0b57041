// What Telegram costs: the way of an update to the CLI and of its answer back, and what is kept in memory for it.
import { type FakeTelegram, openTelegram } from '../test/fakes/telegram/index.ts'
import { epochNow, momentsIn, startDirectly } from './clock.ts'
import { type Figure, median, ms, percentile, times } from './figures.ts'
import { idleNode, residentMb, settleMs } from './memory.ts'
import { echo, fastAgent, type Gateway, pause, withGateway, withHome } from './rig.ts'

const messages = 150
const warmUp = 30
/** Telegram takes about one message per second in a chat, so that many people talk in turn. */
const people = 90
const breathMs = 30
const rounds = 3
const budget = { toSpawned: 10, toPost: 5, idle: 2.4 }

export const telegramFigures = async (): Promise<readonly Figure[]> => [
  ...(await latencyFigures()),
  ...(await memoryFigures()),
]

/** A gateway that is connected to a Telegram of its own, which is in this process. */
async function withTelegram<T>(
  env: Readonly<Record<string, string>>,
  use: (telegram: FakeTelegram, gateway: Gateway) => Promise<T>,
): Promise<T> {
  await using telegram = await openTelegram()
  const owners = Array.from({ length: people }, (_, i) => telegram.user(`Person ${i}`))
  const settings = {
    TELEGRAM: 'true',
    TELEGRAM_API: telegram.url,
    TELEGRAM_BOT_TOKEN: telegram.token,
    OWNERS: [telegram.ada, ...owners].map(({ id }) => `telegram:${id}`).join(','),
  }
  return await withHome(home =>
    withGateway(home, { ...env, ...settings }, async gateway => {
      await telegram.until(() => telegram.requests('getUpdates').length > 1)
      return use(telegram, gateway)
    }),
  )
}

async function latencyFigures(): Promise<readonly Figure[]> {
  return withTelegram(fastAgent, async telegram => {
    await converse(telegram, warmUp)
    const { toFirst, toPost, ownStart } = await converse(telegram, messages)
    const own = median(ownStart)
    const spawned = toFirst.map(sample => sample - own)
    return [
      delay('Telegram: update to CLI spawned', spawned, budget.toSpawned, own),
      delay('Telegram: last line of the CLI to POST', toPost, budget.toPost),
    ]
  })
}

let turn = 0

/** One message after the other, each in the private chat of the next person, with a breath in between. */
async function converse(telegram: FakeTelegram, count: number) {
  const delays = { toFirst: [] as number[], toPost: [] as number[], ownStart: [] as number[] }
  let epoch = 0
  for (let i = 0; i < count; i++) {
    if (i % 10 === 0) {
      epoch = epochNow()
      delays.ownStart.push(await startDirectly(epoch))
    }
    const person = { id: telegram.ada.id + 1 + (turn++ % people), name: '' }
    const chat = telegram.alone(person)
    const before = telegram.finals(chat).length
    const sent = performance.now()
    telegram.say(person, chat, 'slowly')
    const answer = await telegram.until(() => telegram.finals(chat)[before])
    const { first, last } = momentsIn(answer.text, epoch)
    const posted = telegram.requests('sendMessage').at(-1)?.at ?? 0
    delays.toFirst.push(first - sent)
    delays.toPost.push(posted - last)
    await pause(breathMs)
  }
  return delays
}

const delay = (name: string, samples: readonly number[], most: number, ownStart?: number): Figure => ({
  name,
  value: `p50 ${ms(median(samples))}, p99 ${ms(percentile(samples, 0.99))} (${samples.length})`,
  baseline: ownStart === undefined ? '' : `the CLI's own start, taken off: ${ms(ownStart)}`,
  budget: `p50 ≤ ${most} ms`,
  ok: median(samples) <= most,
})

async function memoryFigures(): Promise<readonly Figure[]> {
  const bare = idleNode()
  try {
    const found: Resident[] = []
    for (let i = 0; i < rounds; i++) found.push(await residents())
    const nothing = residentMb(bare.pid)
    const idle = (name: string, which: keyof Resident): Figure => {
      const value = median(found.map(one => one[which]))
      return {
        name,
        value: `${value.toFixed(1)} MB = ${times(value / nothing)}`,
        baseline: `idle node: ${nothing.toFixed(1)} MB`,
        budget: `≤ ${budget.idle}×`,
        ok: value / nothing <= budget.idle,
      }
    }
    return [
      idle('Telegram on: idle RSS, nothing said yet', 'fresh'),
      idle('Telegram on: idle RSS, after one answer', 'spoken'),
    ]
  } finally {
    bare.kill()
  }
}

interface Resident {
  readonly fresh: number
  readonly spoken: number
}

const residents = (): Promise<Resident> =>
  withTelegram(echo, async (telegram, gateway) => {
    await pause(settleMs)
    const fresh = residentMb(gateway.pid)
    const alone = telegram.alone(telegram.ada)
    telegram.say(telegram.ada, alone, 'hello')
    await telegram.until(() => telegram.finals(alone)[0])
    await pause(settleMs)
    return { fresh, spoken: residentMb(gateway.pid) }
  })
