// Jobs in files that people, the agent and the gateway edit: which entries apply, what is reported, and that nothing is lost.
import { chmod, mkdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../fakes/temporary.ts'
import { beat, cron, cronFile, jobsWorkspace } from '../harness/jobs.ts'

const second = 1000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour
const noon = '2026-11-16T12:00:00Z'

beforeAll(() => import('croner'))

type Work = Awaited<ReturnType<typeof jobsWorkspace>>
const read = (work: Work, file = 'agents.md') => readFile(join(work.dir, file), 'utf8')

describe('edited by somebody else', () => {
  test('an unapproved entry is not a job, and the earlier jobs stay', async () => {
    await using work = await jobsWorkspace(noon)
    const before = cronFile(cron('a', '* * * * *'))
    await work.write('agents.md', before)
    let approved: string | undefined
    const fileGuard = {
      approved: (file: string) => (file === 'agents.md' ? approved : undefined),
      edit: async () => ({ ok: false, why: 'not here' }) as const,
    }
    const { jobs } = await work.start({ fileGuard })
    approved = before
    await work.write('agents.md', cronFile(cron('evil', '* * * * *')))
    expect((await jobs.list()).jobs.map(({ name }) => name)).toEqual(['a'])
    await work.time.pass(2 * minute)
    expect([work.fired('a').length, work.fired('evil').length]).toEqual([2, 0])
    expect(await jobs.remove('a')).toEqual({ ok: false, why: 'not here' })
  })

  test('a change that no watch reports takes effect at the next check, in the order of the file', async () => {
    await using work = await jobsWorkspace(noon)
    const path = join(work.home, 'agents.md')
    await writeFile(path, cronFile(cron('b', '0 18 * * *')))
    await symlink(path, join(work.dir, 'agents.md'))
    const { jobs } = await work.start({ lookMs: day })
    await writeFile(path, cronFile(cron('a', '1 12 * * *'), cron('b', '0 18 * * *')))
    expect((await jobs.list()).jobs.map(({ name }) => name)).toEqual(['a', 'b'])
    await work.time.pass(2 * minute)
    expect(work.fired('a')).toEqual(['2026-11-16T12:01:00.000Z'])
  })

  test.each(['saved in place', 'saved by a rename'])('the file watch notices it: %s', async how => {
    await using work = await jobsWorkspace(noon)
    await work.write('agents.md', cronFile(cron('a', '1 12 * * *')))
    await work.start({ lookMs: day })
    const text = cronFile(cron('a', '1 12 * * *'), cron('bad', '99 12 * * *'))
    if (how === 'saved in place') await work.write('agents.md', text)
    else {
      await work.write('agents.md.new', text)
      await rename(join(work.dir, 'agents.md.new'), join(work.dir, 'agents.md'))
    }
    // Simulated time stands still, so only the file watch can have noticed it.
    await eventually('the trouble', () => work.troubles().some(told => told.includes('bad')))
  })

  test('a replaced folder is read again', async () => {
    await using work = await jobsWorkspace(noon)
    await work.write('agents.md', cronFile(cron('a', '0 13 * * *')))
    await work.start()
    await rename(work.dir, `${work.dir}.old`)
    await mkdir(work.dir)
    await work.time.pass(minute)
    await work.write('agents.md', cronFile(cron('bad', '99 12 * * *')))
    await eventually('the trouble', () => work.troubles().length > 0)
  })

  test('another schedule resets the job; another instruction takes effect immediately', async () => {
    await using work = await jobsWorkspace(noon)
    await work.write('agents.md', cronFile(cron('a', '0 * * * *', 'Missed: once')))
    const { jobs } = await work.start()
    await work.time.pass(2.5 * hour)
    await work.write('agents.md', cronFile(cron('a', '20 * * * *', 'Missed: once').replace('Do a.', 'Do it well.')))
    await jobs.list()
    await work.time.pass(hour)
    expect(work.fired().map(iso => iso.slice(11, 16))).toEqual(['13:00', '14:00', '15:20'])
    expect(work.events.at(-1)?.what).toMatchObject({ instruction: 'Do it well.' })
  })

  test('a job that was removed for a while has missed nothing', async () => {
    await using work = await jobsWorkspace(noon)
    const text = cronFile(cron('a', '0 * * * *', 'Missed: once'))
    await work.write('agents.md', text)
    await work.start()
    await work.time.pass(1.5 * hour)
    await work.write('agents.md', '')
    await work.time.pass(5 * hour)
    await work.write('agents.md', text)
    await work.time.pass(hour)
    expect(work.fired().map(iso => iso.slice(11, 16))).toEqual(['13:00', '19:00'])
  })

  test('a job that is missing for a moment during a save keeps its state', async () => {
    await using work = await jobsWorkspace(noon)
    await work.write('heartbeat.md', beat('a', 3600))
    const { jobs } = await work.start()
    await work.time.pass(50 * minute)
    await work.write('heartbeat.md', '')
    expect((await jobs.list()).jobs).toEqual([])
    await work.time.pass(31 * second)
    await work.write('heartbeat.md', beat('a', 3600))
    await work.time.pass(10 * minute)
    expect(work.fired()).toEqual(['2026-11-16T13:00:00.000Z'])
  })

  test('the jobs of an unreadable file stay, and the problem is reported once', async () => {
    await using work = await jobsWorkspace(noon)
    await work.write('agents.md', cronFile(cron('a', '0 * * * *')))
    const { jobs } = await work.start()
    await writeFile(join(work.dir, 'agents.md'), Buffer.from([0x23, 0xff, 0xfe]))
    await work.time.pass(2 * hour)
    expect(work.fired()).toHaveLength(2)
    expect(work.troubles()).toEqual(['agents.md: is not UTF-8 text; save it as UTF-8'])
    expect((await jobs.list()).troubles).toHaveLength(1)
    await rm(join(work.dir, 'agents.md'))
    await mkdir(join(work.dir, 'agents.md'))
    await work.time.pass(hour)
    expect(work.troubles()[1]).toMatch(/not a regular file/)
    await rm(join(work.dir, 'agents.md'), { recursive: true })
    expect(await jobs.list()).toEqual({ jobs: [], troubles: [] })
  })

  test('an invalid job is reported by name, once, and the others run', async () => {
    await using work = await jobsWorkspace(noon)
    await work.write('agents.md', cronFile(cron('bad', '99 * * * *'), cron('good', '0 13 * * *')))
    const { jobs } = await work.start()
    await work.time.pass(2 * hour)
    expect(work.fired()).toHaveLength(1)
    expect(work.troubles()).toHaveLength(1)
    expect(work.troubles()[0]).toMatch(/^agents\.md: bad: /)
    expect((await jobs.list()).troubles).toMatchObject([{ file: 'agents.md', name: 'bad' }])
  })
})

describe('edited by us', () => {
  test('a job is added, listed with its next runs, and fires', async () => {
    await using work = await jobsWorkspace(noon)
    await work.write('agents.md', '# Rules\n\nBe kind.\n')
    await chmod(join(work.dir, 'agents.md'), 0o664)
    const { jobs } = await work.start()
    const added = await jobs.add({ name: 'briefing', schedule: 'every morning (9:00 AM)', instruction: 'Sum up.' })
    const next = ['17', '18', '19'].map(date => Date.parse(`2026-11-${date}T09:00:00Z`))
    expect(added).toMatchObject({ ok: true, job: { kind: 'cron', name: 'briefing', next, last: null } })
    expect(await jobs.list()).toMatchObject({ jobs: [{ name: 'briefing', next }], troubles: [] })
    expect(await read(work)).toMatch(/^# Rules\n\nBe kind\.\n/)
    expect((await stat(join(work.dir, 'agents.md'))).mode & 0o777).toBe(0o664)
    await work.time.pass(day)
    expect(work.fired()).toEqual(['2026-11-17T09:00:00.000Z'])
    const {
      jobs: [job],
    } = await jobs.list()
    expect(job?.last).toBe(Date.parse('2026-11-17T09:00:00Z'))
  })

  test('an invalid job changes nothing', async () => {
    await using work = await jobsWorkspace(noon)
    const { jobs } = await work.start()
    const why = async (schedule: string, name = 'a') => {
      const answer = await jobs.add({ name, schedule, instruction: 'x' })
      return answer.ok ? 'added' : answer.why
    }
    expect(await why('now and then')).not.toBe('added')
    expect(await why('at 2026-11-16 11:00')).toMatch(/passed/)
    expect(await why('0 0 31 2 *')).not.toBe('added')
    await expect(read(work)).rejects.toThrow(/ENOENT/)
    expect(await why('every Monday at 8:00')).toBe('added')
    const before = await read(work)
    expect(await why('every Tuesday at 8:00', 'A')).toMatch(/already/)
    expect(await read(work)).toBe(before)
  })

  test('an entry that cannot be used is not overwritten', async () => {
    await using work = await jobsWorkspace(noon)
    const text = cronFile(cron('a', '99 * * * *'))
    await work.write('agents.md', text)
    const { jobs } = await work.start()
    expect(await jobs.add({ name: 'A', schedule: '0 9 * * *', instruction: 'x' })).toMatchObject({ ok: false })
    expect(await read(work)).toBe(text)
  })

  test('simultaneous changes all take effect', async () => {
    await using work = await jobsWorkspace(noon)
    const { jobs } = await work.start()
    const names = Array.from({ length: 20 }, (_, index) => `job-${index}`)
    const add = (name: string) => jobs.add({ name, schedule: '0 9 * * *', instruction: 'x' })
    const answers = await Promise.all([...names.map(add), ...names.slice(0, 5).map(add)])
    expect(answers.filter(({ ok }) => ok)).toHaveLength(20)
    await Promise.all([
      jobs.remove('job-3'),
      jobs.pause('job-4', true),
      jobs.add({ name: 'z', schedule: '0 9 * * *', instruction: 'x' }),
    ])
    const { jobs: all } = await jobs.list()
    expect(all.map(({ name }) => name)).toEqual([...names.filter(name => name !== 'job-3'), 'z'])
    expect(all.filter(({ paused }) => paused).map(({ name }) => name)).toEqual(['job-4'])
  })

  test('a paused job never fires, also after a restart, and does not catch up', async () => {
    await using work = await jobsWorkspace(noon, 'a.db')
    await work.write('agents.md', cronFile(cron('a', '0 * * * *', 'Missed: once')))
    const first = await work.start()
    await work.time.pass(1.5 * hour)
    expect(await first.jobs.pause('a', true)).toMatchObject({ ok: true, job: { paused: true, next: [] } })
    await work.time.pass(2 * hour)
    await first.stop()
    const { jobs } = await work.start()
    await work.time.pass(2 * hour)
    expect(await jobs.pause('a', false)).toMatchObject({ ok: true, job: { paused: false } })
    await work.time.pass(hour)
    expect(work.fired().map(iso => iso.slice(11, 16))).toEqual(['13:00', '18:00'])
  })

  test('a removed job does not fire any more', async () => {
    await using work = await jobsWorkspace(noon)
    await work.write('agents.md', cronFile(cron('a', '0 * * * *'), cron('b', '0 * * * *')))
    const { jobs } = await work.start()
    expect(await jobs.remove('a')).toMatchObject({ ok: true, job: { name: 'a', next: [] } })
    await work.time.pass(hour)
    expect(work.fired('a')).toEqual([])
    expect(work.fired('b')).toHaveLength(1)
    expect(await jobs.remove('a')).toMatchObject({ ok: false })
  })

  test('a name that both kinds have must be given with its kind', async () => {
    await using work = await jobsWorkspace(noon)
    await work.write('agents.md', cronFile(cron('a', '0 9 * * *')))
    await work.write('heartbeat.md', beat('a', 600))
    const { jobs } = await work.start()
    expect(await jobs.remove('a')).toMatchObject({ ok: false, why: expect.stringContaining('heartbeat:a or cron:a') })
    expect(await jobs.remove('heartbeat:a')).toMatchObject({ ok: true, job: { kind: 'heartbeat' } })
    expect(await read(work, 'heartbeat.md')).not.toContain('## a')
  })

  test('a job can be run now, and its next time stays', async () => {
    await using work = await jobsWorkspace(noon)
    await work.write('agents.md', cronFile(cron('a', '0 13 * * *', 'Paused: yes'), cron('b', '0 13 * * *')))
    const gateway = await work.start()
    expect(await gateway.jobs.run('b')).toMatchObject({ ok: true, job: { last: Date.parse(noon) } })
    expect(await gateway.jobs.run('a')).toMatchObject({ ok: true })
    expect(await gateway.jobs.run('c')).toMatchObject({ ok: false })
    await work.time.pass(hour)
    expect(work.events.map(({ key }) => key)).toEqual([
      `cron:b@now-${Date.parse(noon)}`,
      `cron:a@now-${Date.parse(noon)}`,
      'cron:b@2026-11-16T13:00:00.000Z',
    ])
    await gateway.stop()
    expect(await gateway.jobs.run('b')).toMatchObject({ ok: false })
  })

  test('a refusal by the inbox is returned to whoever runs a job', async () => {
    await using work = await jobsWorkspace(noon)
    await work.write('agents.md', cronFile(cron('a', '0 13 * * *')))
    const { jobs } = await work.start({}, async () => ({ type: 'refused', why: 'full', reason: 'Too much waits.' }))
    expect(await jobs.run('a')).toEqual({ ok: false, why: 'Too much waits.' })
  })

  test('a link that leads out of the workspace is read, but not written', async () => {
    await using work = await jobsWorkspace(noon)
    const outside = join(work.home, 'agents.md')
    await writeFile(outside, cronFile(cron('a', '0 13 * * *')))
    await symlink(outside, join(work.dir, 'agents.md'))
    await mkdir(join(work.dir, 'notes'))
    await writeFile(join(work.dir, 'notes/beats.md'), beat('b', 600))
    await symlink('notes/beats.md', join(work.dir, 'heartbeat.md'))
    const { jobs } = await work.start()
    expect(await jobs.remove('a')).toMatchObject({ ok: false, why: expect.stringContaining('outside the workspace') })
    expect(await readFile(outside, 'utf8')).toContain('### a')
    expect(await jobs.remove('b')).toMatchObject({ ok: true })
    expect(await readFile(join(work.dir, 'notes/beats.md'), 'utf8')).not.toContain('## b')
  })
})

describe('a one-time job', () => {
  test('fires once and is removed from its file', async () => {
    await using work = await jobsWorkspace(noon)
    await work.write(
      'agents.md',
      cronFile(cron('call', '2026-11-16 14:00', 'Timezone: Europe/Berlin'), cron('b', '0 9 * * *')),
    )
    await work.start()
    await work.time.pass(2 * hour)
    expect(work.fired()).toEqual(['2026-11-16T13:00:00.000Z'])
    expect(await read(work)).not.toContain('### call')
    expect(await read(work)).toContain('### b')
    expect(work.troubles()).toEqual([])
  })

  test('that was not removed because of a kill is removed at the next start', async () => {
    await using work = await jobsWorkspace(noon, 'a.db')
    const text = cronFile(cron('call', '2026-11-16 13:00'))
    await work.write('agents.md', text)
    const first = await work.start()
    await work.time.pass(hour)
    await first.stop()
    await work.write('agents.md', text)
    await work.start()
    await work.time.pass(hour)
    expect(work.fired()).toHaveLength(1)
    expect(await read(work)).not.toContain('### call')
  })

  test('added after its time does nothing and is reported', async () => {
    await using work = await jobsWorkspace(noon)
    await work.write('agents.md', cronFile(cron('call', '2026-11-16 11:00')))
    const { jobs } = await work.start()
    await work.time.pass(hour)
    expect(work.fired()).toEqual([])
    expect(work.troubles()).toEqual(['agents.md: call: its time has passed; give it another one or remove it'])
    expect((await jobs.list()).troubles).toHaveLength(1)
    await jobs.remove('call')
    expect((await jobs.list()).troubles).toEqual([])
  })

  test('that gets another time fires again, even if that happens while it fires', async () => {
    await using work = await jobsWorkspace(noon)
    await work.write('agents.md', cronFile(cron('call', '2026-11-16 11:00')))
    const { jobs } = await work.start({}, async event => {
      if (work.events.length === 0) await work.write('agents.md', cronFile(cron('call', '2026-11-16 14:00')))
      return work.inbox(event)
    })
    await work.write('agents.md', cronFile(cron('call', '2026-11-16 13:00')))
    expect((await jobs.list()).troubles).toEqual([])
    await work.time.pass(3 * hour)
    expect(work.fired().map(iso => iso.slice(11, 16))).toEqual(['13:00', '14:00'])
    expect(await read(work)).not.toContain('### call')
  })

  test('in a file that cannot be written still fires once', async () => {
    await using work = await jobsWorkspace(noon)
    await writeFile(join(work.home, 'agents.md'), cronFile(cron('call', '2026-11-16 13:00')))
    await symlink(join(work.home, 'agents.md'), join(work.dir, 'agents.md'))
    await work.start()
    await work.time.pass(3 * hour)
    expect(work.fired()).toHaveLength(1)
    expect(work.troubles()).toHaveLength(1)
    expect(work.troubles()[0]).toContain('cannot be removed')
  })
})

describe('skip if unchanged', () => {
  const hours = (work: Work) => work.fired().map(iso => iso.slice(11, 13))

  test('a file', async () => {
    await using work = await jobsWorkspace(noon, 'a.db')
    await work.write('agents.md', cronFile(cron('a', '0 * * * *', 'Skip-if-unchanged: file inbox.md')))
    await work.write('inbox.md', 'one')
    const first = await work.start()
    const passHour = async () => {
      const seen = work.told.length + work.events.length
      await work.time.pass(hour)
      await eventually('the check', () => work.told.length + work.events.length > seen)
      await work.time.quiet()
    }
    await passHour()
    await passHour()
    await work.write('inbox.md', 'two')
    await passHour()
    await first.stop()
    await work.start()
    await passHour()
    expect(hours(work)).toEqual(['13', '15'])
    expect(work.skipped()).toEqual(['a unchanged', 'a unchanged'])
    await rm(join(work.dir, 'inbox.md'))
    await passHour()
    expect(hours(work)).toEqual(['13', '15', '17'])
    expect(work.troubles()).toEqual(['agents.md: a: the file of Skip-if-unchanged is missing'])
  })

  test('the output of a command; it is stored only once the event was accepted', async () => {
    await using work = await jobsWorkspace(noon)
    await work.write('agents.md', cronFile(cron('a', '0 * * * *', 'Skip-if-unchanged: command git log -1')))
    const asked: string[] = []
    let output = 'one'
    let refuse = true
    const run = async (command: string) => {
      asked.push(command)
      return { ok: true, output }
    }
    await work.start({ run }, async event =>
      refuse ? { type: 'refused', why: 'full', reason: '' } : work.inbox(event),
    )
    await work.time.pass(hour)
    refuse = false
    await work.time.pass(2 * hour)
    output = 'two'
    await work.time.pass(hour)
    expect(hours(work)).toEqual(['13', '16'])
    expect(new Set(asked)).toEqual(new Set(['git log -1']))
  })

  test('the response of a URL', async () => {
    let content = 'one'
    const server = createServer((_, answer) => answer.end(content))
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/feed`
    await using work = await jobsWorkspace(noon)
    await work.write('agents.md', cronFile(cron('a', '0 * * * *', `Skip-if-unchanged: url ${url}`)))
    await work.start()
    for (const next of ['one', 'two', 'two']) {
      const seen = work.told.length + work.events.length
      await work.time.pass(hour)
      await eventually('the check', () => work.told.length + work.events.length > seen)
      await work.time.quiet()
      content = next
    }
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
    expect(hours(work)).toEqual(['13', '15'])
  })

  test('a job for a channel that cannot be reached is refused', async () => {
    await using work = await jobsWorkspace(noon)
    const placeOf = (channel: string | null) => (channel === null ? null : { chat: channel, conversation: '1' })
    const { jobs } = await work.start({
      placeOf,
      objection: async ({ chat }) => (chat === 'discord' ? null : `There is no ${chat}.`),
    })
    const add = (channel: string | null) =>
      jobs.add({ name: `to ${channel}`, schedule: 'every hour', instruction: 'Look.', channel })
    expect(await add('slack')).toMatchObject({ ok: false, why: 'There is no slack.' })
    expect([(await add('discord')).ok, (await add(null)).ok]).toEqual([true, true])
  })

  test('if commands are not allowed, adding a job with one is refused; such a job in a file runs, and the problem is reported', async () => {
    await using work = await jobsWorkspace(noon)
    const noCommands = () => 'not without a shell.'
    const { jobs } = await work.start({ noCommands })
    const wanted = { name: 'a', schedule: 'every hour at :00', instruction: 'Look.', skipIf: 'command date' }
    expect(await jobs.add(wanted)).toEqual({ ok: false, why: 'Skip-if-unchanged: not without a shell.' })
    await work.write('agents.md', cronFile(cron('b', '0 * * * *', 'Skip-if-unchanged: command date')))
    await jobs.list()
    await work.time.pass(hour)
    expect(hours(work)).toEqual(['13'])
    expect(work.troubles()).toEqual(['agents.md: b: not without a shell.'])
  })

  test('a change that was skipped over budget still counts as new when there is a budget again', async () => {
    await using work = await jobsWorkspace(noon)
    await work.write('inbox.md', 'one')
    await work.write(
      'agents.md',
      cronFile(cron('a', '0 * * * *', 'Skip-if-unchanged: file inbox.md'), cron('call', '2026-11-16 12:30')),
    )
    let spent = true
    const refused = { type: 'refused', why: 'over-budget', reason: 'Over budget.' } as const
    const { jobs } = await work.start({}, event => (spent ? Promise.resolve(refused) : work.inbox(event)))
    await work.time.pass(90 * minute)
    expect(work.events).toEqual([])
    expect(work.skipped()).toEqual(['a over-budget'])
    expect(await jobs.run('a')).toEqual({ ok: false, why: 'Over budget.' })
    expect((await jobs.list()).jobs.map(({ name, last }) => [name, last])).toEqual([
      ['a', null],
      ['call', null],
    ])
    spent = false
    await work.time.pass(hour)
    expect(work.fired('a')).toEqual(['2026-11-16T14:00:00.000Z'])
    expect(work.fired('call')).toEqual(['2026-11-16T12:30:00.000Z'])
  })

  test('a hanging check does not delay other jobs, and a stop ends it', async () => {
    await using work = await jobsWorkspace(noon)
    await work.write(
      'agents.md',
      cronFile(cron('slow', '0 * * * *', 'Skip-if-unchanged: command sleep'), cron('b', '0 * * * *')),
    )
    const run = (_: string, signal: AbortSignal) =>
      new Promise<{ ok: boolean; output: string }>(resolve =>
        signal.addEventListener('abort', () => resolve({ ok: false, output: '' })),
      )
    const gateway = await work.start({ run })
    await work.time.pass(3 * hour)
    expect(work.fired('b')).toHaveLength(3)
    await gateway.stop()
    expect(work.fired('slow')).toEqual([])
  })
})
