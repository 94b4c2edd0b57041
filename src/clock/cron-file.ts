// Reads the section "Cron Jobs" of agents.md: jobs that run at set times.
import { type Entry, type EntryShape, readEntries } from '../base/entries.ts'
import type { Job, JobTrouble } from '../base/jobs.ts'
import { bad, type Checked, jobOf, optionalKeys, readInstruction, readJobs, readOptional } from './fields.ts'
import { readSchedule, type ScheduleRead } from './schedule.ts'

const single = ['cron', 'at', ...optionalKeys]
export const cronShape: EntryShape = { section: 'Cron Jobs', keys: [...single, 'instruction'], single }

export const readCronJobs = (
  agentsMarkdown: string,
): Promise<{ readonly jobs: readonly Job[]; readonly troubles: readonly JobTrouble[] }> =>
  readJobs('agents.md', readEntries(agentsMarkdown, cronShape), readCronJob)

async function readCronJob({ name, fields, text }: Entry): Promise<Checked<Job>> {
  const when = await readWhen(fields.get('cron'), fields.get('at'))
  if (!when.ok) return when
  return jobOf(
    'cron',
    name,
    when.when,
    readInstruction(fields.get('instruction') ?? text),
    readOptional('cron', key => fields.get(key)),
  )
}

async function readWhen(cron: string | undefined, at: string | undefined): Promise<ScheduleRead> {
  if (cron !== undefined && at !== undefined) return bad('It has a Cron and an At. Keep one of them.')
  if (cron !== undefined) return readSchedule(unquoted(cron))
  if (at === undefined) return bad('It does not say when. Add a line "Cron: 0 9 * * 1" or "At: 2026-11-17 09:00".')
  const when = await readSchedule(unquoted(at))
  if (when.ok && when.when.type === 'once') return when
  return bad('At is one date and time, such as "At: 2026-11-17 09:00". For a repeating job write "Cron: 0 9 * * 1".')
}

/** In markdown the asterisks of an expression are often put between backticks. */
const unquoted = (text: string) => text.replace(/^(`|")([^`"]*)\1$/, '$2')
