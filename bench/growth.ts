// What many conversations, waiting messages, skills and notes cost, compared with few of them in the same run.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { NewEvent } from '../src/base/event.ts'
import { createWebchat } from '../src/chat/index.ts'
import { createSkills } from '../src/prompt/skills.ts'
import { openMemorySearch } from '../src/store/index.ts'
import { type Figure, median, ms, percentile, times, whole } from './figures.ts'
import { fillPast } from './history.ts'
import { echo, type Gateway, talk, withGateway, withHome } from './rig.ts'
import { fillNotes } from './search.ts'

const budgets = { searchMs: 10, idleMs: 20, message: 1.25, skillsMs: 20, frames: 40, drafts: 3 }

export async function growthFigures(): Promise<readonly Figure[]> {
  const dir = mkdtempSync(join(tmpdir(), 'aetheel-bench-growth-'))
  try {
    return [
      ...(await conversationFigures()),
      ...(await toldFigures()),
      await skillFigure(dir),
      ...(await noteFigures(dir)),
    ]
  } finally {
    rmSync(dir, { recursive: true })
  }
}

/** Processor time of the gateway per message, in a hundred alternating conversations. */
async function conversationFigures(): Promise<readonly Figure[]> {
  return withHome(few =>
    withHome(async many => {
      fillPast(few, { events: 1000, lanes: 20, ofOurs: 5 })
      fillPast(many, { events: 210_000, lanes: 21_000, ofOurs: 10 })
      return withGateway(few, echo, a =>
        withGateway(many, echo, async b => {
          const [one, other] = [await messages(a), await messages(b)]
          const [little, much]: [number[], number[]] = [[], []]
          for (let round = 0; round < 12; round++) {
            little.push(await one(100))
            much.push(await other(100))
          }
          const ratio = median(much) / median(little)
          return [
            {
              name: 'a message beside 21,000 conversations, cpu',
              value: `${ms(median(much))} = ${times(ratio)}`,
              baseline: `beside 20: ${ms(median(little))}`,
              budget: `≤ ${budgets.message}×`,
              ok: ratio <= budgets.message,
            },
          ]
        }),
      )
    }),
  )
}

async function messages(gateway: Gateway): Promise<(count: number) => Promise<number>> {
  const all = await Promise.all(Array.from({ length: 50 }, (_, i) => talk(gateway, `growth-${i}`)))
  let next = 0
  const say = async (count: number) => {
    const before = workedBy(gateway.pid)
    for (let i = 0; i < count; i++) await all[next++ % all.length]?.say('hello')
    // Writes that follow a moment later count too.
    await sleep(400)
    return (workedBy(gateway.pid) - before) / count
  }
  await say(100)
  return say
}

/** Milliseconds; the kernel counts in hundredths of a second. */
function workedBy(pid: number): number {
  const [user = 0, system = 0] =
    readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ').slice(11, 13).map(Number) ?? []
  return (user + system) * 10
}

/** Frames for 3,000 messages waiting in one conversation while 2,900 are answered; bytes for a growing answer of 100 kB. */
async function toldFigures(): Promise<readonly Figure[]> {
  const queue = Array.from({ length: 3000 }, (_, i) => `m${i}`)
  const eventOf = (id: string) => ({ key: `webchat:hall:${id}`, what: { kind: 'message', id } }) as NewEvent
  const chat = createWebchat({
    attach: async () => null,
    refuse: async (_, why) => ({ type: 'refused', why, reason: why }),
    change: async () => ({ changed: true }),
    stop: () => false,
    steer: async () => null,
    deliverWaiting: async () => undefined,
    sent: () => undefined,
    broke: error => console.error(error),
    waiting: async () => queue.map((id, i) => ({ event: eventOf(id), position: i + 1 })),
    positions: () => queue.map((id, i) => ({ key: eventOf(id).key, position: i + 1 })),
    history: () => ({ messages: [], older: null }),
    final: () => null,
    onFinal: () => undefined,
    fetched: async () => true,
    wasCancelled: () => false,
  })
  const place = { chat: 'webchat', conversation: 'hall' }
  const never = new AbortController().signal
  const enter = (drafts: 'whole' | 'delta') => {
    const heard = { frames: 0, bytes: 0 }
    const send = (text: string) => {
      if (text.startsWith('{"type":"waiting"')) heard.frames++
      heard.bytes += text.length
      return true
    }
    const socket = {
      send,
      reached: async () => true,
      onText: () => undefined,
      onClose: () => undefined,
      close: () => undefined,
    }
    chat.connect(socket, place.conversation, { drafts })
    return heard
  }
  const waiting = enter('delta')
  await sleep(10)
  const before = waiting.frames
  const moves = 2900
  for (let i = 0; i < moves; i++) {
    queue.shift()
    await chat.post(
      place,
      { key: `d${i}#final`, kind: 'final', about: `d${i}`, text: 'yes', ok: true, action: null },
      never,
    )
  }
  const frames = (waiting.frames - before) / moves
  queue.length = 0
  const [delta, all] = [enter('delta'), enter('whole')]
  await sleep(10)
  const from = { delta: delta.bytes, all: all.bytes }
  const answer = 'words and words and words. '.repeat(3800)
  for (let end = 0; end <= answer.length; end += 200)
    await chat.post(
      place,
      { key: 'a#draft', kind: 'draft', about: 'a', text: answer.slice(0, end), ok: true, action: null },
      never,
    )
  const sent = { delta: (delta.bytes - from.delta) / answer.length, all: (all.bytes - from.all) / answer.length }
  return [
    {
      name: 'frames for each move of 3,000 that wait',
      value: `${frames.toFixed(1)} (${whole(frames * moves)} in all)`,
      baseline: `each position on each move: ${whole(((3000 + 100) / 2) * moves)}`,
      budget: `≤ ${budgets.frames}`,
      ok: frames <= budgets.frames,
    },
    {
      name: 'an answer of 100 kB, sent as it grows',
      value: `${times(sent.delta)} of its length`,
      baseline: `whole drafts: ${times(sent.all)}`,
      budget: `≤ ${budgets.drafts}×`,
      ok: sent.delta <= budgets.drafts,
    },
  ]
}

