// `aetheel status`: prints the status of the running gateway.
import * as v from 'valibot'
import { ask } from './http.ts'
import type { Address, CliPorts, Flags, Running } from './ports.ts'
import { aligned, type Paint, paintFor, type Terminal, withoutControls } from './terminal.ts'

const count = v.fallback(v.number(), 0)

const statusSchema = v.object({
  ready: v.boolean(),
  pid: v.fallback(v.nullable(v.number()), null),
  version: v.fallback(v.string(), 'unknown'),
  backend: v.fallback(v.string(), 'unknown'),
  uptimeMs: count,
  rssBytes: count,
  events: v.object({
    received: count,
    answered: count,
    waiting: count,
    running: count,
    refused: count,
    failed: count,
  }),
  trouble: v.fallback(v.nullable(v.string()), null),
  notes: v.fallback(v.array(v.string()), []),
  deliveries: v.fallback(v.object({ waiting: count, delayed: count, failed: count }), {
    waiting: 0,
    delayed: 0,
    failed: 0,
  }),
  resting: v.fallback(v.array(v.object({ backend: v.string(), why: v.string(), until: v.number() })), []),
  budget: v.fallback(
    v.nullable(
      v.object({
        usd: v.nullable(v.object({ spent: v.number(), of: v.number() })),
        tokens: v.nullable(v.object({ spent: v.number(), of: v.number() })),
        level: v.picklist(['within', 'paused', 'over']),
      }),
    ),
    null,
  ),
})
type Status = v.InferOutput<typeof statusSchema>

/** Exit code 0 means that it is running and ready, and can accept messages. */
export async function showStatus(ports: CliPorts, terminal: Terminal, flags: Flags, json: boolean): Promise<number> {
  const running = await ports.find(flags)
  if (running === null) {
    if (json) terminal.stdout.write('{"ready":false,"pid":null}\n')
    else terminal.stdout.write('Aetheel is not running. Start it with: npx aetheel start\n')
    return 1
  }
  const answer = await askStatus(running)
  if (!answer.ok) {
    if (json) terminal.stdout.write(`${JSON.stringify({ ready: false, pid: running.pid })}\n`)
    terminal.stderr.write(`aetheel: process ${running.pid} runs, but ${answer.why}\n`)
    return 1
  }
  if (json) terminal.stdout.write(`${answer.body.trimEnd()}\n`)
  else terminal.stdout.write(`${renderStatus(answer.status, running, paintFor(terminal.stdout)).join('\n')}\n`)
  return answer.status.ready && answer.status.trouble === null ? 0 : 1
}

export type StatusAnswer =
  | { readonly ok: true; readonly body: string; readonly status: Status }
  | { readonly ok: false; readonly why: string }

export async function askStatus({ url, token }: Address): Promise<StatusAnswer> {
  const answer = await ask(`${url}/api/status`, { token, timeoutMs: 5_000 })
  if (!answer.ok)
    return { ok: false, why: answer.late ? 'it did not answer within 5 seconds' : `nothing answers at ${url}` }
  if (answer.status === 401 || answer.status === 403) return { ok: false, why: 'it does not accept our token' }
  const status = v.safeParse(v.pipe(v.string(), v.parseJson(), statusSchema), answer.body)
  if (status.success) return { ok: true, body: answer.body, status: status.output }
  return { ok: false, why: `its answer (HTTP ${answer.status}) is not a status` }
}

function renderStatus(status: Status, running: Running, paint: Paint): string[] {
  const rows = [
    ['backend', withoutControls(status.backend)],
    ...(status.resting.length > 0 ? [['cooldown', cooldownsOf(status)]] : []),
    ['uptime', duration(status.uptimeMs)],
    ['memory', `${Math.round(status.rssBytes / 1e6)} MB`],
    ['process', String(status.pid ?? running.pid)],
    ['events', sumOf(status.events)],
    ['outbox', outboxOf(status.deliveries)],
    ...(status.trouble === null ? [] : [['problem', withoutControls(status.trouble)]]),
    ...status.notes.map(note => ['note', withoutControls(note)]),
    ...(status.budget ? [['budget', budgetOf(status.budget)]] : []),
    ['control', `${running.url}/?token=${encodeURIComponent(running.token)}`],
    ['chat', `${running.url}/chat?token=${encodeURIComponent(running.token)}`],
  ]
  const headline = headlineOf(status, paint)
  const body = aligned(rows.map(([name = '', text = '']) => [`  ${name}`, text]))
  return [headline, ...body.map(line => line.replace(/^ {2}\w+/, name => paint('dim', name)))]
}

function headlineOf({ ready, trouble }: Status, paint: Paint): string {
  if (trouble !== null) return paint('red', 'Aetheel is running, but accepts nothing')
  return ready ? paint('green', 'Aetheel is ready') : paint('yellow', 'Aetheel is starting')
}

/** Backends in cooldown, and why. */
const cooldownsOf = ({ resting }: Pick<Status, 'resting'>): string =>
  resting
    .map(({ backend, why }) => `${withoutControls(backend)} (${withoutControls(why).replaceAll('-', ' ')})`)
    .join(', ')

/** Every message must end visibly: shows the sum, and says so if it does not add up. */
function sumOf(events: Status['events']): string {
  const { received, answered, waiting, running, refused, failed } = events
  const ends = answered + waiting + refused + failed
  const unfinished =
    ends === received && running > 0
      ? `${waiting} waiting (${running} running)`
      : `${waiting} waiting + ${running} running`
  const sum = `${answered} answered + ${unfinished} + ${refused} refused + ${failed} failed`
  if (ends === received || ends + running === received) return `${received} received = ${sum}`
  return `${received} received ≠ ${sum} (${received - ends - running} unaccounted for)`
}

/** An answer that has not been delivered is not done. */
function outboxOf({ waiting, delayed, failed }: Status['deliveries']): string {
  const retried = delayed > 0 ? ` (${delayed} failed before and ${delayed === 1 ? 'is' : 'are'} retried)` : ''
  return `${waiting} waiting to be delivered${retried}, ${failed} not delivered`
}

const levels = {
  within: '',
  paused: '; heartbeats and cron jobs pause until tomorrow',
  over: '; until tomorrow only the owner is answered',
}

function budgetOf({ usd, tokens, level }: NonNullable<Status['budget']>): string {
  const money = usd ? [`$${usd.spent.toFixed(2)} of $${usd.of.toFixed(2)}`] : []
  const counted = tokens ? [`${tokens.spent} of ${tokens.of} tokens`] : []
  return `${[...money, ...counted].join(', ')} today${levels[level]}`
}

function duration(ms: number): string {
  const seconds = Math.floor(ms / 1_000)
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`
  const hours = Math.floor(minutes / 60)
  if (hours < 24) return `${hours} h ${minutes % 60} min`
  return `${Math.floor(hours / 24)} d ${hours % 24} h`
}
