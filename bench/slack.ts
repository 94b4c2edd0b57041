// What Slack costs: the way of a message to the CLI and of its answer back, and what is kept in memory for it.
import { type FakeSlack, openSlack, type SlackOptions } from '../test/fakes/slack/index.ts'
import { epochNow, momentsIn, startDirectly } from './clock.ts'
import { type Figure, median, ms, percentile, times } from './figures.ts'
import { idleNode, residentMb, settleMs } from './memory.ts'
import { echo, fastAgent, type Gateway, pause, withGateway, withHome } from './rig.ts'

const messages = 200
const warmUp = 30
const breathMs = 30
const rounds = 3
const budget = { toSpawned: 10, toPost: 5, idle: 2.4 }

export const slackFigures = async (): Promise<readonly Figure[]> => [
  ...(await latencyFigures()),
  ...(await memoryFigures()),
]

/** A gateway that is connected to a Slack of its own, which is in this process. */
async function withSlack<T>(
  options: SlackOptions,
  env: Readonly<Record<string, string>>,
  use: (slack: FakeSlack, gateway: Gateway) => Promise<T>,
): Promise<T> {
  await using slack = await openSlack(options)
  const settings = {
    ...{ SLACK: 'true', SLACK_API: slack.url, SLACK_BOT_TOKEN: slack.tokens.bot, SLACK_APP_TOKEN: slack.tokens.app },
    OWNERS: `slack:${slack.ada.id}`,
  }
  return await withHome(home =>
    withGateway(home, { ...env, ...settings }, async gateway => {
      await slack.ready()
      return use(slack, gateway)
    }),
  )
}

async function latencyFigures(): Promise<readonly Figure[]> {
  let epoch = epochNow()
  const synchronize = () => {
    epoch = epochNow()
    return epoch
  }
  const now = () => epoch + performance.now()
  return withSlack({ now }, fastAgent, async slack => {
    await converse(slack, warmUp, synchronize)
    const { toFirst, toPost, ownStart } = await converse(slack, messages, synchronize)
    const own = median(ownStart)
    const spawned = toFirst.map(sample => sample - own)
    return [
      delay('Slack: envelope to CLI spawned', spawned, budget.toSpawned, own),
      delay('Slack: last line of the CLI to POST', toPost, budget.toPost),
    ]
  })
}

/** Direct messages, one after the other, with a breath in between. */
async function converse(slack: FakeSlack, count: number, synchronize: () => number) {
  const delays = { toFirst: [] as number[], toPost: [] as number[], ownStart: [] as number[] }
  const channel = slack.dm(slack.ada)
  const before = slack.answers(channel).length
  let epoch = 0
  for (let i = 0; i < count; i++) {
    if (i % 10 === 0) {
      epoch = synchronize()
      delays.ownStart.push(await startDirectly(epoch))
    }
    const sent = performance.now()
    slack.say(slack.ada, channel, 'slowly')
    const answer = await slack.until(() => slack.answers(channel)[before + i], 10_000)
    const { first, last } = momentsIn(answer.text, epoch)
    delays.toFirst.push(first - sent)
    delays.toPost.push(answer.at - epoch - last)
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
    const found: { readonly fresh: number; readonly spoken: number }[] = []
    for (let i = 0; i < rounds; i++) found.push(await residents())
    const nothing = residentMb(bare.pid)
    const idle = (name: string, which: 'fresh' | 'spoken'): Figure => {
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
      idle('Slack on: idle RSS, nothing said yet', 'fresh'),
      idle('Slack on: idle RSS, after one answer', 'spoken'),
    ]
  } finally {
    bare.kill()
  }
}

const residents = () =>
  withSlack({}, echo, async (slack, gateway) => {
    await pause(settleMs)
    const fresh = residentMb(gateway.pid)
    const channel = slack.dm(slack.ada)
    slack.say(slack.ada, channel, 'hello')
    await slack.until(() => slack.answers(channel)[0])
    await pause(settleMs)
    return { fresh, spoken: residentMb(gateway.pid) }
  })
