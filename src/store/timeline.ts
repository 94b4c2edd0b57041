// The timeline of one event: its steps, and the exact prompt of its agent.

import type { EventView, Step } from '../base/activity.ts'
import type { Usage } from '../base/agent.ts'
import type { Delivery } from '../base/chat.ts'
import {
  eventOfDelivery,
  eventOfInterim,
  hookOf,
  type LaneKey,
  type NewEvent,
  placeName,
  principalOf,
  textOf,
} from '../base/event.ts'
import type { Request } from '../base/requests.ts'
import { excerpt } from '../base/scrub.ts'
import type { Signal } from '../base/signal.ts'
import type { Clock } from '../base/time.ts'
import { seconds } from './activity.ts'
import type { Database } from './database.ts'
import { createOptionalWrites, type OptionalWrites } from './database.ts'

export interface RunningItem {
  readonly id: number
  readonly lane: string
  readonly at: number
  readonly item: NewEvent
}

export interface Timeline {
  listen(signal: Signal): void
  view(id: number): EventView | null
  /** The event that a delivery belongs to; null: none known. */
  eventOf(delivery: number): number | null
  /** Running events, oldest first. */
  running(): readonly RunningItem[]
}

/** Only the prompts of the latest turns are stored; each may be long. */
export const promptsKept = 500
/** An agent that uses tools without end must not fill the disk with steps. */
const stepsPerTurn = 1000
const longestDetail = 300

interface ItemRow {
  readonly id: number
  readonly lane: string
  readonly key: string
  readonly state: string
  readonly body: string
  readonly at: number
  readonly attempts: number
  readonly ended_at: number | null
  readonly why: string | null
}

const states = {
  waiting: 'waiting',
  running: 'running',
  done: 'answered',
  failed: 'failed',
  cancelled: 'refused',
} as const

