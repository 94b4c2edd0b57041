// The crash campaign: twenty conversations, a slow agent, and a gateway that is killed again and again.
// Usage: npm run test:crash -- --kills 300 [--seed 7] [--fault NAME] [--chat discord]
import { parseArgs } from 'node:util'
import { makeHome, processesWith, type RunningGateway, startGateway, token } from '../harness/gateway.ts'
import { answerAsks } from './answers.ts'
import { campaignOn } from './chats.ts'
import { type Conversation, talk } from './conversation.ts'
import { faultArguments } from './faults.ts'
import { randomFrom } from './random.ts'

export interface CampaignResult {
  readonly kills: number
  readonly accepted: number
  readonly answered: number
  readonly failed: number
  /** Runs that were interrupted and resumed. */
  readonly resumed: number
  /** Finals sent again on a new connection, because the kill came between sending and recording it. */
  readonly redelivered: number
  /** How many uses of tools were asked for, and how many ran. */
  readonly asked: number
  readonly ran: number
  /** Empty: all guarantees were kept. */
  readonly broken: readonly string[]
  /** Why the gateway did not start at all; such a run proves nothing about the guarantees. */
  readonly notStarted: string | null
}

export interface CampaignOptions {
  readonly kills: number
  readonly seed: number
  readonly conversations?: number
  readonly fault?: string
  /** How long the last gateway may take to answer everything. */
  readonly patienceMs?: number
  progress?(line: string): void
}

export async function runCampaign({
  kills,
  seed,
  conversations = 20,
  // Longer than a silent turn may last: then it ends visibly, too.
  patienceMs = 240_000,
  fault,
  progress = () => undefined,
}: CampaignOptions): Promise<CampaignResult> {
  const home = await makeHome()
  const chance = randomFrom(seed)
  const env = {
    BUSY: 'queue',
    MAX_CONCURRENT_QUERIES: '6',
    MAX_QUEUE_DEPTH: '100000',
    LOG_LEVEL: 'warn',
    CLAUDE_STAND_IN_STEP_MS: '25',
  }
  const start = () => startGateway(home, env, undefined, fault ? faultArguments(fault) : [])
  const broken: string[] = []
  let notStarted: string | null = null
  let gateway: RunningGateway | null = null
  const finish = new AbortController()
  const enough = new AbortController()
  const talks = Array.from({ length: conversations }, (_, i) =>
    talk({
      name: `conversation-${i}`,
      url: () => gateway?.url ?? null,
      chance: randomFrom(seed + i + 1),
      enough: enough.signal,
      finish: finish.signal,
    }),
  )
  const answers = answerAsks({
    ...{ home, finish: finish.signal, chance: randomFrom(seed + conversations + 1) },
    url: () => gateway?.url ?? null,
  })
  let [asked, ran] = [0, 0]
  try {
    for (let kill = 1; kill <= kills; kill++) {
      gateway = await start()
      await pause(50 + chance() * 900)
      await gateway.stop('SIGKILL')
      await answers.whileDown()
      if (kill % 25 === 0) progress(`${kill} kills, ${sum(talks, one => one.accepted.length)} messages accepted`)
    }
    gateway = await start()
    enough.abort()
    const deadline = performance.now() + patienceMs
    while (performance.now() < deadline && talks.some(one => !one.settled())) await pause(50)
    if (talks.some(one => !one.settled())) progress(`still unanswered: ${await stateOf(gateway)}`)
    broken.push(...(await sumTrouble(gateway.url)))
    finish.abort()
    await Promise.all([answers.over, ...talks.map(one => one.over)])
    const { broken: wrong, ...counts } = await answers.trouble(gateway.url)
    broken.push(...wrong)
    ;({ asked, ran } = counts)
    const code = await gateway.stop()
    if (code !== 0) broken.push(`the last gateway ended with ${code}: ${gateway.output().slice(-500)}`)
    const left = processesWith(`HOME=${home.dir}`)
    if (left.length > 0) broken.push(`processes left behind: ${left.join(', ')}`)
  } catch (error) {
    notStarted = String(error)
    broken.push(`the gateway did not come up again: ${notStarted}`)
    finish.abort()
    await gateway?.stop('SIGKILL')
  }
  const journal = home.journal()
  for (const one of talks) broken.push(...one.trouble(), ...runTrouble(one, journal))
  await home.remove()
  const finals = talks.flatMap(one => [...one.finals.values()])
  return {
    kills,
    accepted: sum(talks, one => one.accepted.length),
    answered: finals.filter(final => final.ok).length,
    failed: finals.filter(final => !final.ok).length,
    resumed: journal.filter(entry => entry.what === 'begin' && isTold(entry.prompt)).length,
    redelivered: sum(talks, one => one.redelivered()),
    ...{ asked, ran },
    broken,
    notStarted,
  }
}

