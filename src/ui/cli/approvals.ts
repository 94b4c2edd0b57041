// `aetheel approvals`: what agents ask, and answering it. Uses the running gateway, or the database if none is running.
import * as v from 'valibot'
import type { Decision, RuleScope } from '../../base/requests.ts'
import { writtenTime } from '../../base/zone.ts'
import { askGateway, print, refusal, rowsOf, withAdmin } from './gateway-client.ts'
import type { Address, Approvals, CliPorts, Flags } from './ports.ts'
import { gistOf, outcomeOf, renderRequest, requestSchema, type ShownRequest } from './requests.ts'
import { paintFor, type Terminal, withoutControls } from './terminal.ts'

export async function listApprovals(ports: CliPorts, terminal: Terminal, flags: Flags): Promise<number> {
  const all = flags.all === true
  const requests = await withApprovals(ports, flags, approvals => approvals.list(all ? 'all' : 'open'))
  return print(terminal, flags.json === true, requests, () => {
    if (requests.length === 0) return [all ? 'Nothing has been asked yet.' : 'Nothing is waiting for an answer.']
    const rows = requests.map(request => [
      ...[String(request.id), writtenTime(request.at, terminal.zone()), request.lane, request.backend],
      request.ask.kind === 'tool' ? request.ask.use.tool : request.ask.kind,
      ...(all ? [outcomeOf(request)] : []),
      gistOf(request),
    ])
    const head = ['ID', 'ASKED', 'CONVERSATION', 'BACKEND', 'WHAT', ...(all ? ['OUTCOME'] : []), '']
    const { head: first, rows: lines } = rowsOf(head, rows, terminal.stdout)
    return [...first, ...lines, '', 'The whole request: npx aetheel approvals show ID. Then: allow, deny or answer.']
  })
}

export async function showApproval(ports: CliPorts, terminal: Terminal, flags: Flags, id: string): Promise<number> {
  const request = await withApprovals(ports, flags, approvals => approvals.find(Number(id)))
  if (request === null) return refused(terminal, flags, unknownOf(id))
  return print(terminal, flags.json === true, request, () => [
    ...renderRequest(request, paintFor(terminal.stdout)),
    ...(request.state === 'open' ? ['', waysOf(request)] : []),
  ])
}

/** `scope`: also adds the rule. */
export const allowApproval = (ports: CliPorts, terminal: Terminal, flags: Flags, id: string): Promise<number> =>
  decideApproval(ports, terminal, flags, id, {
    ...{ allow: true, ...(flags.always === undefined ? {} : { always: flags.always as RuleScope }) },
  })

export const denyApproval = (ports: CliPorts, terminal: Terminal, flags: Flags, id: string): Promise<number> =>
  decideApproval(ports, terminal, flags, id, { allow: false, message: String(flags.reason ?? '') })

/** One answer for each question, in their order. */
export async function answerApproval(
  ports: CliPorts,
  terminal: Terminal,
  flags: Flags,
  [id = '', ...words]: readonly string[],
): Promise<number> {
  const request = await withApprovals(ports, flags, approvals => approvals.find(Number(id)))
  if (request === null) return refused(terminal, flags, unknownOf(id))
  if (request.ask.kind !== 'question')
    return refused(terminal, flags, `Request ${id} is not a question; use allow or deny.`)
  const { questions } = request.ask
  if (words.length !== questions.length)
    return refused(terminal, flags, `It asks ${questions.length} questions; give one answer for each, in quotes.`)
  const answers = Object.fromEntries(questions.map(({ question }, i) => [question, words[i] ?? '']))
  return decideApproval(ports, terminal, flags, id, { allow: true, answers })
}

async function decideApproval(
  ports: CliPorts,
  terminal: Terminal,
  flags: Flags,
  id: string,
  decision: Decision,
): Promise<number> {
  const result = await withApprovals(ports, flags, approvals => approvals.decide(Number(id), decision))
  switch (result.type) {
    case 'answered':
      return print(terminal, flags.json === true, { ok: true, request: result.request }, () => [
        withoutControls(`${outcomeOf(result.request)}: ${gistOf(result.request)}`),
      ])
    case 'late':
      return refused(terminal, flags, `It has ended before: ${outcomeOf(result.request)}.`)
    case 'unknown':
      return refused(terminal, flags, unknownOf(id))
    case 'refused':
      return refused(terminal, flags, result.why)
    default:
      return result satisfies never
  }
}

const unknownOf = (id: string) => `There is no request ${id}; "npx aetheel approvals list" shows them.`

function refused(terminal: Terminal, { json }: Flags, why: string): number {
  if (json === true) terminal.stdout.write(`${JSON.stringify({ ok: false, why }, null, 2)}\n`)
  else terminal.stderr.write(`aetheel: ${withoutControls(why)}\n`)
  return 1
}

/** How to answer it with commands. */
export const waysOf = ({ id, ask, rule }: Pick<ShownRequest, 'id' | 'ask' | 'rule'>): string => {
  const deny = `npx aetheel approvals deny ${id} --reason "…"`
  if (ask.kind === 'question')
    return `Answer: npx aetheel approvals answer ${id} ${ask.questions.map(() => '"…"').join(' ')}`
  const always = rule === null ? '' : `, or for always: --always conversation|project|everywhere (adds ${rule})`
  return `Allow: npx aetheel approvals allow ${id}${always}\nDeny: ${deny}`
}

const withApprovals = <T>(ports: CliPorts, flags: Flags, use: (approvals: Approvals) => Promise<T>): Promise<T> =>
  withAdmin(ports, flags, remoteApprovals, ports.approvals, use)

const path = '/api/requests'
const listSchema = v.object({ requests: v.array(requestSchema) })
const missing = v.object({ error: v.string() })
const decisionSchema = v.union([
  v.object({ ok: v.literal(true), request: requestSchema }),
  v.object({ ...refusal.entries, request: requestSchema }),
  missing,
])

/** The requests of a running gateway. */
export const remoteApprovals = (running: Address): Approvals => ({
  list: async which => (await askGateway(running, `${path}?state=${which}`, listSchema)).requests,
  async find(id) {
    const found = await askGateway(
      running,
      `${path}?id=${id}`,
      v.union([v.object({ request: requestSchema }), missing]),
    )
    return 'request' in found ? found.request : null
  },
  async decide(id, decision) {
    const answer = await askGateway(running, path, decisionSchema, { id, ...decision })
    if ('error' in answer)
      return answer.error === `There is no request ${id}.`
        ? { type: 'unknown' }
        : { type: 'refused', why: answer.error }
    return { type: answer.ok ? 'answered' : 'late', request: answer.request }
  },
})
