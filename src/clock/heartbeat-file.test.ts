// heartbeat.md: both forms, the optional fields, and entries that cannot be used beside others that can.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { worseThanLinear } from '../../test/harness/growth.ts'
import { readHeartbeats } from './heartbeat-file.ts'
import { wordsFor } from './schedule.ts'

const plain = { kind: 'heartbeat', zone: null, channel: null, model: null, missed: 'skip', paused: false, skipIf: null }

test('both spellings can be mixed', async () => {
  const markdown = `# Heartbeat Tasks

Tasks that run periodically. Each section is a task prompt.

## check-email
Interval: 1800
Instruction: Look at the inbox.
Tell me what is urgent.

## Every 30 minutes
- Check if any scheduled reminders need attention
- Review recent session logs for anything worth remembering

## Every morning (9:00 AM)
- Summarize yesterday's conversations

## weekly-look
Schedule: every Monday at 8:00
Instruction: Look back.
`
  expect(await readHeartbeats(markdown)).toEqual({
    jobs: [
      {
        ...plain,
        name: 'check-email',
        when: { type: 'every', seconds: 1800 },
        instruction: 'Look at the inbox.\nTell me what is urgent.',
      },
      {
        ...plain,
        name: 'every 30 minutes',
        when: { type: 'every', seconds: 1800 },
        instruction:
          '- Check if any scheduled reminders need attention\n- Review recent session logs for anything worth remembering',
      },
      {
        ...plain,
        name: 'every morning (9:00 am)',
        when: { type: 'cron', expression: '0 9 * * *' },
        instruction: "- Summarize yesterday's conversations",
      },
      { ...plain, name: 'weekly-look', when: { type: 'cron', expression: '0 8 * * 1' }, instruction: 'Look back.' },
    ],
    troubles: [],
  })
})

test('every optional field is read, before or after the tasks', async () => {
  const fields =
    'Timezone: Europe/Berlin\nChannel: discord:123\nModel: claude/haiku\nMissed: once\nPaused: yes\nSkip-if-unchanged: file notes/today.md\n'
  const expected = {
    zone: 'Europe/Berlin',
    channel: 'discord:123',
    model: 'claude/haiku',
    missed: 'once',
    paused: true,
    skipIf: { type: 'file', path: 'notes/today.md' },
  }
  const { jobs, troubles } = await readHeartbeats(
    `## Every hour\n${fields}- a task\n- and another\n\n## Every day\n- a task\n- and another\n${fields}\n## x\n${fields}Interval: 90\nInstruction: - a task\n- and another\n`,
  )
  expect(troubles).toEqual([])
  expect(jobs).toHaveLength(3)
  for (const job of jobs) expect(job).toMatchObject({ ...expected, instruction: '- a task\n- and another' })
})

test.each([
  ['Interval: 59\nInstruction: x', 'the minimum interval is 60 seconds'],
  ['Interval: soon\nInstruction: x', 'Interval: 1800'],
  ['Interval: -5\nInstruction: x', 'Interval: 1800'],
  ['Interval: 1800\nSchedule: every hour\nInstruction: x', 'Keep one'],
  ['Schedule: every morning\nInstruction: x', 'every morning (9:00 AM)'],
  ['Instruction: x', 'Interval: 1800'],
  ['Some notes.', '## Every 30 minutes'],
  ['Interval: 1800', 'Instruction: …'],
  ['Interval: 1800\nInstruction:', 'Instruction: …'],
  ['Interval: 1800\nInstruction: x\nTimezone: Mars/Olympus', 'Europe/Berlin'],
  ['Interval: 1800\nInstruction: x\nMissed: twice', 'skip or once'],
  ['Interval: 1800\nInstruction: x\nPaused: maybe', 'yes or no'],
  ['Interval: 1800\nInstruction: x\nSkip-if-unchanged: file ../secret', 'relative path'],
  ['Interval: 1800\nInstruction: x\nSkip-if-unchanged: file /etc/passwd', 'relative path'],
  ['Interval: 1800\nInstruction: x\nSkip-if-unchanged: file a\\..\\..\\b', 'relative path'],
  ['Interval: 1800\nInstruction: x\nSkip-if-unchanged: url file:///etc/passwd', 'http://'],
  ['Interval: 1800\nInstruction: x\nSkip-if-unchanged: notes.md', 'file notes.md'],
  ['Interval: 1800\nInstruction: x\nChannel: a\u202eb', 'visible'],
])('not usable: %j; the others still apply', async (body, hint) => {
  const { jobs, troubles } = await readHeartbeats(
    `## Every 5 minutes\n- a\n\n## bad\n${body}\n\n## good\nInterval: 60\nInstruction: b\n`,
  )
  expect(jobs.map(job => job.name)).toEqual(['every 5 minutes', 'good'])
  expect(troubles).toEqual([{ file: 'heartbeat.md', name: 'bad', why: expect.stringContaining(hint) }])
})

