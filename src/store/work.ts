// The work of an event: the actions and thoughts of its agent. Kept as long as the event, within bounds; written without delaying the turn.
import { hookOf, type LaneKey } from '../base/event.ts'
import type { RequestState, ShownAsk } from '../base/requests.ts'
import { shownUse, subjectOf } from '../base/shown-use.ts'
import type { Signal } from '../base/signal.ts'
import type { Clock } from '../base/time.ts'
import type { ToolResult, ToolUse } from '../base/tool-use.ts'
import type { EventWork, WorkItem } from '../base/work.ts'
import type { Database, OptionalWrites } from './database.ts'

export interface WorkStore {
  listen(signal: Signal): void
  of(event: number): EventWork
  /** Of the event with this key; null: there is none. */
  ofKey(key: string): EventWork | null
  /** Of the last event of a lane that has any; null: none has lately. */
  lastOf(lane: LaneKey): EventWork | null
}

/** Of one event, over all its attempts. Beyond `characters`, only the labels are kept. */
export const workKept = { items: 300, characters: 400_000, thought: 8000, label: 300 }

/** How many events back the last work of a lane is looked for. */
const lookedAt = 200

interface Action {
  row: number | null
  readonly at: number
  endedAt: number | null
  ok: boolean | null
  label: string
  use: ToolUse | null
  result: ToolResult | null
}

/** What is known of an event while its turn runs. */
interface Running {
  readonly actions: Map<string, Action>
  thought: { readonly at: number; text: string } | null
}

interface Row {
  readonly kind: WorkItem['kind']
  readonly at: number
  readonly ended_at: number | null
  readonly ok: number | null
  readonly body: string
}

