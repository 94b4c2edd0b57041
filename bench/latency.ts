// What the gateway adds to a turn: from "accepted" to the running CLI, and from its last line to the person.
import { spawn } from 'node:child_process'
import { type Figure, median, ms, percentile } from './figures.ts'
import { fastAgent, type Gateway, pause, standIn, talk, withGateway, withHome } from './rig.ts'

const messages = 300
const warmUp = 30
const sideBySide = 5
const budget = { p50: 5, p99: 20 }

interface Delays {
  readonly fromSend: readonly number[]
  readonly toSpawn: readonly number[]
  readonly toFinal: readonly number[]
}

export async function latencyFigures(): Promise<readonly Figure[]> {
  return withHome(home =>
    withGateway(home, { ...fastAgent, MAX_CONCURRENT_QUERIES: String(sideBySide) }, async gateway => {
      await converse(gateway, 'warm-up', warmUp)
      const alone = await converse(gateway, 'alone', messages)
      const direct = await startsDirectly(60)
      const together = await Promise.all(
        Array.from({ length: sideBySide }, (_, i) => converse(gateway, `together-${i}`, messages / sideBySide)),
      )
      const all = (which: keyof Delays) => together.flatMap(one => one[which])
      const baseline = `the same CLI started directly: ${ms(median(direct))}`
      return [
        row('accepted to first instruction of the CLI', alone.toSpawn, baseline),
        row('… counted from the send', alone.fromSend, baseline, false),
        row('last line of the CLI to final', alone.toFinal, ''),
        row(`accepted to first instruction, ${sideBySide} at once`, all('toSpawn'), baseline, false),
        row(`last line to final, ${sideBySide} at once`, all('toFinal'), '', false),
      ]
    }),
  )
}

const row = (name: string, samples: readonly number[], baseline: string, judged = true): Figure => {
  const [p50, p99] = [median(samples), percentile(samples, 0.99)]
  return {
    name,
    value: `p50 ${ms(p50)}, p99 ${ms(p99)} (${samples.length})`,
    baseline,
    budget: judged ? `p50 ≤ ${budget.p50} ms, p99 ≤ ${budget.p99} ms` : '',
    ok: judged ? p50 <= budget.p50 && p99 <= budget.p99 : null,
  }
}

/** One message after the other, with a breath in between in which the last CLI leaves. */
async function converse(gateway: Gateway, conversation: string, count: number): Promise<Delays> {
  const chat = await talk(gateway, conversation)
  const fromSend: number[] = []
  const toSpawn: number[] = []
  const toFinal: number[] = []
  let epoch = epochNow()
  for (let i = 0; i < count; i++) {
    if (i % 20 === 0) epoch = epochNow()
    const { sent, accepted, final, text } = await chat.say('slowly')
    const [began, last] = momentsIn(text, epoch)
    fromSend.push(began - sent)
    toSpawn.push(began - accepted)
    toFinal.push(final - last)
    await pause(5)
  }
  await chat.close()
  return { fromSend, toSpawn, toFinal }
}

/** From the call of spawn to the first instruction: what the operating system and the CLI itself take. */
async function startsDirectly(count: number): Promise<readonly number[]> {
  const samples: number[] = []
  for (let i = 0; i < count; i++) {
    const epoch = epochNow()
    const began = performance.now()
    const child = spawn(standIn, [], { stdio: ['pipe', 'pipe', 'pipe'], detached: true })
    let output = ''
    child.stdout.on('data', chunk => {
      output += chunk
    })
    child.stdin.end('at once')
    await new Promise(done => child.on('close', done))
    const line = JSON.parse(output.trim().split('\n').at(-1) ?? '') as { result: string }
    samples.push(momentsIn(line.result, epoch)[0] - began)
  }
  return samples
}

/** The CLI tells seconds since the epoch; as times of performance.now() they can be compared with ours. */
function momentsIn(text: string, epoch: number): readonly [number, number] {
  const [began = Number.NaN, last = Number.NaN] = text.split(' ').map(seconds => Number(seconds) * 1000 - epoch)
  return [began, last]
}

/**
 * When performance.now() was 0, in milliseconds since the epoch. Date.now() has no fraction, so it is caught at the
 * moment it moves on; to be put aside in that moment makes the answer smaller, hence the largest of a few.
 */
function epochNow(): number {
  let best = 0
  for (let i = 0; i < 3; i++) {
    const before = Date.now()
    let now = before
    while (now === before) now = Date.now()
    best = Math.max(best, now - performance.now())
  }
  return best
}
