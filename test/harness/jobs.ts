// A workspace with jobs in simulated time: real files, real SQLite, and a gateway that can be stopped, killed and started again.
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { EventSink, NewEvent } from '../../src/base/event.ts'
import type { JobStates } from '../../src/base/job-state.ts'
import type { Signal } from '../../src/base/signal.ts'
import { createJobs, type JobsParts } from '../../src/clock/index.ts'
import { createJobStates, openDatabase } from '../../src/store/index.ts'
import { simulatedTime } from '../fakes/simulated-time.ts'

type Settings = Partial<
  Pick<
    JobsParts,
    'zone' | 'run' | 'busy' | 'placeOf' | 'lookMs' | 'fileGuard' | 'noCommands' | 'objection' | 'heartbeats'
  >
>

export async function jobsWorkspace(start: string, database = ':memory:') {
  const home = await mkdtemp(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'aetheel-jobs-'))
  const dir = join(home, 'workspace')
  await mkdir(dir)
  const time = simulatedTime(Date.parse(start))
  const db = openDatabase(database === ':memory:' ? database : join(home, database))
  const told: Signal[] = []
  const events: NewEvent[] = []
  const bugs: unknown[] = []
  /** Like the inbox: accepts each key once. */
  const inbox: EventSink = async event => {
    const id = events.findIndex(({ key }) => key === event.key)
    if (id >= 0) return { type: 'duplicate', id }
    events.push(event)
    return { type: 'accepted', id: events.length, position: 0 }
  }
  const running = new Set<() => Promise<void>>()

  return {
    ...{ home, dir, time, db, told, events, bugs, inbox },
    write: (file: string, text: string) => writeFile(join(dir, file), text),
    /** The due times that became events, as in their keys. */
    fired: (name?: string) =>
      events
        .filter(({ what }) => name === undefined || ('name' in what && what.name === name))
        .map(({ key }) => key.slice(key.indexOf('@') + 1)),
    troubles: () =>
      told.flatMap(signal => (signal.type === 'workspace-trouble' ? [`${signal.file}: ${signal.why}`] : [])),
    skipped: () => told.flatMap(signal => (signal.type === 'job-skipped' ? [`${signal.name} ${signal.why}`] : [])),
    /** Resolves when it has read its files and sleeps. */
    async start(settings: Settings = {}, sink: EventSink = inbox) {
      let dead = false
      const stored = createJobStates(db, time.clock)
      const dying = <T>(work: () => Promise<T>) => (dead ? Promise.reject(new Error('killed')) : time.during(work()))
      const states: JobStates = {
        know: (...given) => dying(() => stored.know(...given)),
        note: (...given) => dying(() => stored.note(...given)),
        forgetOthers: given => dying(() => stored.forgetOthers(given)),
      }
      const { jobs, source } = createJobs({
        dir,
        clock: time.clock,
        zone: () => 'UTC',
        states,
        emit: signal => told.push(signal),
        run: async () => ({ ok: true, output: '' }),
        busy: () => false,
        placeOf: channel => (channel === null ? null : { chat: 'test', conversation: channel }),
        broke: error => bugs.push(error),
        ...settings,
      })
      const stop = new AbortController()
      time.sleepers++
      const ended = source.run(event => time.during(sink(event)), stop.signal)
      const end = async () => {
        if (!running.delete(end)) return
        time.sleepers--
        stop.abort()
        await ended
      }
      running.add(end)
      await time.quiet()
      return {
        jobs,
        stop: end,
        /** From now on nothing is stored. */
        kill() {
          dead = true
        },
      }
    },
    async [Symbol.asyncDispose]() {
      for (const end of running) await end()
      await db.close()
      await rm(home, { recursive: true, force: true })
    },
  }
}

export const cronFile = (...jobs: readonly string[]) => `# Agents\n\n## Cron Jobs\n\n${jobs.join('\n')}`

const lines = (all: readonly string[]) => all.map(line => `${line}\n`).join('')

export const cron = (name: string, schedule: string, ...more: readonly string[]) =>
  `### ${name}\n${lines([`${/^\d{4}-/.test(schedule) ? 'At' : 'Cron'}: ${schedule}`, `Instruction: Do ${name}.`, ...more])}`

export const beat = (name: string, seconds: number, ...more: readonly string[]) =>
  `## ${name}\n${lines([`Interval: ${seconds}`, `Instruction: Do ${name}.`, ...more])}`
