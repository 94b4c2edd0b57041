// Reads heartbeat.md: recurring checks. Either `Interval:` and `Instruction:`, or a heading that is a schedule with a list of tasks.
import { type Entry, type EntryShape, readEntries } from '../base/entries.ts'
import type { Job, JobTrouble } from '../base/jobs.ts'
import { bad, type Checked, jobOf, optionalKeys, readInstruction, readJobs, readOptional } from './fields.ts'
import { readInterval, readSchedule, type ScheduleRead } from './schedule.ts'

const single = ['interval', 'schedule', ...optionalKeys]
export const heartbeatShape: EntryShape = { section: null, keys: [...single, 'instruction'], single }

export const readHeartbeats = (
  markdown: string,
): Promise<{ readonly jobs: readonly Job[]; readonly troubles: readonly JobTrouble[] }> =>
  readJobs('heartbeat.md', readEntries(markdown, heartbeatShape), readHeartbeat)

async function readHeartbeat({ name, fields, text }: Entry): Promise<Checked<Job>> {
  const interval = fields.get('interval')
  const schedule = fields.get('schedule')
  if (interval !== undefined && schedule !== undefined)
    return bad('It has an Interval and a Schedule. Keep one of them.')
  const inHeading = interval === undefined && schedule === undefined
  const when = inHeading ? await readHeading(name, fields) : await readField(interval, schedule ?? '')
  if (!when.ok) return when
  return jobOf(
    'heartbeat',
    inHeading ? name.toLowerCase() : name,
    when.when,
    readInstruction(fields.get('instruction') ?? text),
    readOptional('heartbeat', key => fields.get(key)),
  )
}

async function readHeading(name: string, fields: Entry['fields']): Promise<ScheduleRead> {
  const when = await readSchedule(name)
  if (when.ok || /^(?:every|at|on)\b|^[@\d*]/i.test(name)) return when
  if (fields.has('instruction'))
    return bad('It does not say how often. Add a line "Interval: 1800" (seconds) or "Schedule: every 30 minutes".')
  return bad(
    'It is neither a check nor a schedule. Add the lines "Interval: 1800" and "Instruction: …", or write a heading such as ' +
      '"## Every 30 minutes" or "## Every morning (9:00 AM)" with a list of tasks below it.',
  )
}

async function readField(interval: string | undefined, schedule: string): Promise<ScheduleRead> {
  if (interval === undefined) return readSchedule(schedule)
  if (/^\d{1,12}$/.test(interval)) return readInterval(Number(interval))
  const when = await readSchedule(`every ${interval}`)
  if (when.ok && when.when.type === 'every') return when
  return bad('Interval is a number of seconds, such as "Interval: 1800". For words write "Schedule: every 30 minutes".')
}
