// Asks people on behalf of running turns: decides by rules what need not be asked, keeps every request on disk before anybody sees it,
// and gives each answer to exactly one turn.
import { createHash } from 'node:crypto'
import { type LaneKey, type NewEvent, type Place, principalOfAll } from '../base/event.ts'
import type { Lanes, Taken } from '../base/lanes.ts'
import type {
  Decision,
  DecisionResult,
  NewRequest,
  Request,
  RequestStore,
  RequestsAdmin,
  RuleScope,
  Settlement,
} from '../base/requests.ts'
import type { Emit } from '../base/signal.ts'
import type { Clock } from '../base/time.ts'
import { type Ask, longestWork, type Question, type ToolUse, type Verdict } from '../base/tool-use.ts'
import type { Caller } from '../base/tools.ts'
import { cutOff } from './events.ts'
import { deniedByRule, inItsWords, inWords, lateAnswer, noteOf, shown, tooLong } from './request-words.ts'

export interface RequestParts {
  readonly store: RequestStore
  readonly clock: Clock
  readonly emit: Emit
  readonly inbox: Pick<Lanes<NewEvent>, 'lend'>
  /** What the rules say about a use of a tool in this turn. */
  rule(use: ToolUse, asking: Asking): RuleVerdict
  /** What "always" would allow; null: nothing sensible. */
  suggest(use: ToolUse, asking: Asking): string | null
  addRule(rule: string, scope: RuleScope, request: Request): Promise<void>
  /** Where people are asked. */
  placeFor(taken: Asking['taken']): Place | null
  /** A text as people may see it. */
  show(text: string): string
  /** Hands a late answer to the agent as a message. */
  accept(event: NewEvent): Promise<unknown>
  settings(): { readonly timeoutMs: number; readonly reminderMs: number }
}

/** The turn that asks. */
export interface Asking {
  readonly taken: Pick<Taken<NewEvent>, 'id' | 'lane' | 'key' | 'item' | 'earlier'>
  readonly backend: string
  readonly folder: string
  readonly allowedTools: readonly string[]
  readonly askTools: readonly string[]
}

/** `by`: the rule that decides; null: the lists of tools do. */
export interface RuleVerdict {
  readonly type: 'allow' | 'ask' | 'deny'
  readonly by: string | null
}

export interface Requests {
  /** The answer to what a running turn asks; null: the turn ended before there was one. Calls `waits` if a person is asked. */
  answerTo(ask: Ask, asking: Asking, waits: () => void, signal: AbortSignal): Promise<Verdict | null>
  /**
   * A question that outlives its turn. Resolves with the answer, or with null after `ms`; an answer that comes later arrives as a
   * message.
   */
  question(question: Question, caller: Caller, ms: number, signal: AbortSignal): Promise<Verdict | null>
  /** The CLI no longer waits for it. */
  withdraw(ask: Ask, asking: Asking): Promise<void>
  /** The event has its end: what it asked is not needed any more. */
  ended(event: number): Promise<void>
  /** For a turn that was interrupted: what became of its requests; null: it had none. */
  noteFor(event: number): string | null
  /** At the start: withdraws what events that have their end had asked. */
  recover(): Promise<void>
  /** Whether a running turn of this lane waits for an answer now. */
  isAsking(lane: LaneKey): boolean
  /** Reminds people of open requests and lets them expire, until the signal aborts. */
  run(signal: AbortSignal): Promise<void>
  readonly admin: RequestsAdmin
}

const listed = 100
const checkEveryMs = 15_000