export function createWorkStore(
  db: Database,
  clock: Clock,
  { later, settle }: Pick<OptionalWrites, 'later' | 'settle'>,
  show: (text: string) => string,
): WorkStore {
  const sql = {
    add: db.prepare('INSERT INTO work (event, kind, at, ended_at, ok, body) VALUES (?, ?, ?, ?, ?, ?)'),
    // With the event: a row that was lost may have left its id to another one.
    change: db.prepare('UPDATE work SET ended_at = ?, ok = ?, body = ? WHERE id = ? AND event = ?'),
    size: db.prepare('SELECT count(*) AS items, total(length(body)) AS characters FROM work WHERE event = ?'),
    isCut: db.prepare(`SELECT 1 FROM work WHERE event = ? AND kind = 'cut'`),
    of: db.prepare('SELECT kind, at, ended_at, ok, body FROM work WHERE event = ? ORDER BY id'),
    requests: db.prepare('SELECT state, answered_by, body FROM requests WHERE event = ? ORDER BY id'),
    byKey: db.prepare(`SELECT id FROM items WHERE queue = 'in' AND key = ?`),
    last: db.prepare(
      `SELECT id FROM (SELECT id FROM items WHERE lane = ? AND queue = 'in' ORDER BY id DESC LIMIT ${lookedAt}) i
       WHERE EXISTS (SELECT 1 FROM work WHERE event = i.id) ORDER BY id DESC LIMIT 1`,
    ),
  }
  const running = new Map<number, Running>()

  const runningOf = (event: number): Running => {
    const known = running.get(event) ?? { actions: new Map(), thought: null }
    running.set(event, known)
    return known
  }

  /** Whether there is room for one more item, and for these details. */
  const roomFor = (event: number, characters: number) => {
    const size = sql.size.get(event)
    return {
      item: Number(size?.items) < workKept.items,
      details: Number(size?.characters) + characters <= workKept.characters,
    }
  }

  const add = (event: number, kind: WorkItem['kind'], at: number, body: object, action?: Action): number | null => {
    const { item } = roomFor(event, 0)
    if (!item) {
      if (!sql.isCut.get(event)) sql.add.run(event, 'cut', at, null, null, '{}')
      return null
    }
    const ok = okOf(action?.ok ?? null)
    return Number(sql.add.run(event, kind, at, action?.endedAt ?? null, ok, JSON.stringify(body)).lastInsertRowid)
  }

  const bodyOf = (event: number, { label, use, result }: Action) => {
    const whole = {
      label: show(label.slice(0, workKept.label)),
      ...(use && { use: shownUse(use, show) }),
      ...(result && { result: { ...result, output: show(result.output) } }),
    }
    return roomFor(event, JSON.stringify(whole).length).details ? whole : { label: whole.label }
  }

  const write = (event: number, action: Action) => {
    const body = bodyOf(event, action)
    if (action.row === null) action.row = add(event, 'action', action.at, body, action)
    else sql.change.run(action.endedAt, okOf(action.ok), JSON.stringify(body), action.row, event)
  }

  /** A thought is complete once something else happens. */
  const endThought = (event: number) => {
    const known = running.get(event)
    if (!known?.thought) return
    const { at, text } = known.thought
    known.thought = null
    if (text.trim() === '') return
    later(() => {
      const shown = show(text.trim())
      if (roomFor(event, shown.length).details) add(event, 'thought', at, { text: shown })
    })
  }

  function takeAction({ id, action: name, label, phase, use, result }: Extract<Signal, { type: 'turn-acted' }>) {
    endThought(id)
    const { actions } = runningOf(id)
    const action = actions.get(name) ?? {
      ...{ row: null, at: clock.now(), endedAt: null, ok: null, label, use: null, result: null },
    }
    action.label = label
    action.use = use ?? action.use
    action.result = result ?? action.result
    if (phase === 'started') actions.set(name, action)
    else {
      action.endedAt = clock.now()
      action.ok = phase === 'ended'
      actions.delete(name)
    }
    later(() => write(id, action))
  }

  function takeThought(event: number, summary: string) {
    const known = runningOf(event)
    known.thought ??= { at: clock.now(), text: '' }
    known.thought.text = (known.thought.text + summary).slice(0, workKept.thought)
  }

  const of = (event: number): EventWork => {
    settle()
    const requests = sql.requests.all(event).map(row => ({
      state: row.state as RequestState,
      by: row.answered_by === null ? null : String(row.answered_by),
      ask: (JSON.parse(String(row.body)) as { ask: ShownAsk }).ask,
    }))
    /** Each request is for one action; the first one for the same thing. */
    const askedFor = (use: ToolUse) => {
      const found = requests.findIndex(({ ask }) => ask.kind === 'tool' && isSame(ask.use, use))
      const [request] = found < 0 ? [] : requests.splice(found, 1)
      return request ? { state: request.state, by: request.by } : null
    }
    const items = (sql.of.all(event) as unknown as Row[]).map(row => itemOf(row, askedFor))
    return { event, items }
  }

  return {
    listen(signal) {
      // The hooks of an event work for themselves.
      if ('lane' in signal && signal.lane !== null && hookOf(signal.lane) !== null) return
      switch (signal.type) {
        case 'turn-began':
          // Another attempt counts its actions anew.
          running.delete(signal.id)
          return
        case 'turn-acted':
          return takeAction(signal)
        case 'turn-thought':
          return takeThought(signal.id, signal.summary)
        case 'turn-ended':
          endThought(signal.id)
          running.delete(signal.id)
          return
        default:
      }
    },
    of,
    ofKey(key) {
      const row = sql.byKey.get(key)
      return row ? of(Number(row.id)) : null
    },
    lastOf(lane) {
      settle()
      const row = sql.last.get(lane)
      return row ? of(Number(row.id)) : null
    },
  }
}

const okOf = (ok: boolean | null) => (ok === null ? null : ok ? 1 : 0)

/** A backend may describe the same use a little differently when it asks. */
const isSame = (one: ToolUse, other: ToolUse) =>
  one.tool === other.tool && one.work.kind === other.work.kind && subjectOf(one.work) === subjectOf(other.work)

function itemOf(
  { kind, at, ended_at, ok, body }: Row,
  askedFor: (use: ToolUse) => { readonly state: RequestState; readonly by: string | null } | null,
): WorkItem {
  const kept = JSON.parse(body) as { label?: string; text?: string; use?: ToolUse; result?: ToolResult }
  switch (kind) {
    case 'thought':
      return { kind, at, text: kept.text ?? '' }
    case 'cut':
      return { kind, at }
    case 'action':
      return {
        ...{ kind, at, endedAt: ended_at, ok: ok === null ? null : ok === 1, label: kept.label ?? '' },
        ...{ use: kept.use ?? null, result: kept.result ?? null },
        asked: kept.use ? askedFor(kept.use) : null,
      }
    default:
      return kind satisfies never
  }
}
