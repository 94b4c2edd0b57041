// Adding, removing and pausing jobs by editing the files, without changing anything else.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Job, JobKind, NewJob } from '../base/jobs.ts'
import { readCronJobs } from './cron-file.ts'
import { jobFrom, withJob, withoutJob, withPaused } from './edit.ts'
import { readHeartbeats } from './heartbeat-file.ts'

const read = (kind: JobKind, markdown: string) => (kind === 'cron' ? readCronJobs(markdown) : readHeartbeats(markdown))

const hostile = [
  '## evil',
  '### evil',
  'Cron: * * * * *',
  'Paused: yes',
  '```',
  '~~~',
  '<!--',
  '\\## x',
  '- Instruction: y',
  'text',
  '',
]
const lines = fc.oneof(fc.constantFrom(...hostile), fc.string({ unit: 'grapheme', maxLength: 12 }))
const instruction = fc.array(lines, { minLength: 1, maxLength: 6 }).map(all => `Do ${all.join('\n')}`)
const schedule = fc.constantFrom(
  'every 30 minutes',
  'every morning (9:00 AM)',
  '0 9 1,15 * *',
  'at 2026-11-17 09:00',
  '@hourly',
  'every 61 seconds',
)
const asked: fc.Arbitrary<NewJob> = fc.record({
  name: fc.oneof(
    fc.constantFrom('old', 'Every hour', 'evil'),
    fc.stringMatching(/^[A-Za-z0-9_é][A-Za-z0-9 _-]{0,20}[a-z]$/),
  ),
  schedule,
  instruction,
  zone: fc.constantFrom(null, 'Europe/Berlin', 'UTC'),
  channel: fc.constantFrom(null, 'discord:123'),
  model: fc.constantFrom(null, 'claude/haiku'),
  missed: fc.constantFrom('skip' as const, 'once' as const),
  skipIf: fc.constantFrom(null, 'file notes/a b.md', 'url https://example.org/?a=b#c', 'command git log -1 | head'),
})
const files = fc
  .array(
    fc.oneof(
      lines,
      fc.constantFrom(
        '# Title',
        '## Cron Jobs',
        '## Every hour',
        '- a task',
        '### old',
        'Interval: 90',
        'Cron: @daily',
        'Instruction: b',
      ),
    ),
    { maxLength: 12 },
  )
  .chain(all => fc.constantFrom('\n', '\r\n').map(end => all.join(end)))

async function made(given: NewJob): Promise<Job> {
  const read = await jobFrom(given)
  if (!read.ok) throw new Error(read.why)
  return read.job
}

test('a job that was added is read back, paused and removed again, whatever the file and the job contain', async () => {
  await fc.assert(
    fc.asyncProperty(files, asked, fc.boolean(), async (markdown, wanted, moved) => {
      const first = await made(wanted)
      // agents.md may have intervals too, and heartbeat.md every kind of schedule.
      const job: Job = moved ? { ...first, kind: first.kind === 'cron' ? 'heartbeat' : 'cron' } : first
      const others = (text: string) =>
        read(job.kind, text).then(({ jobs }) =>
          jobs.map(({ name }) => name).filter(name => name.toLowerCase() !== job.name.toLowerCase()),
        )
      const before = await others(markdown)
      const added = withJob(markdown, job)
      expect((await read(job.kind, added)).jobs).toContainEqual(job)
      expect(await others(added)).toEqual(before)
      const paused = withPaused(added, job.kind, job.name, true)
      expect((await read(job.kind, paused)).jobs).toContainEqual({ ...job, paused: true })
      expect(withPaused(paused, job.kind, job.name.toUpperCase(), false)).toBe(added)
      expect(withJob(added, job)).toBe(added)
      const gone = withoutJob(paused, job.kind, job.name)
      expect((await read(job.kind, gone)).jobs.map(({ name }) => name)).toEqual(before)
    }),
    { numRuns: 500 },
  )
})