export function createRequests(parts: RequestParts): Requests {
  const { store, clock, emit } = parts
  /** The uses that wait for an answer now, by request: an answer is for one use, even if the same is asked for twice at once. */
  const waiting = new Map<number, { readonly lane: LaneKey; settle(verdict: Verdict | null): void }>()

  /** What an earlier attempt at the event has asked or been answered, for this use to take up. */
  const takenUp = (ask: Ask, event: number): Request | null =>
    store.pending(event, digestOf(ask)).find(({ id }) => !waiting.has(id)) ?? null

  async function open(ask: Ask, request: Omit<NewRequest, 'ask'>): Promise<Request> {
    const added = await store.add({ ...request, ask: shown(ask, parts.show) }, digestOf(ask))
    emit({ type: 'request-opened', request: added })
    return added
  }

  function requestOf(ask: Ask, asking: Asking): Omit<NewRequest, 'ask'> {
    const { taken, backend, folder } = asking
    const { owner, person } = principalOfAll([...taken.earlier.map(one => one.item), taken.item])
    const { source, replyTo } = taken.item
    return {
      ...{ lane: taken.lane, event: taken.id, key: taken.key, owner, person, source, replyTo, backend, folder },
      place: parts.placeFor(taken),
      rule: ask.kind === 'tool' ? parts.suggest(ask.use, asking) : null,
      lasting: false,
    }
  }

  /** Resolves with the answer, or with null if `signal` aborts first. The slot of the turn is free for others meanwhile. */
  function wait(id: number, lane: string, signal: AbortSignal): Promise<Verdict | null> {
    const work = () =>
      new Promise<Verdict | null>(resolve => {
        const settle = (verdict: Verdict | null) => {
          waiting.delete(id)
          signal.removeEventListener('abort', stop)
          resolve(verdict)
        }
        const stop = () => settle(null)
        if (signal.aborted) return resolve(null)
        waiting.set(id, { lane, settle })
        signal.addEventListener('abort', stop)
      })
    return parts.inbox.lend(lane, work, 'person')
  }

  /** Waits for the answer to an open request, or takes the one that came while nobody waited. */
  async function receive(ask: Ask, request: Request, signal: AbortSignal): Promise<Verdict | null> {
    if (request.state !== 'open') {
      // On disk before the tool runs: after a kill it must be asked for again.
      return (await store.use(request.id)) ? inItsWords(ask, request.verdict, request) : null
    }
    const verdict = await wait(request.id, request.lane, signal)
    if (verdict !== null) return inItsWords(ask, verdict, request)
    if (signal.aborted && signal.reason !== cutOff && !request.lasting) await settle(request.id, withdrawn)
    return null
  }

  async function settle(id: number, how: Settlement): Promise<Request | null> {
    const settled = await store.settle(id, how)
    if (settled) emit({ type: 'request-settled', request: settled })
    if (settled?.state === 'withdrawn') waiting.get(id)?.settle(null)
    return settled
  }

  async function end(id: number, how: Omit<Settlement, 'used'>): Promise<Request | null> {
    const answered = waiting.get(id)
    const settled = await settle(id, { ...how, used: answered !== undefined })
    if (settled === null || how.verdict === null) return settled
    if (answered) answered.settle(how.verdict)
    else if (settled.lasting) await deliverLate(settled)
    return settled
  }

  /** The turn that asked is over: the answer starts the next one. */
  async function deliverLate(request: Request): Promise<void> {
    const { id, lane, replyTo, person, owner, key: origin } = request
    if (!(await store.use(id))) return
    await parts.accept({
      key: `request:${id}`,
      lane,
      what: {
        ...{ kind: 'message', id: `request-${id}`, text: lateAnswer(request) },
        author: { id: person ?? 'owner', name: request.answeredBy ?? 'owner', owner },
      },
      replyTo,
      source: request.source,
      principal: { owner, person, origin },
    })
  }

  async function decide(id: number, decision: Decision, by: string): Promise<DecisionResult> {
    const request = store.find(id)
    if (request === null) return { type: 'unknown' }
    if (request.state !== 'open') return { type: 'late', request }
    const why = misfit(request, decision)
    if (why !== null) return { type: 'refused', why }
    const always = decision.allow ? (decision.always ?? null) : null
    const settled = await end(id, {
      state: decision.allow ? 'allowed' : 'denied',
      verdict: verdictOf(decision),
      ...{ by, always },
    })
    if (settled === null) return { type: 'late', request: store.find(id) ?? request }
    if (always !== null && settled.rule !== null) await parts.addRule(settled.rule, always, settled)
    return { type: 'answered', request: settled }
  }

  async function check(reminded: Set<number>): Promise<void> {
    const { timeoutMs, reminderMs } = parts.settings()
    const open = store.openSince()
    for (const { id, at } of open) {
      const age = clock.now() - at
      if (age >= timeoutMs) {
        const message = `Nobody answered within ${inWords(timeoutMs)}, so this counts as denied.`
        await end(id, { state: 'expired', verdict: { allow: false, message }, by: null, always: null })
      } else if (age >= reminderMs && !reminded.has(id)) {
        reminded.add(id)
        const request = store.find(id)
        if (request) emit({ type: 'request-reminder', request })
      }
    }
    const ids = new Set(open.map(({ id }) => id))
    for (const id of reminded) if (!ids.has(id)) reminded.delete(id)
  }

  return {
    async answerTo(ask, asking, waits, signal) {
      if (ask.kind === 'tool') {
        const { type, by } = parts.rule(ask.use, asking)
        if (type === 'allow') return { allow: true }
        if (type === 'deny') return { allow: false, message: deniedByRule(ask.use.tool, by) }
        // Nobody can allow what they cannot see as a whole.
        if (ask.input.length > longestWork) return { allow: false, message: tooLong(ask.input.length) }
      }
      waits()
      const pending = takenUp(ask, asking.taken.id)
      if (pending?.state === 'open') return receive(ask, pending, signal)
      const verdict = pending && (await receive(ask, pending, signal))
      return verdict ?? receive(ask, await open(ask, requestOf(ask, asking)), signal)
    },

    async question(question, { event, key, lane, place: replyTo, principal: { owner, person } }, ms, signal) {
      const ask: Ask = { id: '', kind: 'question', questions: [question] }
      const late = new AbortController()
      const over = AbortSignal.any([signal, late.signal])
      void clock.sleep(ms, over).then(() => late.abort(cutOff))
      const where = { lane, event, key, owner, person, source: lane.split(':', 1)[0] ?? '', replyTo, place: replyTo }
      const request =
        takenUp(ask, event) ??
        (await open(ask, { ...where, backend: 'The agent', folder: '', rule: null, lasting: true }))
      try {
        return await receive(ask, request, over)
      } finally {
        late.abort(cutOff)
      }
    },

    async withdraw(ask, { taken }) {
      const [open] = store.pending(taken.id, digestOf(ask)).filter(({ state }) => state === 'open')
      if (open) await settle(open.id, withdrawn)
    },

    async ended(event) {
      for (const { id, state, lasting } of store.pendingOf(event))
        if (state === 'open' && !lasting) await settle(id, withdrawn)
    },

    noteFor(event) {
      const notes = store.pendingOf(event).map(noteOf)
      return notes.length === 0 ? null : notes.join('\n')
    },

    async recover() {
      for (const { id } of store.orphans()) await settle(id, withdrawn)
    },

    isAsking: lane => [...waiting.values()].some(one => one.lane === lane),

    async run(signal) {
      const reminded = new Set<number>()
      while (!signal.aborted) {
        await check(reminded)
        await clock.sleep(Math.min(checkEveryMs, parts.settings().timeoutMs), signal)
      }
    },

    admin: {
      list: (which, before) => (which === 'open' ? store.open() : store.all(listed, before ?? null)),
      find: store.find,
      decide,
    },
  }
}

const withdrawn: Settlement = { state: 'withdrawn', verdict: null, by: null, always: null, used: true }

/** An answer is valid for this input only. */
const digestOf = (ask: Ask): string => {
  const { id: _, ...rest } = ask
  const exact = ask.kind === 'tool' ? [ask.use.tool, ask.input] : rest
  return createHash('sha256').update(JSON.stringify(exact)).digest('base64url')
}

function verdictOf(decision: Decision): Verdict {
  if (decision.allow) return { allow: true, ...(decision.answers && { answers: decision.answers }) }
  const words = decision.message.trim()
  return {
    allow: false,
    message: words === '' ? 'The user does not allow this.' : `The user does not allow this: ${words}`,
  }
}

function misfit({ rule, ask }: Request, decision: Decision): string | null {
  if (!decision.allow) return null
  if (decision.always !== undefined && rule === null) return 'This cannot be allowed for always, only this once.'
  if (ask.kind !== 'question') return decision.answers ? 'This is not a question.' : null
  const open = ask.questions.filter(({ question }) => (decision.answers?.[question] ?? '').trim() === '')
  return open.length === 0 ? null : `Not answered: ${open[0]?.question}`
}