async function skillFigure(home: string): Promise<Figure> {
  const perRead = async (count: number) => {
    const dir = join(home, `skills-${count}`)
    for (let i = 0; i < count; i++) {
      mkdirSync(join(dir, 'skills', `s${i}`), { recursive: true })
      writeFileSync(
        join(dir, 'skills', `s${i}`, 'SKILL.md'),
        `---\nname: s${i}\ndescription: Does the thing ${i}.\n---\n`,
      )
    }
    const skills = createSkills(dir)
    await skills.read()
    // A file counts as unchanged only after the file system's clock has advanced.
    await sleep(2100)
    await skills.read()
    return (
      (await worked(async () => {
        for (let i = 0; i < 20; i++) await skills.read()
      })) / 20
    )
  }
  const [few, many] = [await perRead(10), await perRead(1000)]
  return {
    name: 'reading 1,000 skills for a turn, cpu',
    value: `${ms(many)} = ${times(many / few)}`,
    baseline: `10 skills: ${ms(few)}`,
    budget: `≤ ${budgets.skillsMs} ms`,
    ok: many <= budgets.skillsMs,
  }
}

async function noteFigures(home: string): Promise<readonly Figure[]> {
  const [few, many] = [await notes(join(home, 'few'), 1000), await notes(join(home, 'many'), 100_000)]
  const searched = (name: string, of: 'found' | 'common', budgetMs: number | null): Figure => {
    const shown = (samples: readonly number[]) => `${ms(median(samples))} (p95 ${ms(percentile(samples, 0.95))})`
    return {
      name,
      value: `${shown(many[of])} = ${times(median(many[of]) / median(few[of]))}`,
      baseline: `over 1,000: ${shown(few[of])}`,
      budget: budgetMs === null ? '' : `p50 ≤ ${budgetMs} ms`,
      ok: budgetMs === null ? null : median(many[of]) <= budgetMs,
    }
  }
  return [
    searched('a search over 100,000 notes', 'found', budgets.searchMs),
    searched('… for two words that most of them have', 'common', null),
    {
      name: '… kept fresh for a minute without changes, cpu',
      value: ms(many.idle),
      baseline: `1,000 notes: ${ms(few.idle)}`,
      budget: `≤ ${budgets.idleMs} ms`,
      ok: many.idle <= budgets.idleMs,
    },
  ]
}

interface Notes {
  readonly found: readonly number[]
  readonly common: readonly number[]
  /** Processor time of an idle minute. */
  readonly idle: number
}

async function notes(dir: string, count: number): Promise<Notes> {
  mkdirSync(dir)
  const time = hurriedTime()
  const search = openMemorySearch({ dir, file: join(dir, '.aetheel/search.db'), clock: time, emit: () => undefined })
  const stop = new AbortController()
  const timed = async (words: string) => {
    const began = performance.now()
    await search.search(words, 10)
    return performance.now() - began
  }
  try {
    const word = fillNotes(join(dir, 'notes'), count)
    await search.sync()
    const watching = search.watch(stop.signal)
    await sleep(2000 + count / 10)
    const common = commonest(word)
    const idle = await idleCost(time)
    const samples = { found: [] as number[], common: [] as number[] }
    for (let n = 0; n < 200; n++) {
      samples.found.push(await timed(`${word()} ${word().slice(0, 3)}`))
      if (n % 4 === 0) samples.common.push(await timed(common))
    }
    stop.abort()
    await watching
    return { ...samples, idle }
  } finally {
    stop.abort()
    await search.close()
  }
}

async function idleCost(time: ReturnType<typeof hurriedTime>): Promise<number> {
  const before = time.hurry()
  const cost = await worked(async () => {
    while (time.passed() - before < 20 * 60_000) await sleep(10)
  })
  time.relax()
  return cost / ((time.passed() - before) / 60_000)
}

/** In fast mode, sleepers wake after a moment, and the time they would have slept is counted. */
function hurriedTime() {
  let hurries = false
  let passed = 0
  const wakers = new Set<() => void>()
  return {
    now: Date.now,
    async sleep(wanted: number, signal: AbortSignal) {
      const woken = new AbortController()
      const wake = () => woken.abort()
      wakers.add(wake)
      const either = AbortSignal.any([signal, woken.signal])
      await sleep(hurries ? 5 : wanted, undefined, { signal: either }).catch(() => undefined)
      wakers.delete(wake)
      if (hurries && !signal.aborted) passed += wanted
    },
    hurry() {
      hurries = true
      for (const wake of wakers) wake()
      return passed
    },
    relax: () => {
      hurries = false
    },
    passed: () => passed,
  }
}

function commonest(word: () => string): string {
  const counts = new Map<string, number>()
  for (let i = 0; i < 20_000; i++) {
    const one = word()
    counts.set(one, (counts.get(one) ?? 0) + 1)
  }
  const [first, second] = [...counts].sort(([, a], [, b]) => b - a)
  return `${first?.[0]} ${second?.[0]}`
}

/** Processor time. */
async function worked(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
