// `aetheel pair`: lists who asks for access, and approves or denies them. Uses the running gateway, or the database if none is running.
import * as v from 'valibot'
import type { PairingAdmin, PairingList } from '../../base/pairing.ts'
import { approvalInWords, calledBy, denialInWords, minutes } from '../pairing.ts'
import { askGateway, table, withAdmin as withAnyAdmin } from './gateway-client.ts'
import type { Address, CliPorts, Flags } from './ports.ts'
import { type OutputStream, type Terminal, withoutControls } from './terminal.ts'

export async function listPairing(ports: CliPorts, terminal: Terminal, flags: Flags, json: boolean): Promise<number> {
  const list = await withAdmin(ports, flags, admin => admin.list())
  if (json) terminal.stdout.write(`${JSON.stringify(list, null, 2)}\n`)
  else terminal.stdout.write(`${render(list, terminal.stdout).join('\n')}\n`)
  return 0
}

export async function approvePairing(
  ports: CliPorts,
  terminal: Terminal,
  flags: Flags,
  code: string,
  owner: boolean,
): Promise<number> {
  const approval = await withAdmin(ports, flags, admin => admin.approve(code, owner))
  return say(terminal, flags, approval, approval.type === 'approved', approvalInWords(approval))
}

export async function denyPairing(ports: CliPorts, terminal: Terminal, flags: Flags, target: string): Promise<number> {
  const denial = await withAdmin(ports, flags, admin => admin.deny(target))
  return say(terminal, flags, denial, denial.type === 'denied', denialInWords(denial))
}

function say(terminal: Terminal, { json }: Flags, result: object, done: boolean, words: string): number {
  if (json === true) terminal.stdout.write(`${JSON.stringify(result, null, 2)}\n`)
  else if (done) terminal.stdout.write(`${withoutControls(words)}\n`)
  else terminal.stderr.write(`aetheel: ${withoutControls(words)}\n`)
  return done ? 0 : 1
}

const withAdmin = <T>(ports: CliPorts, flags: Flags, use: (admin: PairingAdmin) => Promise<T>): Promise<T> =>
  withAnyAdmin(ports, flags, clientOf, ports.pairing, use)

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

/** The admin API of a running gateway. */
const clientOf = (running: Address): PairingAdmin => {
  const path = '/api/pairing'
  return {
    list: () => askGateway(running, path, listSchema),
    approve: (code, owner) => askGateway(running, path, approvalSchema, { approve: code, owner }),
    deny: target => askGateway(running, path, denialSchema, { deny: target }),
  }
}

const decisions = { owner: 'owner', guest: 'guest', denied: 'denied' } as const

function render({ requests, people }: PairingList, out: OutputStream): readonly string[] {
  const asking = requests.map(one => [one.code, calledBy(one), one.where, minutes(one.leftMs)])
  const known = people.map(one => [calledBy(one), decisions[one.as], new Date(one.since).toISOString().slice(0, 10)])
  return [
    ...(asking.length === 0 ? ['Nobody asks for access.'] : table(['CODE', 'WHO', 'WHERE', 'EXPIRES IN'], asking, out)),
    ...(known.length === 0 ? [] : ['', ...table(['WHO', 'IS', 'SINCE'], known, out)]),
  ]
}
