// `aetheel pair`: who asks to be let in, and what the owner decides. At the running gateway, else where it is kept.
import * as v from 'valibot'
import type { PairingDesk, PairingList } from '../../base/pairing.ts'
import { approvalInWords, calledBy, denialInWords, minutes } from '../pairing.ts'
import type { Address, CliPorts, Flags } from './ports.ts'
import { aligned, type Paint, paintFor, type Terminal, withoutControls } from './terminal.ts'

export async function listPairing(ports: CliPorts, terminal: Terminal, flags: Flags, json: boolean): Promise<number> {
  const list = await atTheDesk(ports, flags, desk => desk.list())
  if (json) terminal.stdout.write(`${JSON.stringify(list, null, 2)}\n`)
  else terminal.stdout.write(`${render(list, paintFor(terminal.stdout)).join('\n')}\n`)
  return 0
}

export async function approvePairing(
  ports: CliPorts,
  terminal: Terminal,
  flags: Flags,
  code: string,
  owner: boolean,
): Promise<number> {
  const approval = await atTheDesk(ports, flags, desk => desk.approve(code, owner))
  return say(terminal, approval.type === 'approved', approvalInWords(approval))
}

export async function denyPairing(ports: CliPorts, terminal: Terminal, flags: Flags, whom: string): Promise<number> {
  const denial = await atTheDesk(ports, flags, desk => desk.deny(whom))
  return say(terminal, denial.type === 'denied', denialInWords(denial))
}

function say(terminal: Terminal, done: boolean, words: string): number {
  if (done) terminal.stdout.write(`${withoutControls(words)}\n`)
  else terminal.stderr.write(`aetheel: ${withoutControls(words)}\n`)
  return done ? 0 : 1
}

/** A running gateway holds the database alone, so it is asked; without one the database is opened. */
async function atTheDesk<T>(ports: CliPorts, flags: Flags, use: (desk: PairingDesk) => Promise<T>): Promise<T> {
  const running = await ports.find(flags)
  if (running) return use(deskOf(running))
  const desk = await ports.pairing(flags)
  try {
    return await use(desk)
  } finally {
    await desk.close()
  }
}

const person = { chat: v.string(), user: v.string(), name: v.string() }
const listSchema = v.object({
  requests: v.array(v.object({ ...person, code: v.string(), where: v.string(), leftMs: v.number() })),
  people: v.array(v.object({ ...person, as: v.picklist(['owner', 'guest', 'denied']), since: v.number() })),
})
const unknown = v.object({ type: v.literal('unknown') })
const approvalSchema = v.variant('type', [
  v.object({ type: v.literal('approved'), person: v.object(person), owner: v.boolean() }),
  v.object({ type: v.literal('expired'), person: v.object(person) }),
  v.object({ type: v.literal('locked'), leftMs: v.number() }),
  unknown,
])
const denialSchema = v.variant('type', [v.object({ type: v.literal('denied'), person: v.object(person) }), unknown])

/** The desk of a running gateway, over its API. */
const deskOf = ({ url, token }: Address): PairingDesk => {
  const ask = async <T>(schema: v.GenericSchema<unknown, T>, decision?: object): Promise<T> => {
    const answer = await fetch(`${url}/api/pairing`, {
      ...(decision === undefined ? {} : { method: 'POST', body: JSON.stringify(decision) }),
      headers: { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(10_000),
    }).catch((error: unknown) => {
      throw new Error(`the running gateway at ${url} does not answer`, { cause: error })
    })
    if (answer.status === 401) throw new Error('the running gateway does not accept our token')
    const body: unknown = await answer.json().catch(() => null)
    const read = v.safeParse(schema, body)
    if (!read.success)
      throw new Error(`the running gateway answered with HTTP ${answer.status}, which makes no sense here`)
    return read.output
  }
  return {
    list: () => ask(listSchema),
    approve: (code, owner) => ask(approvalSchema, { approve: code, owner }),
    deny: whom => ask(denialSchema, { deny: whom }),
  }
}

const decisions = { owner: 'owner', guest: 'may speak', denied: 'denied' } as const

function render({ requests, people }: PairingList, paint: Paint): readonly string[] {
  const asking = requests.map(one => [one.code, calledBy(one), one.where, minutes(one.leftMs)])
  const known = people.map(one => [calledBy(one), decisions[one.as], new Date(one.since).toISOString().slice(0, 10)])
  return [
    ...(asking.length === 0
      ? ['Nobody asks to be let in.']
      : table(['CODE', 'WHO', 'WHERE', 'GOOD FOR'], asking, paint)),
    ...(known.length === 0 ? [] : ['', ...table(['WHO', 'IS', 'SINCE'], known, paint)]),
  ]
}

function table(head: readonly string[], rows: readonly (readonly string[])[], paint: Paint): readonly string[] {
  const [first = '', ...lines] = aligned([head, ...rows.map(row => row.map(withoutControls))])
  return [paint('bold', first), ...lines]
}
