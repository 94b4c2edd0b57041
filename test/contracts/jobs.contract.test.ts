// One due time is one event, whatever happens to the clock, the machine, the process and the files.
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import type { EventSink, NewEvent } from '../../src/base/event.ts'
import type { When } from '../../src/base/jobs.ts'
import { nextRuns } from '../../src/clock/due.ts'
import { openLanes } from '../../src/lanes/index.ts'
import { createQueueStore } from '../../src/store/index.ts'
import { beat, cron, cronFile, jobsWorkspace } from '../harness/jobs.ts'

const second = 1000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

// Loaded first, so that the first job of a test does not wait for it.
beforeAll(() => import('croner'))

describe('firing', () => {
  test('a job becomes an event with its own lane, key, place and model override', async () => {
    await using work = await jobsWorkspace('2026-11-16T08:59:00Z')
    await work.write('agents.md', cronFile(cron('briefing', '0 9 * * *', 'Channel: 42', 'Model: codex/gpt-5')))
    await work.write('heartbeat.md', beat('inbox', 60, 'Model: anthropic/claude'))
    await work.start()
    await work.time.pass(minute)
    const byKey = [...work.events].sort((a, b) => a.key.localeCompare(b.key))
    expect(byKey).toEqual([
      {
        key: 'cron:briefing@2026-11-16T09:00:00.000Z',
        lane: 'cron:briefing',
        what: { kind: 'cron', name: 'briefing', instruction: 'Do briefing.' },
        replyTo: { chat: 'test', conversation: '42' },
        source: 'cron',
        modelOverride: { backend: 'codex', model: 'gpt-5' },
      },
      {
        key: 'heartbeat:inbox@2026-11-16T09:00:00.000Z',
        lane: 'heartbeat:inbox',
        what: { kind: 'heartbeat', name: 'inbox', instruction: 'Do inbox.' },
        replyTo: null,
        source: 'heartbeat',
        modelOverride: { backend: null, model: 'anthropic/claude' },
      },
    ])
  })

  test('a year of schedules', async () => {
    await using work = await jobsWorkspace('2026-01-01T00:00:00Z')
    await work.write(
      'agents.md',
      cronFile(
        cron('daily', '30 2 * * *', 'Timezone: Europe/Berlin'),
        cron('weekly', '0 8 * * 1', 'Timezone: America/New_York'),
        cron('monthly', '0 0 1 * *'),
        cron('work', '0 9-17/4 * * 1-5', 'Timezone: Australia/Lord_Howe'),
      ),
    )
    await work.write('heartbeat.md', beat('six-hourly', 6 * 3600))
    await work.start({ lookMs: day })
    const before = process.cpuUsage()
    await work.time.pass(365 * day)
    const { user, system } = process.cpuUsage(before)
    const count = (name: string) => new Set(work.fired(name)).size
    expect(work.bugs).toEqual([])
    expect([count('daily'), count('weekly'), count('monthly')]).toEqual([365, 52, 12])
    expect([count('work'), count('six-hourly')]).toEqual([3 * 261, 4 * 365])
    expect(work.events).toHaveLength(365 + 52 + 12 + 3 * 261 + 4 * 365)
    // About a minute when run alone, twice that in parallel.
    expect((user + system) / 1e6).toBeLessThan(5)
  })

  test('two hundred jobs due in the same minute all fire, and none twice', async () => {
    await using work = await jobsWorkspace('2026-11-16T08:00:30Z', 'a.db')
    const names = Array.from({ length: 200 }, (_, index) => `job-${index}`)
    await work.write('agents.md', cronFile(...names.map(name => cron(name, '*/5 * * * *'))))
    await work.start()
    await work.time.pass(hour)
    expect(work.events).toHaveLength(200 * 12)
    expect(new Set(work.events.map(({ key }) => key)).size).toBe(200 * 12)
  })

  test.each([
    ['changed', cronFile(cron('a', '0 9 * * *', 'Skip-if-unchanged: command look', 'Channel: 7'))],
    ['removed', cronFile(cron('b', '0 0 1 1 *'))],
  ])('a job that was %s during its check does not fire with its old definition', async (_, edited) => {
    await using work = await jobsWorkspace('2026-11-16T08:59:00Z')
    await work.write('agents.md', cronFile(cron('a', '0 9 * * *', 'Skip-if-unchanged: command look')))
    const { jobs } = await work.start({
      async run() {
        await work.write('agents.md', edited)
        await jobs.list()
        return { ok: true, output: 'news' }
      },
    })
    await work.time.pass(5 * minute)
    expect(work.events.filter(({ replyTo }) => replyTo === null)).toEqual([])
  })

  test('a refused due time is retried a minute later, unless a newer one is due', async () => {
    await using work = await jobsWorkspace('2026-11-16T08:59:00Z')
    await work.write('agents.md', cronFile(cron('a', '0 * * * *', 'Missed: skip')))
    let refusals = 3
    const tried: string[] = []
    const sink: EventSink = async event => {
      tried.push(`${new Date(work.time.clock.now()).toISOString().slice(11, 16)} ${event.key.slice(18, 23)}`)
      return refusals-- > 0 ? { type: 'refused', why: 'busy', reason: 'Busy.' } : work.inbox(event)
    }
    await work.start({}, sink)
    await work.time.pass(10 * minute)
    expect(tried).toEqual(['09:00 09:00', '09:01 09:00', '09:02 09:00', '09:03 09:00'])
    refusals = 61
    tried.length = 0
    await work.time.pass(2 * hour)
    expect(work.fired('a').map(iso => iso.slice(11, 16))).toEqual(['09:00', '11:00'])
    expect(tried.slice(-3)).toEqual(['10:59 10:00', '11:00 11:00', '11:01 11:00'])
  })

  test('over budget, a due time is skipped and its change kept for the next one; a one-time job waits', async () => {
    await using work = await jobsWorkspace('2026-11-16T08:59:00Z')
    await work.write('notes.md', 'new')
    const checked = cron('a', '0 * * * *', 'Skip-if-unchanged: file notes.md')
    await work.write('agents.md', cronFile(checked, cron('b', '2026-11-16 09:30')))
    let over = true
    const { jobs } = await work.start({}, async event =>
      over ? { type: 'refused', why: 'over-budget', reason: 'Over budget.' } : work.inbox(event),
    )
    await work.time.pass(2 * minute)
    expect((await jobs.list()).jobs[0]).toMatchObject({ name: 'a', last: null })
    expect(await jobs.run('a')).toEqual({ ok: false, why: 'Over budget.' })
    await work.time.pass(hour)
    expect(work.skipped()).toEqual(['a over-budget', 'a over-budget'])
    over = false
    await work.time.pass(hour)
    expect(work.fired()).toEqual(['2026-11-16T09:30:00.000Z', '2026-11-16T11:00:00.000Z'])
  })

  test('a sink that throws loses no due time', async () => {
    await using work = await jobsWorkspace('2026-11-16T08:59:00Z')
    await work.write('agents.md', cronFile(cron('a', '0 9 * * *')))
    let broken = true
    await work.start({}, async event => {
      if (broken) throw new Error('disk full')
      return work.inbox(event)
    })
    await work.time.pass(2 * minute)
    expect(work.fired()).toEqual([])
    broken = false
    await work.time.pass(2 * minute)
    expect(work.fired()).toEqual(['2026-11-16T09:00:00.000Z'])
  })

  test('while the last run is still in progress, a due time is skipped', async () => {
    await using work = await jobsWorkspace('2026-11-16T09:00:00Z')
    await work.write('heartbeat.md', beat('inbox', 600))
    const busy = new Set<string>()
    await work.start({ busy: lane => busy.has(lane) })
    await work.time.pass(600 * second)
    busy.add('heartbeat:inbox')
    await work.time.pass(1200 * second)
    busy.clear()
    await work.time.pass(600 * second)
    expect(work.fired().map(iso => iso.slice(11, 16))).toEqual(['09:10', '09:40'])
    expect(work.skipped()).toEqual(['inbox still-running', 'inbox still-running'])
  })
})