/** Never two runs of one conversation at a time; never a second run without a note about the interruption. */
function runTrouble(
  { name }: Conversation,
  journal: ReturnType<Awaited<ReturnType<typeof makeHome>>['journal']>,
): string[] {
  const trouble: string[] = []
  const begun = new Set<string>()
  let newest = { pid: 0, message: '' }
  for (const { what, pid, prompt = '', about = '', last = '' } of journal) {
    if (what === 'begin' && about.includes(`${name}/`)) {
      const message = about.slice(about.lastIndexOf('\n') + 1)
      if (begun.has(message) && !isTold(prompt)) trouble.push(`${message} was run a second time without being told`)
      begun.add(message)
      newest = { pid, message }
    }
    if (what === 'end' && last.includes(`${name}/`) && pid !== newest.pid)
      trouble.push(`${last} was still running when ${newest.message} began`)
  }
  return trouble
}

const isTold = (prompt = '') =>
  /\[Gateway: your turn on the (?:message below|last message above) was interrupted/.test(prompt)

/** What the gateway says about itself, to find out why something was not answered. */
async function stateOf({ url, output }: RunningGateway): Promise<string> {
  const ask = async (path: string) =>
    (await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${token}` } })).text()
  return [await ask('/api/status'), await ask('/api/overview'), output().slice(-2000)].join('\n')
}

async function sumTrouble(url: string): Promise<string[]> {
  const answer = await fetch(`${url}/api/status`, { headers: { authorization: `Bearer ${token}` } })
  const { events } = (await answer.json()) as { events: Record<string, number> }
  const { received = 0, answered = 0, waiting = 0, running = 0, refused = 0, failed = 0 } = events
  return received === answered + waiting + running + refused + failed
    ? []
    : [`the sum does not hold: ${JSON.stringify(events)}`]
}

const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))
const sum = <T>(all: readonly T[], of: (one: T) => number) => all.reduce((total, one) => total + of(one), 0)

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      kills: { type: 'string', default: '100' },
      seed: { type: 'string', default: String(Date.now() % 100_000) },
      fault: { type: 'string' },
      /** On this chat; without it, over WebChat. */
      chat: { type: 'string' },
    },
  })
  const seed = Number(values.seed)
  console.log(
    `crash campaign on ${values.chat ?? 'WebChat'}: ${values.kills} kills, seed ${seed}${values.fault ? `, with the fault ${values.fault}` : ''}`,
  )
  const onChat = values.chat === undefined ? null : campaignOn(values.chat)
  const result = onChat
    ? await onChat({ kills: Number(values.kills), seed })
    : await runCampaign({
        kills: Number(values.kills),
        seed,
        ...(values.fault ? { fault: values.fault } : {}),
        progress: line => console.log(line),
      })
  console.log(JSON.stringify({ ...result, broken: result.broken.slice(0, 20) }, null, 2))
  console.log(result.broken.length === 0 ? 'every promise was kept' : `${result.broken.length} promises broken`)
  process.exitCode = result.broken.length === 0 ? 0 : 1
}
