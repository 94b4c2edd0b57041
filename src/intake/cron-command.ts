// The `/cron` command: lists jobs, and lets the owner change them.
import { type Author, type Place, placeName } from '../base/event.ts'
import { answersGo, type JobChange, type Jobs, type JobView } from '../base/jobs.ts'
import type { CommandRow } from './command.ts'

export interface CronParts {
  readonly jobs: Jobs
  /** Formats a point in time for people. */
  time(ms: number): string
}

const how = [
  '`/cron add NAME | SCHEDULE | INSTRUCTION`, such as `/cron add tea | every weekday at 16:00 | Remind me of tea.`',
  '`/cron pause NAME`, `/cron resume NAME`, `/cron remove NAME`, `/cron run NAME`',
].join('\n')

export const cronRow = (parts: CronParts): CommandRow => ({
  names: ['cron'],
  takes: '[ACTION]',
  about: 'List jobs, or: add NAME | SCHEDULE | INSTRUCTION; pause, resume, remove or run NAME.',
  answer: ({ author, rest, place }) => run(parts, author, rest, place),
})

async function run(parts: CronParts, author: Author, rest: string, place: Place | null): Promise<string> {
  const [, verb = '', what = ''] = /^(\S*)\s*([\s\S]*)$/.exec(rest) ?? []
  if (verb === '' || (verb === 'list' && what === '')) return listOf(parts, author)
  const change = changes[verb.toLowerCase() as keyof typeof changes]
  if (!Object.hasOwn(changes, verb.toLowerCase()) || what === '') return `Usage:\n${how}`
  if (!author.owner) return 'Only the owner of this gateway can change jobs.'
  return change(parts, what, place)
}

const changes = {
  async add({ jobs, time }, what, place) {
    const [name = '', schedule = '', ...instruction] = what.split('|')
    // The instruction itself may contain "|".
    const given = { name: name.trim(), schedule: schedule.trim(), instruction: instruction.join('|').trim() }
    if (Object.values(given).includes('')) return `Usage:\n${how}`
    // A job added in this conversation answers in this conversation.
    const channel = place && placeName(place)
    return answerFor(await jobs.add({ ...given, channel }), job =>
      [
        `Added: ${job.name}, ${job.words}. ${job.next.length === 1 ? 'It runs once:' : 'The next runs:'}`,
        ...job.next.map(at => `- ${time(at)}`),
        '',
        answersGo(job),
      ].join('\n'),
    )
  },
  pause: async ({ jobs }, name) => answerFor(await jobs.pause(name, true), job => `Paused: ${job.name}.`),
  resume: async ({ jobs, time }, name) =>
    answerFor(await jobs.pause(name, false), job => `Resumed: ${job.name}. Next run: ${nextOf(job, time)}.`),
  remove: async ({ jobs }, name) => answerFor(await jobs.remove(name), job => `Removed: ${job.name}, ${job.words}.`),
  run: async ({ jobs }, name) => answerFor(await jobs.run(name), job => `Started: ${job.name}. ${answersGo(job)}`),
} as const satisfies Record<string, (parts: CronParts, what: string, place: Place | null) => Promise<string>>

const answerFor = (change: JobChange, describe: (job: JobView) => string): string =>
  change.ok ? describe(change.job) : `Not done. ${change.why}`

const nextOf = ({ paused, next: [first] }: JobView, time: CronParts['time']): string =>
  paused ? 'paused' : first === undefined ? 'never' : time(first)

/** A longer list would flood the chat. */
const listed = 40

async function listOf({ jobs, time }: CronParts, { owner }: Author): Promise<string> {
  const { jobs: all, troubles } = await jobs.list()
  const lines = all.map(job => `- ${job.name}: ${job.words}; ${job.paused ? 'paused' : `next ${nextOf(job, time)}`}`)
  const wrong = troubles.map(({ file, name, why }) => `- ${name === '' ? file : `${name} in ${file}`}: ${why}`)
  const more = lines.length - listed
  return [
    ...(lines.length === 0 ? ['There are no jobs.'] : lines.slice(0, listed)),
    ...(more > 0 ? [`- and ${more} more${owner ? '; `npx aetheel cron list` shows them all' : ''}`] : []),
    ...(owner && wrong.length > 0 ? ['', '**Invalid jobs**', ...new Set(wrong)] : []),
    ...(owner && lines.length === 0 ? ['', how] : []),
  ].join('\n')
}
