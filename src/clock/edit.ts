// Edits the schedule files: adds, removes or pauses a job, and changes nothing else.
import { type EntryShape, printEntry, withEntry, withField } from '../base/entries.ts'
import type { Job, JobKind, NewJob } from '../base/jobs.ts'
import { cronShape } from './cron-file.ts'
import { jobOf, printOptional, quoted, readInstruction, readOptional } from './fields.ts'
import { heartbeatShape } from './heartbeat-file.ts'
import { readSchedule, wordsFor } from './schedule.ts'

/** Replaces the entry of the same name, or appends to the file or section. */
export function withJob(markdown: string, job: Job): string {
  const fields = { ...printWhen(job), ...printOptional(job), Instruction: job.instruction }
  return withEntry(markdown, shapes[job.kind], job.name, printEntry(shapes[job.kind], job.name, fields))
}

export const withoutJob = (markdown: string, kind: JobKind, name: string): string =>
  withEntry(markdown, shapes[kind], name, null)

export const withPaused = (markdown: string, kind: JobKind, name: string, paused: boolean): string =>
  withField(markdown, shapes[kind], name, 'Paused', paused ? 'yes' : null)

/** Validates a requested job. An interval makes a heartbeat, everything else a cron job. */
export async function jobFrom(
  wanted: NewJob,
): Promise<{ readonly ok: true; readonly job: Job } | { readonly ok: false; readonly why: string }> {
  const name = wanted.name.trim()
  if (!/^[\p{L}\p{M}\p{N} _-]{1,60}$/u.test(name)) {
    return {
      ok: false,
      why: `"${quoted(name)}" is not a valid job name: use 1 to 60 letters, digits, spaces, - and _.`,
    }
  }
  const schedule = await readSchedule(wanted.schedule)
  if (!schedule.ok) return schedule
  const kind = schedule.when.type === 'every' ? 'heartbeat' : 'cron'
  const given: Readonly<Record<string, string | null | undefined>> = {
    timezone: wanted.zone,
    channel: wanted.channel,
    model: wanted.model,
    missed: wanted.missed,
    'skip-if-unchanged': wanted.skipIf,
  }
  const optional = readOptional(kind, key => given[key])
  const job = jobOf(kind, name, schedule.when, readInstruction(wanted.instruction), optional)
  return job.ok ? { ok: true, job: job.value } : job
}

const shapes: Readonly<Record<JobKind, EntryShape>> = { heartbeat: heartbeatShape, cron: cronShape }

function printWhen({ kind, when }: Job): Readonly<Record<string, string>> {
  if (kind === 'heartbeat') {
    return when.type === 'every' ? { Interval: String(when.seconds) } : { Schedule: wordsFor(when) }
  }
  if (when.type === 'once') return { At: when.at }
  return { Cron: when.type === 'cron' ? when.expression : wordsFor(when) }
}