describe('irregular time', () => {
  const missed = async (policy: string, asleepFor: number) => {
    await using work = await jobsWorkspace('2026-11-16T08:30:00Z')
    await work.write('agents.md', cronFile(cron('a', '0 * * * *', `Missed: ${policy}`)))
    await work.start()
    await work.time.pass(hour)
    work.time.jump(asleepFor)
    await work.time.pass(hour)
    return work.fired().map(iso => iso.slice(11, 16))
  }

  test('a missing heartbeat.md is reported once, and cron jobs continue', async () => {
    await using space = await jobsWorkspace('2026-11-16T08:00:30Z')
    await space.write('agents.md', cronFile(cron('tick', '* * * * *')))
    await space.start()
    const missing = () => space.told.filter(({ type }) => type === 'heartbeats-missing')
    await space.time.pass(120_000)
    expect(missing()).toEqual([{ type: 'heartbeats-missing', file: 'heartbeat.md' }])
    expect(space.fired('tick')).toHaveLength(2)
    await space.write('heartbeat.md', beat('pulse', 60))
    await space.time.pass(120_000)
    expect(space.fired('pulse').length).toBeGreaterThan(0)
    expect(missing()).toHaveLength(1)
  })

  test('heartbeats that are turned off pause without a message, do not catch up, and can be made silent', async () => {
    await using space = await jobsWorkspace('2026-11-16T08:00:30Z')
    await space.write('agents.md', cronFile(cron('tick', '* * * * *', 'Channel: c')))
    await space.write('heartbeat.md', beat('pulse', 60, 'Channel: c'))
    let heartbeats = { enabled: true, silent: false }
    const { jobs } = await space.start({ heartbeats: () => heartbeats })
    await space.time.pass(180_000)
    const before = space.fired('pulse').length
    expect(before).toBeGreaterThan(1)
    heartbeats = { enabled: false, silent: false }
    await space.time.pass(600_000)
    expect(space.fired('pulse')).toHaveLength(before)
    expect(space.fired('tick')).toHaveLength(13)
    expect((await jobs.list()).jobs.map(({ name, paused }) => [name, paused])).toEqual([
      ['pulse', true],
      ['tick', false],
    ])
    expect(await jobs.pause('pulse', false)).toMatchObject({
      ok: false,
      why: expect.stringContaining('heartbeat.enabled'),
    })
    heartbeats = { enabled: true, silent: true }
    await space.time.pass(190_000)
    const after = space.events.filter(({ what }) => what.kind === 'heartbeat').slice(before)
    expect(after.length).toBeGreaterThan(0)
    expect(after.length).toBeLessThan(4)
    expect(after.map(({ replyTo }) => replyTo)).toEqual(after.map(() => null))
    expect((await jobs.list()).jobs.map(({ name, answersTo }) => [name, answersTo])).toEqual([
      ['pulse', null],
      ['tick', 'test:c'],
    ])
  })

  test('after sleep, a job catches up once or not at all, as it is configured', async () => {
    // 09:30 to 14:30.
    expect(await missed('once', 5 * hour)).toEqual(['09:00', '14:00', '15:00'])
    expect(await missed('skip', 5 * hour)).toEqual(['09:00', '15:00'])
    // To 14:00:10, at which nothing is missed.
    expect(await missed('skip', 4.5 * hour + 10 * second)).toEqual(['09:00', '14:00', '15:00'])
  })

  test.each(['skip', 'once'])('a gateway that was off does the same (%s)', async policy => {
    await using work = await jobsWorkspace('2026-11-16T08:30:00Z', 'a.db')
    await work.write('agents.md', cronFile(cron('a', '0 * * * *', `Missed: ${policy}`)))
    const first = await work.start()
    await work.time.pass(hour)
    await first.stop()
    await work.time.pass(5 * hour)
    const second = await work.start()
    await work.time.pass(minute)
    expect(work.fired().map(iso => iso.slice(11, 16))).toEqual(policy === 'once' ? ['09:00', '14:00'] : ['09:00'])
    await second.stop()
    await work.start()
    await work.time.pass(minute)
    expect(work.fired()).toHaveLength(policy === 'once' ? 2 : 1)
    if (policy === 'skip') expect(work.skipped()).toEqual(['a missed'])
  })

  test('a new job has missed nothing', async () => {
    await using work = await jobsWorkspace('2026-11-16T09:00:00Z')
    await work.write('agents.md', cronFile(cron('a', '0 * * * *', 'Missed: once')))
    await work.write('heartbeat.md', beat('b', 3600))
    await work.start()
    await work.time.pass(59 * minute)
    expect(work.fired()).toEqual([])
    await work.time.pass(minute)
    expect(work.fired('a')).toEqual(['2026-11-16T10:00:00.000Z'])
    expect(work.fired('b')).toEqual(['2026-11-16T10:00:00.000Z'])
  })

  test('after the clock is set back nothing fires twice, and jobs continue', async () => {
    await using work = await jobsWorkspace('2026-11-16T08:30:00Z')
    await work.write('agents.md', cronFile(cron('a', '*/10 * * * *')))
    const gateway = await work.start()
    await work.time.pass(hour)
    work.time.jump(-hour)
    await work.time.pass(1.5 * hour)
    expect(work.fired()).toEqual(
      ['08:40', '08:50', '09:00', '09:10', '09:20', '09:30', '09:40', '09:50', '10:00'].map(at16),
    )
    work.time.jump(-3 * day)
    await work.time.pass(hour)
    expect(work.fired().at(-1)).toBe('2026-11-13T11:00:00.000Z')
    await gateway.stop()
  })

  for (const restarts of [false, true])
    test(`after a clock that was 90 minutes ahead is corrected, jobs continue, which is reported${restarts ? ', also after a restart' : ''}`, async () => {
      await using work = await jobsWorkspace('2026-11-16T09:55:00Z', 'a.db')
      await work.write('agents.md', cronFile(cron('a', '*/30 * * * *')))
      await work.write('heartbeat.md', beat('b', 1800))
      const gateway = await work.start()
      work.time.jump(1.5 * hour)
      await work.time.pass(6 * minute)
      expect(work.fired('a')).toEqual(['11:00', '11:30'].map(at16))
      if (restarts) await gateway.stop()
      work.time.jump(-1.5 * hour)
      if (restarts) await work.start()
      await work.time.pass(2 * hour)
      expect(work.fired('a')).toEqual(['11:00', '11:30', '10:30', '12:00'].map(at16))
      expect(work.fired('b').length).toBeGreaterThanOrEqual(4)
      expect(work.troubles()).toEqual([expect.stringMatching(/^the clock: was at least 8\d minutes ahead.* 2 jobs/)])
    })

  test('a small correction of the clock is not reported', async () => {
    await using work = await jobsWorkspace('2026-11-16T09:59:50Z')
    await work.write('agents.md', cronFile(cron('a', '* * * * *')))
    await work.start()
    await work.time.pass(minute)
    work.time.jump(-30_000)
    await work.time.pass(2 * minute)
    expect(work.fired()).toEqual(['10:00', '10:01', '10:02'].map(at16))
    expect(work.troubles()).toEqual([])
  })

  test('a long jump back and the same days again: each due time is one event', async () => {
    await using work = await jobsWorkspace('2026-11-16T08:30:00Z')
    await work.write('agents.md', cronFile(cron('a', '0 * * * *')))
    await work.start()
    await work.time.pass(5 * hour)
    work.time.jump(-5 * hour)
    await work.time.pass(6 * hour)
    expect(work.fired().map(iso => iso.slice(11, 13))).toEqual(['09', '10', '11', '12', '13', '14'])
  })
})

