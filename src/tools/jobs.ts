// Tools for jobs: the agent schedules work, written to the same files that people edit.

import { placeName } from '../base/event.ts'
import type { JobChange, Jobs, JobTrouble, JobView } from '../base/jobs.ts'
import type { Tool, ToolAnswer } from '../base/tools.ts'
import { done, excerpt, lines, refused, tool } from './tool.ts'

/** Formats a time in this zone; null for the gateway's own. */
export type FormatTime = (ms: number, zone: string | null) => string

export function jobTools(jobs: Jobs, format: FormatTime): readonly Tool[] {
  const next = ({ next, zone }: JobView) => next.map(ms => format(ms, zone)).join('; ')
  const answer = (change: JobChange, words: (job: JobView) => string): ToolAnswer =>
    change.ok ? done(words(change.job)) : refused(`${change.why} Nothing was changed.`)
  const line = (job: JobView) => {
    const when = job.paused ? `${job.words}, paused` : `${job.words}, next ${next(job) || 'never'}`
    return `- ${job.name} (${job.kind}): ${when}${job.channel ? `, to ${job.channel}` : ''}: ${excerpt(job.instruction, 160)}`
  }
  const name = { type: 'string', about: 'as list_jobs shows it', required: true } as const

  return [
    tool({
      name: 'schedule_job',
      about: 'Schedules a job of yours, repeating or once.',
      takes: {
        name: { type: 'string', about: 'short and unique', required: true },
        schedule: {
          type: 'string',
          about:
            '"every 30 minutes", "every Monday at 8:00"; once: "in 20 minutes", "tomorrow at 9:00", "at 2026-11-17 09:00"; or a cron expression',
          required: true,
        },
        instruction: { type: 'string', about: 'self-contained', required: true },
        channel: { type: 'string', about: 'default: this conversation' },
        timezone: { type: 'string', about: 'such as Europe/Berlin' },
        skip_if_unchanged: {
          type: 'string',
          about: '"file PATH", "url ADDRESS" or "command LINE": skipped while unchanged',
        },
      },
      ownerOnly: true,
      async call(args, caller) {
        const { place } = caller
        const here = place && placeName(place)
        const wanted = {
          ...{ name: args.name, schedule: args.schedule, instruction: args.instruction },
          ...{ channel: args.channel ?? here, zone: args.timezone ?? null, skipIf: args.skip_if_unchanged ?? null },
        }
        const change = await jobs.add(wanted, caller)
        return answer(change, job => `${job.name} runs ${job.words}. The next runs: ${next(job) || 'none'}.`)
      },
    }),
    tool({
      name: 'list_jobs',
      about: 'Your jobs and when they run next.',
      takes: { query: { type: 'string', about: 'words' } },
      readOnly: true,
      async call({ query = '' }) {
        const { jobs: all, troubles } = await jobs.list()
        const found = all.filter(job => has(job, query))
        const shown = soonest(found, jobsShown)
        const bad = query === '' ? troubles : []
        return lines(query === '' ? 'There are no jobs.' : 'No job contains these words.', [
          ...shown.map(line),
          ...andMore(found.length - shown.length, 'other jobs; use a query to see them'),
          ...bad.slice(0, troublesShown).map(trouble),
          ...andMore(bad.length - troublesShown, 'others that cannot be used'),
        ])
      },
    }),
    tool({
      name: 'remove_job',
      about: 'Removes a job.',
      takes: { name },
      ownerOnly: true,
      call: async (args, caller) => answer(await jobs.remove(args.name, caller), job => `${job.name} is removed.`),
    }),
    tool({
      name: 'pause_job',
      about: 'Pauses or resumes a job.',
      takes: { name, paused: { type: 'boolean', about: 'default true' } },
      ownerOnly: true,
      call: async (args, caller) =>
        answer(await jobs.pause(args.name, args.paused ?? true, caller), job =>
          job.paused ? `${job.name} is paused.` : `${job.name} is resumed. The next runs: ${next(job) || 'none'}.`,
        ),
    }),
  ]
}

const jobsShown = 30
const troublesShown = 10

const trouble = ({ file, name, why }: JobTrouble): string =>
  `- ${name === '' ? file : `${name} in ${file}`} cannot be used: ${excerpt(why, 300)}`

const has = ({ name, instruction }: JobView, query: string): boolean => {
  const text = `${name}\n${instruction}`.toLowerCase()
  return query
    .toLowerCase()
    .split(/\s+/)
    .every(word => text.includes(word))
}

/** All jobs in the order of their files, or if there are too many, those that run next. */
const soonest = (jobs: readonly JobView[], most: number): readonly JobView[] =>
  jobs.length <= most ? jobs : jobs.toSorted((a, b) => dueOf(a) - dueOf(b)).slice(0, most)

const dueOf = ({ paused, next: [first = Number.MAX_VALUE] }: JobView): number => (paused ? Number.MAX_VALUE : first)

const andMore = (count: number, what: string): readonly string[] => (count > 0 ? [`- and ${count} ${what}`] : [])
