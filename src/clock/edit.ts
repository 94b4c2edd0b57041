// Changes of the schedule files: a job put in, taken out or paused, and nothing else touched.
import { type EntryShape, printEntry, withEntry, withField } from '../base/entries.ts'
import type { Job, JobKind, NewJob } from '../base/jobs.ts'
import { cronShape } from './cron-file.ts'
import { jobOf, printOptional, readInstruction, readOptional } from './fields.ts'
import { heartbeatShape } from './heartbeat-file.ts'
import { quoted } from './seen.ts'
import { readSchedule, wordsFor } from './words.ts'

/** In place of the one of its name, else at the end of the file or section. */
export function withJob(markdown: string, job: Job): string {
  const fields = { ...printWhen(job), ...printOptional(job), Instruction: job.instruction }
  return withEntry(markdown, shapes[job.kind], job.name, printEntry(shapes[job.kind], job.name, fields))
}

export const withoutJob = (markdown: string, kind: JobKind, name: string): string =>
  withEntry(markdown, shapes[kind], name, null)

export const withPaused = (markdown: string, kind: JobKind, name: string, paused: boolean): string =>
  withField(markdown, shapes[kind], name, 'Paused', paused ? 'yes' : null)

/** What somebody asked for, checked. A length of time makes a heartbeat, everything else a cron job. */
export async function jobFrom(
  asked: NewJob,
): Promise<{ readonly ok: true; readonly job: Job } | { readonly ok: false; readonly why: string }> {
  const name = asked.name.trim()
  if (!/^[\p{L}\p{M}\p{N} _-]{1,60}$/u.test(name)) {
    return { ok: false, why: `"${quoted(name)}" is no name for a job: use 1 to 60 letters, digits, blanks, - and _.` }
  }
  const schedule = await readSchedule(asked.schedule)
  if (!schedule.ok) return schedule
  const kind = schedule.when.type === 'every' ? 'heartbeat' : 'cron'
  const given: Readonly<Record<string, string | null | undefined>> = {
    timezone: asked.zone,
    channel: asked.channel,
    model: asked.model,
    missed: asked.missed,
    'skip-if-unchanged': asked.skipIf,
  }
  const optional = readOptional(kind, key => given[key])
  const job = jobOf(kind, name, schedule.when, readInstruction(asked.instruction), optional)
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
