// `aetheel cron`: lists, adds, pauses, removes and runs jobs.
import * as v from 'valibot'
import { answersGo, type JobChange, type Jobs, type JobTrouble, type JobView, type NewJob } from '../../base/jobs.ts'
import { writtenTime } from '../../base/zone.ts'
import { askGateway, print, printResult, refusal, rowsOf, whereOf, withAdmin } from './gateway-client.ts'
import type { Address, CliPorts, Flags } from './ports.ts'
import { type OutputStream, paintFor, type Terminal, withoutControls } from './terminal.ts'

export async function listJobs(ports: CliPorts, terminal: Terminal, flags: Flags): Promise<number> {
  const list = await withJobs(ports, flags, jobs => jobs.list())
  return print(terminal, flags.json === true, list, () =>
    render(list.jobs, list.troubles, terminal.zone(), terminal.stdout),
  )
}

export async function addJob(ports: CliPorts, terminal: Terminal, flags: Flags, job: NewJob): Promise<number> {
  const change = await withJobs(ports, flags, jobs => jobs.add(job))
  return printResult(terminal, flags.json === true, change, ({ job }) =>
    [
      `Added: ${job.name}, ${job.words}. ${job.next.length === 1 ? 'It runs once:' : 'The next runs:'}`,
      ...job.next.map(at => `  ${writtenTime(at, terminal.zone())}`),
      answersGo(job),
    ].join('\n'),
  )
}

export async function pauseJob(
  ports: CliPorts,
  terminal: Terminal,
  flags: Flags,
  name: string,
  paused: boolean,
): Promise<number> {
  const change = await withJobs(ports, flags, jobs => jobs.pause(name, paused))
  return printResult(terminal, flags.json === true, change, ({ job }) =>
    paused
      ? `Paused: ${job.name}. "npx aetheel cron resume ${job.name}" resumes it.`
      : `Resumed: ${job.name}. Next run: ${nextOf(job, terminal.zone())}.`,
  )
}

export async function removeJob(ports: CliPorts, terminal: Terminal, flags: Flags, name: string): Promise<number> {
  const change = await withJobs(ports, flags, jobs => jobs.remove(name))
  return printResult(terminal, flags.json === true, change, ({ job }) => `Removed: ${job.name}, ${job.words}.`)
}

export async function runJob(ports: CliPorts, terminal: Terminal, flags: Flags, name: string): Promise<number> {
  const running = await ports.find(whereOf(flags))
  if (running === null) throw new Error('no gateway is running here. Start one with: npx aetheel start')
  const change = await remoteJobs(running).run(name)
  return printResult(terminal, flags.json === true, change, ({ job }) => `Started: ${job.name}. ${answersGo(job)}`)
}

const withJobs = <T>(ports: CliPorts, flags: Flags, use: (jobs: Jobs) => Promise<T>): Promise<T> =>
  withAdmin(ports, flags, remoteJobs, ports.jobs, use)

const jobSchema = v.object({
  kind: v.picklist(['heartbeat', 'cron']),
  name: v.string(),
  when: v.variant('type', [
    v.object({ type: v.literal('every'), seconds: v.number() }),
    v.object({ type: v.literal('cron'), expression: v.string() }),
    v.object({ type: v.literal('once'), at: v.string() }),
  ]),
  instruction: v.string(),
  zone: v.nullable(v.string()),
  channel: v.nullable(v.string()),
  model: v.nullable(v.string()),
  missed: v.picklist(['skip', 'once']),
  paused: v.boolean(),
  skipIf: v.nullable(
    v.variant('type', [
      v.object({ type: v.literal('file'), path: v.string() }),
      v.object({ type: v.literal('url'), url: v.string() }),
      v.object({ type: v.literal('command'), command: v.string() }),
    ]),
  ),
  words: v.string(),
  next: v.array(v.number()),
  last: v.nullable(v.number()),
  answersTo: v.nullable(v.string()),
})
const listSchema = v.object({
  jobs: v.array(jobSchema),
  troubles: v.array(v.object({ file: v.string(), name: v.string(), why: v.string() })),
})
const changeSchema = v.variant('ok', [v.object({ ok: v.literal(true), job: jobSchema }), refusal])

const remoteJobs = (running: Address): Jobs => {
  const order = (what: object): Promise<JobChange> => askGateway(running, '/api/jobs', changeSchema, what)
  return {
    list: () => askGateway(running, '/api/jobs', listSchema),
    add: job => order({ add: job }),
    pause: (name, paused) => order({ pause: name, paused }),
    remove: name => order({ remove: name }),
    run: name => order({ run: name }),
  }
}

function render(
  jobs: readonly JobView[],
  troubles: readonly JobTrouble[],
  zone: string,
  out: OutputStream,
): readonly string[] {
  const paint = paintFor(out)
  const rows = jobs.map(job => [
    // If both kinds have a job of this name, the kind is shown too.
    jobs.filter(({ name }) => name === job.name).length > 1 ? `${job.kind}:${job.name}` : job.name,
    job.words,
    nextOf(job, zone),
    job.last === null ? 'never' : writtenTime(job.last, zone),
    job.answersTo ?? 'nowhere',
  ])
  const { head, rows: lines } = rowsOf(['NAME', 'SCHEDULE', 'NEXT', 'LAST', 'ANSWERS TO'], rows, out)
  const shown = lines.map((line, i) => (jobs[i]?.paused ? paint('dim', line) : line))
  const said = troubles.map(({ file, name, why }) => `${name === '' ? file : `${name} in ${file}`}: ${why}`)
  const warnings = [...new Set(said)].map(text => paint('yellow', withoutControls(text).replace(/\s+/g, ' ')))
  return [
    ...(jobs.length === 0
      ? ['There are no jobs. "npx aetheel cron add --help" shows how to add one.']
      : [...head, ...shown]),
    ...(warnings.length === 0 ? [] : ['', 'Cannot be used:', ...warnings]),
  ]
}

const nextOf = ({ paused, next: [first] }: JobView, zone: string): string =>
  paused ? 'paused' : first === undefined ? 'never' : writtenTime(first, zone)