export function createTimeline(
  db: Database,
  clock: Clock,
  { later, settle, onLoss }: OptionalWrites = createOptionalWrites(db),
): Timeline {
  const columns = 'id, lane, key, state, body, at, attempts, ended_at, why'
  const sql = {
    step: db.prepare('INSERT INTO steps (event, at, what, detail) VALUES (?, ?, ?, ?)'),
    prompt: db.prepare('INSERT INTO prompts (event, at, backend, model, prompt, system) VALUES (?, ?, ?, ?, ?, ?)'),
    system: db.prepare('INSERT INTO system_prompts (text) VALUES (?)'),
    forget: db.prepare('DELETE FROM prompts WHERE id <= ?'),
    oldestSystem: db.prepare('SELECT coalesce(min(system), 0) AS id FROM prompts'),
    forgetSystems: db.prepare('DELETE FROM system_prompts WHERE id < ?'),
    item: db.prepare(`SELECT ${columns} FROM items WHERE id = ? AND queue = 'in'`),
    deliveries: db.prepare(`SELECT ${columns} FROM items WHERE queue = 'out' AND key > ? AND key < ? ORDER BY id`),
    key: db.prepare(`SELECT key FROM items WHERE id = ?`),
    byKey: db.prepare(`SELECT id FROM items WHERE queue = 'in' AND key = ?`),
    running: db.prepare(
      `SELECT ${columns} FROM items WHERE queue = 'in' AND state IN ('waiting', 'running') AND state = 'running' ORDER BY id`,
    ),
    steps: db.prepare('SELECT at, what, detail FROM steps WHERE event = ? ORDER BY id'),
    lastPrompt: db.prepare(
      `SELECT backend, model, prompt, text AS system FROM prompts LEFT JOIN system_prompts ON system_prompts.id = prompts.system
       WHERE event = ? ORDER BY prompts.id DESC LIMIT 1`,
    ),
    actions: db.prepare(`SELECT count(*) AS n FROM work WHERE event = ? AND kind = 'action'`),
    used: db.prepare(
      `SELECT total(input_tokens) AS input, total(output_tokens) AS output, sum(cost_usd) AS cost
       FROM turns WHERE event = ? AND lane = ? AND input_tokens IS NOT NULL HAVING count(*) > 0`,
    ),
  }
  const systems = new Map<string, { readonly text: string; readonly id: number }>()
  const toolsSeen = new Map<number, number>()

  onLoss(() => systems.clear())

  const note = (event: number, what: string, detail: string) => {
    const at = clock.now()
    const short = excerpt(detail, longestDetail)
    later(() => sql.step.run(event, at, what, short))
  }

  /** A step of a turn; steps of a hook of the event carry the name of the hook. */
  const noteOf = ({ id, lane }: { readonly id: number; readonly lane: LaneKey }, what: string, detail: string) => {
    const hook = hookOf(lane)
    note(id, hook === null ? what : `${hook} ${what}`, detail)
  }

  /** Long, and nearly always the same as in the turn before: stored only when it changes. */
  const keepSystem = (backend: string, text: string): number => {
    const last = systems.get(backend)
    if (last?.text === text) return last.id
    const oldest = Number(sql.oldestSystem.get()?.id)
    sql.forgetSystems.run(oldest)
    for (const [name, { id }] of systems) if (id < oldest) systems.delete(name)
    const id = Number(sql.system.run(text).lastInsertRowid)
    systems.set(backend, { text, id })
    return id
  }

  const keepPrompt = ({ id, backend, model, prompt, system }: Extract<Signal, { type: 'turn-asked' }>, at: number) => {
    const { lastInsertRowid } = sql.prompt.run(id, at, backend, model, prompt, keepSystem(backend, system))
    sql.forget.run(Number(lastInsertRowid) - promptsKept)
  }

  const isTooMuch = (event: number) => {
    const seen = (toolsSeen.get(event) ?? 0) + 1
    toolsSeen.set(event, seen)
    return seen > stepsPerTurn
  }

  return {
    listen(signal) {
      switch (signal.type) {
        case 'turn-began': {
          const { backend, attempt, resumed, interrupted } = signal
          const how = [
            backend,
            attempt > 1 ? `attempt ${attempt}` : '',
            resumed ? 'continues its session' : 'a new session',
            interrupted ? 'was cut off before' : '',
          ]
          return noteOf(signal, 'began', how.filter(Boolean).join(', '))
        }
        case 'turn-asked': {
          const { lane, prompt, system } = signal
          const at = clock.now()
          // The prompt shown for an event is its own, not that of one of its hooks.
          if (hookOf(lane) === null) later(() => keepPrompt(signal, at))
          return noteOf(signal, 'prompt', `${prompt.length} characters, and ${system.length} of system prompt`)
        }
        case 'turn-spoke':
          return noteOf(signal, 'first word', `after ${seconds(signal.afterMs)}`)
        case 'turn-acted':
          if (isTooMuch(signal.id)) return
          return noteOf(signal, signal.phase === 'started' ? 'tool' : `tool ${signal.phase}`, signal.label)
        case 'request-opened':
          return note(signal.request.event, 'asked', subjectOf(signal.request))
        case 'request-settled':
          return note(signal.request.event, signal.request.state, subjectOf(signal.request))
        case 'turn-ended': {
          toolsSeen.delete(signal.id)
          const { backend, ms, ok, why } = signal
          return noteOf(signal, 'ended', `${backend}, ${ok ? '' : `${why}, `}${seconds(ms)}`)
        }
        case 'turn-troubled':
          return note(signal.id, 'trouble', signal.why)
        case 'turn-moved':
          return note(signal.id, 'moved', `from ${signal.from} to ${signal.to}: ${signal.why}`)
        case 'turn-put-off':
          return note(signal.id, 'put off', signal.why)
        case 'event-set-aside':
          return note(signal.id, 'set aside', `after ${signal.attempts} attempts`)
        default:
      }
    },

    view(id) {
      settle()
      const row = sql.item.get(id) as ItemRow | undefined
      if (!row) return null
      const event = JSON.parse(row.body) as NewEvent
      const recorded = sql.steps.all(id) as unknown as Step[]
      // '#' starts everything that belongs to a key; '$' sorts right after it.
      const deliveries = sql.deliveries.all(`${row.key}#`, `${row.key}$`) as unknown as ItemRow[]
      const steps = [{ at: row.at, what: 'queued', detail: event.source }, ...recorded, ...deliveries.flatMap(sending)]
      const prompt = sql.lastPrompt.get(id)
      return {
        id,
        lane: row.lane,
        kind: event.what.kind,
        source: event.source,
        state: states[row.state as keyof typeof states],
        at: row.at,
        endedAt: row.ended_at,
        attempts: Math.max(row.attempts, recorded.filter(({ what }) => what === 'began').length),
        asked: textOf(event.what),
        answer: answerIn(deliveries, row.key),
        person: 'author' in event.what ? event.what.author.name : principalOf(event).person,
        steps: steps.sort((a, b) => a.at - b.at),
        actions: Number(sql.actions.get(id)?.n),
        prompt: prompt
          ? {
              backend: String(prompt.backend),
              model: prompt.model === null ? null : String(prompt.model),
              text: String(prompt.prompt),
              system: prompt.system === null ? '' : String(prompt.system),
            }
          : null,
        usage: usageOf(sql.used.get(id, row.lane)),
      }
    },

    eventOf(delivery) {
      const row = sql.key.get(delivery)
      if (!row) return null
      const key = eventOfInterim(eventOfDelivery(String(row.key)))
      return (sql.byKey.get(key) as { id: number } | undefined)?.id ?? null
    },

    running: () =>
      (sql.running.all() as unknown as ItemRow[]).map(({ id, lane, at, body }) => ({
        ...{ id, lane, at },
        item: JSON.parse(body) as NewEvent,
      })),
  }
}

function sending({ body, state, ended_at, why, at }: ItemRow): readonly Step[] {
  const { place, kind, text } = JSON.parse(body) as Delivery
  const where = `${kind === 'final' ? '' : `${kind}, `}${text.length} characters to ${placeName(place)}`
  switch (state) {
    case 'done':
      return [{ at: ended_at ?? at, what: 'sent', detail: where }]
    case 'failed':
      return [{ at: ended_at ?? at, what: 'not sent', detail: `${where}: ${why ?? ''}` }]
    case 'cancelled':
      return [{ at: ended_at ?? at, what: 'fetched', detail: where }]
    default:
      return [{ at, what: 'to be sent', detail: where }]
  }
}

/** The pieces of the final, in order; messages sent during the turn are not the answer. */
function answerIn(deliveries: readonly ItemRow[], key: string): string | null {
  const pieces = deliveries
    .filter(one => eventOfDelivery(one.key) === key)
    .map(one => JSON.parse(one.body) as Delivery)
    .filter(({ kind }) => kind === 'final')
  return pieces.length === 0 ? null : pieces.map(({ text }) => text).join('\n')
}

function usageOf(row: Record<string, unknown> | undefined): Usage | null {
  if (!row) return null
  return {
    inputTokens: Number(row.input),
    outputTokens: Number(row.output),
    costUsd: row.cost === null ? null : Number(row.cost),
  }
}

/** What was asked for, and by whom it was answered. */
const subjectOf = ({ ask, answeredBy }: Request): string =>
  `${ask.kind === 'tool' ? ask.use.tool : ask.kind}${answeredBy === null ? '' : `, by ${answeredBy}`}`
