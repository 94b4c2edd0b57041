// The section "Cron Jobs" of agents.md.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readCronJobs } from './cron-file.ts'

const plain = { kind: 'cron', zone: null, channel: null, model: null, missed: 'once', paused: false, skipIf: null }

test('expressions, words and single times are read; the rest of the file is not', async () => {
  const markdown = `# Agents

### not-here
Cron: 0 9 * * *
Instruction: x

## Cron Jobs

What happens when:

### morning-briefing
Cron: 0 9 * * 1-5
Timezone: America/New_York
Missed: skip
Instruction: Tell me
what is on today.

### backup
Cron: \`*/15 * * * *\`
Skip-if-unchanged: command git log -1
Instruction: Back up.

### look
- **Cron:** every Monday and Thursday at 8:00 PM
- **Instruction:** Look.

### call
At: 2026-11-17 09:00
Instruction: Remind me.

## Hooks
### startup
Instruction: x
`
  expect(await readCronJobs(markdown)).toEqual({
    jobs: [
      {
        ...plain,
        name: 'morning-briefing',
        when: { type: 'cron', expression: '0 9 * * 1-5' },
        instruction: 'Tell me\nwhat is on today.',
        zone: 'America/New_York',
        missed: 'skip',
      },
      {
        ...plain,
        name: 'backup',
        when: { type: 'cron', expression: '*/15 * * * *' },
        instruction: 'Back up.',
        skipIf: { type: 'command', command: 'git log -1' },
      },
      { ...plain, name: 'look', when: { type: 'cron', expression: '0 20 * * 1,4' }, instruction: 'Look.' },
      { ...plain, name: 'call', when: { type: 'once', at: '2026-11-17 09:00' }, instruction: 'Remind me.' },
    ],
    troubles: [],
  })
})

test.each([
  ['Instruction: x', 'Cron: 0 9 * * 1'],
  ['Cron: 0 9 * * *\nAt: 2026-11-17 09:00\nInstruction: x', 'Keep one'],
  ['At: every day at 9:00\nInstruction: x', 'At: 2026-11-17 09:00'],
  ['Cron: 0 9 * * *', 'Instruction: …'],
  ['Cron: whenever\nInstruction: x', 'every Monday at 8:00'],
])('not usable: %j', async (body, hint) => {
  const { jobs, troubles } = await readCronJobs(
    `## Cron Jobs\n### bad\n${body}\n### good\nCron: @daily\nInstruction: b\n`,
  )
  expect(jobs.map(job => job.name)).toEqual(['good'])
  expect(troubles).toEqual([{ file: 'agents.md', name: 'bad', why: expect.stringContaining(hint) }])
})

const names = fc.stringMatching(/^[a-z][a-z0-9-]{0,20}$/)
const instructions = fc.stringMatching(/^[A-Z][a-z ,.!?]{0,40}[a-z.](\n- [a-z ]{1,20}[a-z]){0,2}$/)
const number = (min: number, max: number) => fc.integer({ min, max }).map(String)
const field = (min: number, max: number) =>
  fc.oneof(fc.constant('*'), number(min, max), fc.constant(`${min}-${max}`), fc.constant('*/2'))
const right = fc
  .tuple(field(0, 59), field(0, 23), field(1, 28), field(1, 12), fc.oneof(field(0, 6), fc.constant('MON-FRI')))
  .map(all => all.join(' '))
const wrong = fc.oneof(
  fc.constantFrom(
    '',
    '* * * *',
    '0 0 0 9 * * *',
    '5-1 * * * *',
    '*/0 * * * *',
    '1,,2 * * * *',
    'a b c d e',
    '0 9 30 2 *',
    '@never',
    '0 9 * * 1 ; rm',
  ),
  fc
    .tuple(fc.constantFrom(0, 1, 2, 3, 4), fc.integer({ min: 60, max: 999 }))
    .map(([at, value]) => ['*', '*', '*', '*', '*'].with(at, String(value)).join(' ')),
)
const jobs = (cron: fc.Arbitrary<string>) =>
  fc.uniqueArray(fc.record({ name: names, cron, instruction: instructions }), {
    selector: job => job.name,
    maxLength: 6,
  })
const written = (all: readonly { name: string; cron: string; instruction: string }[]) =>
  all.map(({ name, cron, instruction }) => `### ${name}\nCron: ${cron}\nInstruction: ${instruction}\n`).join('\n')

// Feature: discord-claude-gateway, Property 24: Cron job config parsing
test('P24: jobs are read as they are written', async () => {
  await fc.assert(
    fc.asyncProperty(jobs(right), async all => {
      const { jobs, troubles } = await readCronJobs(`# Agents\n\nText.\n\n## Cron Jobs\n\n${written(all)}\n## Hooks\n`)
      expect(troubles).toEqual([])
      expect(jobs).toEqual(
        all.map(({ name, cron, instruction }) => ({
          ...plain,
          name,
          instruction,
          when: { type: 'cron', expression: cron },
        })),
      )
    }),
  )
})

// Feature: discord-claude-gateway, Property 25: Invalid cron expression rejection
test('P25: a bad expression is skipped and its job named, and the others stay', async () => {
  const mixed = jobs(
    fc.oneof(
      right,
      wrong.map(text => `!${text}`),
    ),
  )
  await fc.assert(
    fc.asyncProperty(mixed, async all => {
      const { jobs, troubles } = await readCronJobs(
        `## Cron Jobs\n${written(all.map(job => ({ ...job, cron: job.cron.replace('!', '') })))}`,
      )
      const isBad = (job: { cron: string }) => job.cron.startsWith('!')
      expect(jobs.map(job => job.name)).toEqual(all.filter(job => !isBad(job)).map(job => job.name))
      expect(troubles.map(trouble => trouble.name)).toEqual(all.filter(isBad).map(job => job.name))
    }),
  )
})

test('a thousand jobs are read, and those beyond are named as problems', async () => {
  const written = (n: number) =>
    `## Cron Jobs\n\n${Array.from({ length: n }, (_, i) => `### job-${i}\nCron: 0 9 * * 1\nInstruction: x\n`).join('\n')}`
  const all = await readCronJobs(written(1000))
  expect([all.jobs.length, all.troubles]).toEqual([1000, []])
  const some = await readCronJobs(written(1003))
  expect(some.jobs).toHaveLength(1000)
  expect(some.troubles.map(({ name }) => name)).toEqual(['job-1000', 'job-1001', 'job-1002'])
  expect(some.troubles[0]?.why).toContain('never runs')
  const many = await readCronJobs(written(1250))
  expect(many.troubles).toHaveLength(101)
  expect(many.troubles.at(-1)).toMatchObject({ name: '', why: expect.stringContaining('150 others') })
})
