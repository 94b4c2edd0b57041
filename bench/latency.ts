// What the gateway adds to a turn: from "accepted" to the running CLI, and from its last line to the person.
import { epochNow, momentsIn, startDirectly } from './clock.ts'
import { type Figure, median, ms, percentile } from './figures.ts'
import { fastAgent, type Gateway, pause, talk, withGateway, withHome } from './rig.ts'

const messages = 300
const warmUp = 30
const sideBySide = 5
const budget = { p50: 5, p99: 20 }

interface Delays {
  readonly fromSend: readonly number[]
  readonly toFirst: readonly number[]
  readonly toFinal: readonly number[]
  /** How long the CLI takes to start once it is spawned, measured in direct starts between the messages. */
  readonly ownStart: readonly number[]
}

export async function latencyFigures(): Promise<readonly Figure[]> {
  return withHome(home =>
    withGateway(home, { ...fastAgent, MAX_CONCURRENT_QUERIES: String(sideBySide) }, async gateway => {
      await converse(gateway, 'warm-up', warmUp)
      const alone = await converse(gateway, 'alone', messages)
      const together = await Promise.all(
        Array.from({ length: sideBySide }, (_, i) => converse(gateway, `together-${i}`, messages / sideBySide)),
      )
      const all = (which: keyof Delays) => together.flatMap(one => one[which])
      const ownStart = median(alone.ownStart)
      const taken = `the CLI's own start, subtracted: ${ms(ownStart)}`
      const spawned = (samples: readonly number[]) => samples.map(sample => sample - ownStart)
      return [
        row('accepted to CLI spawned', spawned(alone.toFirst), taken, true),
        row('… counted from the send', spawned(alone.fromSend), taken, false),
        row('last line of the CLI to final', alone.toFinal, '', true),
        row(`accepted to CLI spawned, ${sideBySide} at once`, spawned(all('toFirst')), taken, false),
        row(`last line to final, ${sideBySide} at once`, all('toFinal'), '', false),
      ]
    }),
  )
}

const row = (name: string, samples: readonly number[], baseline: string, judged: boolean): Figure => {
  const [p50, p99] = [median(samples), percentile(samples, 0.99)]
  return {
    name,
    value: `p50 ${ms(p50)}, p99 ${ms(p99)} (${samples.length})`,
    baseline,
    budget: judged ? `p50 ≤ ${budget.p50} ms, p99 ≤ ${budget.p99} ms` : '',
    ok: judged ? p50 <= budget.p50 && p99 <= budget.p99 : null,
  }
}

/** One message after the other, with a short pause in which the last CLI exits. */
async function converse(gateway: Gateway, conversation: string, count: number): Promise<Delays> {
  const chat = await talk(gateway, conversation)
  const delays = {
    fromSend: [] as number[],
    toFirst: [] as number[],
    toFinal: [] as number[],
    ownStart: [] as number[],
  }
  let epoch = 0
  for (let i = 0; i < count; i++) {
    if (i % 10 === 0) {
      epoch = epochNow()
      delays.ownStart.push(await startDirectly(epoch))
    }
    const { sent, accepted, final, text } = await chat.say('slowly')
    const { first, last } = momentsIn(text, epoch)
    delays.fromSend.push(first - sent)
    delays.toFirst.push(first - accepted)
    delays.toFinal.push(final - last)
    await pause(5)
  }
  await chat.close()
  return delays
}
