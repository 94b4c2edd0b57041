// One person of the campaign: writes, reads, reconnects, resends what was not accepted, and remembers everything.
import { connect, type Frame } from '../harness/client.ts'
import { asking } from './answers.ts'

export interface TalkOptions {
  readonly name: string
  /** Null while no gateway is known. */
  url(): string | null
  chance(): number
  /** From now on nothing new is written. */
  readonly enough: AbortSignal
  readonly finish: AbortSignal
}

export interface Conversation {
  readonly name: string
  /** In the order of acceptance, which is the order of writing. */
  readonly accepted: readonly string[]
  readonly finals: ReadonlyMap<string, Frame>
  redelivered(): number
  /** Every accepted message has its final. */
  settled(): boolean
  trouble(): string[]
  readonly over: Promise<void>
}

export function talk({ name, url, chance, enough, finish }: TalkOptions): Conversation {
  const accepted: string[] = []
  const finals = new Map<string, Frame>()
  const order: string[] = []
  const trouble: string[] = []
  let redelivered = 0
  let written = 0
  let open: string | null = null

  const listener = () => {
    const seen = new Set<string>()
    return (frame: Frame) => {
      const id = frame.id ?? ''
      if (frame.type === 'accepted' && id === open) {
        open = null
        accepted.push(id)
      }
      if (frame.type === 'refused') trouble.push(`${id} was refused: ${frame.reason}`)
      if (frame.type !== 'final') return
      const before = finals.get(id)
      if (seen.has(id)) trouble.push(`${id} was answered twice on one connection`)
      seen.add(id)
      if (!before) order.push(id)
      else if (before.text !== frame.text)
        trouble.push(`${id} was answered twice, differently: "${before.text}" and "${frame.text}"`)
      else redelivered++
      finals.set(id, frame)
      // What its tools told it comes after the words.
      if (frame.ok && !frame.text?.split(' | ')[0]?.endsWith(id)) trouble.push(`${id} got the answer "${frame.text}"`)
    }
  }

  const session = async () => {
    const target = url()
    if (!target) return
    const client = await connect(target, name, listener())
    const acceptedBefore = accepted.length
    let gone = false
    void client.closed.then(() => {
      gone = true
    })
    if (open) client.say(open, words(open))
    while (!gone && !finish.aborted) {
      const outstanding = accepted.length - finals.size
      if (open === null && !enough.aborted && outstanding < 4) {
        open = `${name}/${written++}`
        client.say(open, words(open))
      }
      // As after a missed acknowledgement: sending the same message again must change nothing. Only on the connection on which
      // it was accepted: after a kill, it would hide exactly the loss that is being tested.
      const before = accepted.at(-1)
      if (before && accepted.length > acceptedBefore && chance() < 0.1) client.say(before, words(before))
      await pause(10 + chance() * 120)
    }
    client.socket.terminate()
  }

  const life = async () => {
    while (!finish.aborted) {
      await session().catch(() => undefined)
      await pause(5 + chance() * 30)
    }
  }

  return {
    name,
    accepted,
    finals,
    redelivered: () => redelivered,
    settled: () => enough.aborted && open === null && accepted.every(id => finals.has(id)),
    trouble() {
      const mute = accepted.filter(id => !finals.has(id)).map(id => `${id} was accepted and never answered`)
      const sorted = accepted.filter(id => finals.has(id))
      const mixed = order.join() === sorted.join() ? [] : [`${name}: answered in the order ${order.join(', ')}`]
      return [...trouble, ...mute, ...mixed]
    },
    over: life(),
  }
}

/** Every sixth message keeps the agent busy for a while, and every sixth makes it ask. */
function words(id: string): string {
  const turn = Number(id.split('/')[1]) % 6
  return turn === 1 ? `[[tool:900]] ${id}` : turn === 3 ? asking(id) : id
}

const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))