const at16 = (time: string) => `2026-11-16T${time}:00.000Z`

describe('one due time, one event', () => {
  test('killed between the sink and storing the state', async () => {
    await using work = await jobsWorkspace('2026-11-16T08:59:00Z', 'a.db')
    await work.write('agents.md', cronFile(cron('a', '0 9 * * *')))
    const puts: string[] = []
    const first = await work.start({}, async event => {
      puts.push(event.key)
      first.kill()
      return work.inbox(event)
    })
    await work.time.pass(2 * minute)
    await first.stop()
    await work.start({}, async event => {
      puts.push(event.key)
      return work.inbox(event)
    })
    await work.time.pass(hour)
    expect(puts).toEqual(['cron:a@2026-11-16T09:00:00.000Z', 'cron:a@2026-11-16T09:00:00.000Z'])
    expect(work.fired()).toEqual(['2026-11-16T09:00:00.000Z'])
  })

  test('two processes racing on one database', async () => {
    await using work = await jobsWorkspace('2026-11-16T08:59:00Z', 'a.db')
    await work.write('agents.md', cronFile(cron('a', '*/5 * * * *'), cron('b', '*/5 * * * *')))
    const queueStore = createQueueStore(work.db, work.time.clock)
    const open = () =>
      openLanes<NewEvent>(queueStore, work.time.clock, {
        ...{ queue: 'in', atOnce: 5, maxDepth: 1000, busy: 'queue', collect: false, taking: 'durably', maxAttempts: 3 },
        giveUp: () => ({ type: 'failed', why: 'set aside' }),
        broke: () => ({ type: 'failed', why: 'broke' }),
        stuck: error => {
          throw error
        },
      })
    const answers: string[] = []
    const sinkOf = async (): Promise<EventSink> => {
      const lanes = await open()
      return async event => {
        const put = await lanes.put(event.lane, event.key, event)
        answers.push(put.type)
        return put.type === 'refused' ? { type: 'refused', why: put.why, reason: '' } : put
      }
    }
    await Promise.all([work.start({}, await sinkOf()), work.start({}, await sinkOf())])
    await work.time.pass(hour + minute)
    expect(answers).toContain('duplicate')
    expect(answers.filter(answer => answer === 'accepted')).toHaveLength(2 * 13)
    expect(queueStore.counts('in').received).toBe(2 * 13)
  })

  const schedules = fc.oneof(
    fc
      .tuple(fc.constantFrom('0', '30', '*/20', '7,50'), fc.constantFrom('*', '2', '*/3', '2,14', '9-12'))
      .map(([minutes, hours]): When => ({ type: 'cron', expression: `${minutes} ${hours} * * *` })),
    fc.integer({ min: 10, max: 500 }).map((minutes): When => ({ type: 'every', seconds: minutes * 60 })),
  )
  const lives = fc.array(
    fc.record({
      up: fc.integer({ min: 1, max: 2000 }),
      down: fc.integer({ min: 0, max: 2000 }),
      forgets: fc.boolean(),
    }),
    { minLength: 1, maxLength: 5 },
  )

  test('for any schedule and any restarts, exactly the runs that the policy allows fire', async () => {
    await fc.assert(
      fc.asyncProperty(
        schedules,
        fc.constantFrom('once', 'skip'),
        fc.constantFrom('UTC', 'Europe/Berlin', 'Australia/Lord_Howe'),
        fc.constantFrom('2026-03-28T20:11:00Z', '2026-10-24T20:11:00Z', '2026-04-04T12:11:00Z'),
        lives,
        async (when, policy, zone, start, spans) => {
          await using work = await jobsWorkspace(start)
          const more = [`Missed: ${policy}`, `Timezone: ${zone}`]
          if (when.type === 'every') await work.write('heartbeat.md', beat('a', when.seconds, ...more))
          else if (when.type === 'cron') await work.write('agents.md', cronFile(cron('a', when.expression, ...more)))
          const began = work.time.clock.now()
          const expected: number[] = []
          let seen = began
          const dueBy = async (until: number) => {
            const due: number[] = []
            for (;;) {
              const [next] = await nextRuns(when, zone, due.at(-1) ?? seen, 1, began)
              if (next === undefined || next > until) break
              due.push(next)
            }
            seen = due.at(-1) ?? seen
            return due
          }
          for (const { up, down, forgets } of spans) {
            const missed = await dueBy(work.time.clock.now())
            const latest = missed.at(-1)
            if (latest !== undefined && (policy === 'once' || work.time.clock.now() - latest < minute))
              expected.push(latest)
            const gateway = await work.start({ lookMs: day })
            await work.time.pass(up * minute)
            expected.push(...(await dueBy(work.time.clock.now())))
            if (forgets) {
              // If an event comes right now, it is killed after the event and before its state is stored.
              gateway.kill()
              const [next = Infinity] = await nextRuns(when, zone, seen, 1, began)
              if (next - work.time.clock.now() <= hour) await work.time.pass(next - work.time.clock.now())
              expected.push(...(await dueBy(work.time.clock.now())))
            }
            await gateway.stop()
            await work.time.pass(down * minute)
          }
          expect(work.fired()).toEqual(expected.map(due => new Date(due).toISOString()))
          expect(work.bugs).toEqual([])
        },
      ),
      { numRuns: 100 },
    )
  })
})
