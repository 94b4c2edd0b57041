// Replays the story into the gateway's own stores, with a simulated clock.
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import type { Delivery } from '../src/base/chat.ts'
import { isBackground, type NewEvent } from '../src/base/event.ts'
import type { FollowUp } from '../src/base/lanes.ts'
import type { Signal } from '../src/base/signal.ts'
import type { Clock } from '../src/base/time.ts'
import { composePrompt, wordsOf } from '../src/prompt/index.ts'
import { createDeliveries, wordingFor } from '../src/send/index.ts'
import {
  createActivity,
  createJobStates,
  createQueueStore,
  createTimeline,
  createUsage,
  type Database,
  openDatabase,
  openSessions,
} from '../src/store/index.ts'
import { type Chapter, openChance } from './story.ts'

const day = 86_400_000

export interface Past {
  readonly db: Database
  readonly clock: Clock
  /** The same sequence of numbers every time. */
  chance(): number
  /** Sets the simulated time. */
  goTo(at: number): void
  /** Stores an event from arrival to end; returns its id. */
  play(chapter: Chapter): Promise<number>
  close(): Promise<void>
}

/** Writes immediately: crashes do not matter here. */
export function openPast(dir: string, system: string, now: number): Past {
  const real = openDatabase(join(dir, '.aetheel/aetheel.db'))
  real.prepare('PRAGMA synchronous = OFF').run()
  const direct = <T>(work: () => T): T => work()
  const db: Database = { ...real, write: async work => work(), writeLightly: direct, writeOptionally: direct }
  const chance = openChance(7)
  let at = now - 22 * day
  const clock = { now: () => at, sleep: async () => {} }
  const queueStore = createQueueStore(db, clock, true)
  const sessions = openSessions(db, clock, () => {})
  const timeline = createTimeline(db, clock)
  const usage = createUsage(db, clock)
  const states = createJobStates(db, clock)
  const activity = createActivity({
    path: join(dir, 'activity-log.json'),
    now: clock.now,
    eventOf: timeline.eventOf,
    failed: error => {
      throw error
    },
  })
  const deliveriesTo = createDeliveries(new Map())
  const voice = {
    scrub: (text: string) => text,
    formatTime: (ms: number) => new Date(ms).toTimeString().slice(0, 5),
    loginWith: String,
  }
  const emit = (signal: Signal) => {
    for (const one of [usage, timeline, activity]) one.listen(signal)
  }
  const arrived: number[] = []
  queueStore.watch('out', ({ id }) => arrived.push(id))

  const accept = async (event: NewEvent): Promise<number> => {
    const put = await queueStore.put('in', event.lane, event.key, JSON.stringify(event), 'start')
    if (put.type !== 'stored') throw new Error(`${event.key} was not stored`)
    emit({ type: 'event-accepted', id: put.row.id, source: event.source, lane: event.lane, kind: event.what.kind })
    return put.row.id
  }

  const sendDeliveries = async () => {
    for (const id of arrived.splice(0)) {
      at += 40
      const [row] = await queueStore.take([id], 'lightly')
      const { place, text } = JSON.parse(row?.body ?? '') as Delivery
      emit({ type: 'delivery-sent', id, place, length: text.length })
      await queueStore.settle([id], { type: 'done' })
    }
  }

  const sessionOf = async (lane: string, backend: string) => {
    const known = await sessions.find(lane, backend)
    const anyId = () =>
      'xxxxxxxx-xxxx-4xxx-8xxx-xxxxxxxxxxxx'.replace(/x/g, () => Math.floor(chance() * 16).toString(16))
    await sessions.remember(lane, backend, known?.id ?? anyId(), true)
    return known !== null && !isBackground(lane)
  }

  const work = async (id: number, chapter: Chapter) => {
    const { event, backend, model, tools, firstWordMs, ms, failed, movedFrom, inputTokens, outputTokens, costUsd } =
      chapter
    const { lane, source, what } = event
    const begin = (name: string, resumed: boolean) => {
      emit({ type: 'turn-began', id, lane, backend: name, attempt: 1, resumed, interrupted: false })
      const prompt = composePrompt({ text: wordsOf(event, '-----7c02e91b44') })
      emit({ type: 'turn-asked', id, lane, backend: name, model, prompt, system })
    }
    const person = what.kind === 'message' ? what.author.id : null
    const end = { type: 'turn-ended' as const, id, lane, source, kind: what.kind, person, detail: '' }
    if (movedFrom !== undefined) {
      begin(movedFrom, true)
      at += 700
      emit({
        ...end,
        backend: movedFrom,
        model: 'opus',
        ms: 700,
        firstWordMs: null,
        ok: false,
        why: 'rate-limited',
        usage: null,
      })
      emit({ type: 'turn-moved', id, lane, from: movedFrom, to: backend, why: 'rate-limited' })
    }
    begin(backend, await sessionOf(lane, backend))
    const spoke = failed === 'rate-limited' || failed === 'overloaded' ? null : firstWordMs
    const began = at
    if (spoke !== null) {
      at += spoke
      emit({ type: 'turn-spoke', id, lane, afterMs: spoke })
      for (const label of tools) {
        at += 300
        emit({ type: 'turn-acted', id, lane, action: label, label, phase: 'started' })
        at += Math.round((ms - spoke) / (tools.length + 1)) - 300
        emit({ type: 'turn-acted', id, lane, action: label, label, phase: 'ended' })
      }
    }
    at = Math.max(at, began + (spoke === null ? 800 : ms))
    const spent = failed === null ? { inputTokens, outputTokens, costUsd } : null
    emit({ ...end, backend, model, ms: at - began, firstWordMs: spoke, ok: failed === null, why: failed, usage: spent })
    if (failed === null) sessions.advance(lane, backend, id, null)
  }

  /** The outcome, as people saw it. */
  const outcomeOf = ({ event, backend, answer, failed, movedFrom }: Chapter): readonly FollowUp[] => {
    const instead = movedFrom === undefined ? [] : [{ backend: movedFrom, why: 'rate-limited' } as const]
    const wording = wordingFor(
      event.what.kind,
      failed === null
        ? { type: 'answered', text: answer ?? 'HEARTBEAT_OK', backend, sessionWasLost: false, instead }
        : { type: 'failed', why: failed, detail: '', backend },
      voice,
    )
    return wording ? deliveriesTo({ key: event.key, item: event, earlier: [] }, wording) : []
  }

  const play = async (chapter: Chapter): Promise<number> => {
    at = Math.max(at, chapter.at)
    const { event, failed, laterAt } = chapter
    const { lane, what } = event
    const id = await accept(event)
    if (what.kind === 'cron' || what.kind === 'heartbeat') {
      await states.know(what.kind, what.name, '')
      await states.note(what.kind, what.name, { due: at, fired: at })
    }
    at += 30
    await work(id, chapter)
    if (laterAt !== undefined) {
      emit({ type: 'turn-put-off', id, lane, why: 'rate-limited', until: laterAt })
      await queueStore.settle([id], { type: 'later', at: laterAt, retry: true })
    } else {
      const followUps = outcomeOf(chapter)
      await queueStore.settle(
        [id],
        failed === null ? { type: 'done', followUps } : { type: 'failed', why: failed, followUps },
      )
      await sendDeliveries()
    }
    return id
  }

  return {
    ...{ db, clock, chance, play },
    goTo(time) {
      at = time
    },
    async close() {
      await setImmediate() // the timeline writes a moment later
      await activity.flush()
      await real.close()
    },
  }
}