test('a heading that is nearly a schedule says what is missing', async () => {
  const { jobs, troubles } = await readHeartbeats('## Every morning\n- a\n')
  expect(jobs).toEqual([])
  expect(troubles).toMatchObject([{ name: 'Every morning', why: expect.stringContaining('every morning (9:00 AM)') }])
})

test('if two have the same name the first is used, even if it is invalid', async () => {
  const wrong = await readHeartbeats('## a\nInterval: 1\nInstruction: x\n## a\nInterval: 60\nInstruction: x\n')
  expect(wrong).toMatchObject({ jobs: [], troubles: [{ name: 'a' }, { name: 'a' }] })
  const { jobs, troubles } = await readHeartbeats('## Every hour\n- a\n\n## every HOUR\n- b\n')
  expect(jobs).toMatchObject([{ name: 'every hour', instruction: '- a' }])
  expect(troubles).toMatchObject([{ name: 'every HOUR', why: expect.stringContaining('another name') }])
})

const names = fc.stringMatching(/^[a-z][a-z0-9-]{0,20}$/)
const instructions = fc.stringMatching(/^[A-Z][a-z ,.!?]{0,40}[a-z.](\n- [a-z ]{1,20}[a-z]){0,2}$/)
const checks = (least: number, most: number) =>
  fc.uniqueArray(
    fc.record({ name: names, instruction: instructions, interval: fc.integer({ min: least, max: most }) }),
    {
      selector: check => check.name,
      maxLength: 6,
    },
  )
const written = (all: readonly { name: string; instruction: string; interval: number }[]) =>
  all
    .map(({ name, instruction, interval }) => `## ${name}\nInterval: ${interval}\nInstruction: ${instruction}\n`)
    .join('\n')

// Feature: discord-claude-gateway, Property 22: Heartbeat config parsing
test('P22: checks are read as they are written', async () => {
  await fc.assert(
    fc.asyncProperty(checks(60, 31_622_400), fc.boolean(), async (all, windows) => {
      const markdown = `# Heartbeat Tasks\n\n${written(all)}`
      const { jobs, troubles } = await readHeartbeats(windows ? markdown.replaceAll('\n', '\r\n') : markdown)
      expect(troubles).toEqual([])
      expect(jobs).toEqual(
        all.map(({ name, instruction, interval }) => ({
          ...plain,
          name,
          instruction,
          when: { type: 'every', seconds: interval },
        })),
      )
    }),
  )
})

test('P22, by headings: the heading is the schedule and the list is the instruction', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.integer({ min: 60, max: 100_000 }), { maxLength: 6 }),
      instructions,
      async (all, instruction) => {
        const headings = all.map(seconds => wordsFor({ type: 'every', seconds }))
        const { jobs } = await readHeartbeats(
          headings.map(words => `## ${words.toUpperCase()}\n\n${instruction}\n`).join('\n'),
        )
        expect(jobs).toEqual(
          all.map((seconds, at) => ({ ...plain, name: headings[at], instruction, when: { type: 'every', seconds } })),
        )
      },
    ),
  )
})

// Feature: discord-claude-gateway, Property 23: Heartbeat minimum interval enforcement
test('P23: an interval below a minute is refused and named, and the others stay', async () => {
  await fc.assert(
    fc.asyncProperty(checks(0, 119), async all => {
      const { jobs, troubles } = await readHeartbeats(written(all))
      expect(jobs.map(job => job.name)).toEqual(all.filter(check => check.interval >= 60).map(check => check.name))
      expect(troubles.map(trouble => trouble.name)).toEqual(
        all.filter(check => check.interval < 60).map(check => check.name),
      )
      for (const { why } of troubles) expect(why).toContain('minimum interval is 60 seconds')
    }),
  )
})

test('hostile text is parsed quickly, and its invisible characters are not shown', async () => {
  const texts = [
    '## Every hour\n- x\n',
    '## \u202e\u0000\u2066\n',
    '#',
    '## a\nInterval: 1',
    '## a\nSchedule: 0 9 31 2 *\n',
    '```\n## a\n',
    '### x\n',
    'Interval:\n',
  ]
  const read = async (size: number) => {
    for (const text of texts) {
      const { jobs, troubles } = await readHeartbeats(text.repeat(Math.ceil(size / text.length)))
      expect(jobs.length).toBeLessThanOrEqual(1)
      expect(troubles.length).toBeLessThanOrEqual(1101)
      for (const { name, why } of troubles) expect(`${name}${why}`).toMatch(/^[^\p{Cc}\u202e\u2066]*$/u)
    }
  }
  expect(await worseThanLinear(read, 100_000)).toBeNull()
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'grapheme', maxLength: 200 }), async text => {
      await readHeartbeats(`## ${text}\n${text}\nInterval: ${text}\nInstruction: ${text}`)
    }),
  )
})