test('a job whose heading is its schedule is paused and removed like any other', async () => {
  const markdown =
    '# Heartbeat Tasks\r\n\r\n## Every morning (9:00 AM)\r\n\r\n- a\r\n- b\r\n\r\n## Every hour\r\n- c\r\n'
  const name = 'every morning (9:00 am)'
  const paused = withPaused(markdown, 'heartbeat', name, true)
  expect(paused).toBe(markdown.replace('AM)\r\n', 'AM)\r\nPaused: yes\r\n'))
  expect((await readHeartbeats(paused)).jobs).toMatchObject([
    { name, paused: true, instruction: '- a\n- b' },
    { paused: false },
  ])
  expect(withPaused(paused, 'heartbeat', name, false)).toBe(markdown)
  expect(withoutJob(markdown, 'heartbeat', name)).toBe('# Heartbeat Tasks\r\n\r\n## Every hour\r\n- c\r\n')
})

test('an edit changes only its own line', () => {
  const markdown = '## Cron Jobs\n### a\n  - **Paused:** no\nCron:  @daily\nInstruction:   x'
  expect(withPaused(markdown, 'cron', 'a', true)).toBe(
    '## Cron Jobs\n### a\nPaused: yes\nCron:  @daily\nInstruction:   x',
  )
  expect(withPaused(markdown, 'cron', 'a', false)).toBe('## Cron Jobs\n### a\nCron:  @daily\nInstruction:   x')
  expect(withPaused(markdown, 'cron', 'b', true)).toBe(markdown)
  expect(withoutJob(markdown, 'heartbeat', 'a')).toBe(markdown)
})

test('a job looks like one that a person would write', async () => {
  const job = await made({ name: 'inbox', schedule: 'every 30 minutes', instruction: 'Look.', channel: 'discord:1' })
  expect(withJob('', job)).toBe('## inbox\nInterval: 1800\nChannel: discord:1\nInstruction: Look.\n')
  const briefing = await made({
    name: 'briefing',
    schedule: 'every morning (9:00 AM)',
    instruction: '- a\n- b',
    missed: 'skip',
  })
  expect(withJob('# Agents\n', briefing)).toBe(
    '# Agents\n\n## Cron Jobs\n\n### briefing\nCron: 0 9 * * *\nMissed: skip\nInstruction:\n- a\n- b\n',
  )
})

describe('what is asked for', () => {
  const wanted: NewJob = { name: 'n', schedule: 'every hour', instruction: 'x' }

  test('is a heartbeat if it is a length of time, else a cron job', async () => {
    expect(await jobFrom(wanted)).toMatchObject({ ok: true, job: { kind: 'heartbeat', missed: 'skip', paused: false } })
    expect(await jobFrom({ ...wanted, schedule: '@daily' })).toMatchObject({
      ok: true,
      job: { kind: 'cron', missed: 'once' },
    })
  })

  test.each<[Partial<NewJob>, string]>([
    [{ name: '' }, '1 to 60 letters'],
    [{ name: 'a\nb' }, '1 to 60 letters'],
    [{ name: '# a' }, '1 to 60 letters'],
    [{ name: 'a\u202eb' }, '1 to 60 letters'],
    [{ name: 'a'.repeat(61) }, '1 to 60 letters'],
    [{ schedule: 'every morning' }, 'every morning (9:00 AM)'],
    [{ instruction: ' \n ' }, 'no instruction'],
    [{ instruction: 'x'.repeat(10_001) }, '10000 characters'],
    [{ zone: 'Nowhere' }, 'no time zone'],
    [{ channel: 'discord:1\nModel: x' }, 'one line'],
    [{ skipIf: 'file ../x' }, 'relative path'],
  ])('is refused in plain words: %j', async (given, why) => {
    expect(await jobFrom({ ...wanted, ...given })).toEqual({ ok: false, why: expect.stringContaining(why) })
  })
})
