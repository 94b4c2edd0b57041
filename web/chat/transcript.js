// The state of one conversation: its turns, updated by the frames of the gateway.
import { messageOf } from './request-words.js'

/**
 * @typedef {{
 *   id: string,
 *   text: string | null,               null: sent elsewhere, only the answer is known
 *   attachments: { id?: string, name: string, bytes: number }[],
 *   at: number,
 *   state: 'sending' | 'accepted' | 'waiting' | 'running' | 'answered' | 'failed' | 'refused' | 'asked',   asked: only requests of something else
 *   deferred: boolean,                 while sending: the gateway is away, sent after the reconnect
 *   position: number,
 *   reason: string,
 *   draft: string,
 *   actions: { label: string, phase: string }[],
 *   note: string,
 *   work: number,                      how many actions the gateway has stored, as far as known
 *   requests: import('./request-words.js').Request[],
 *   answer: { text: string, ok: boolean, at: number, files: string[] } | null,
 *   gap: boolean,                      messages before it are not loaded
 *   change: { type: 'edit', text: string } | { type: 'cancel' } | null,   requested, not yet confirmed
 * }} Turn
 */

const ended = new Set(['answered', 'failed', 'refused', 'asked'])
/** The order of the states. A message never goes back, since old frames may arrive again. */
const progress = { sending: 0, accepted: 1, waiting: 2, running: 3, refused: 4, failed: 4, answered: 4, asked: 4 }

/** @param {{ changed: (turn: Turn) => void, reordered: () => void, now: () => number, conversation: () => string | null }} listener */
export const createTranscript = ({ changed, reordered, now, conversation }) => {
  /** @type {Turn[]} */
  let turns = []
  /** The turn after the gap, and the turn after the messages inserted last. */
  let gap = null
  let following = null
  const find = id => turns.find(turn => turn.id === id)

  const addTurn = (id, text, state, { at = now(), attachments = [] } = {}) => {
    const turn = {
      id,
      text,
      attachments,
      at,
      state,
      deferred: false,
      position: 0,
      reason: '',
      draft: '',
      actions: [],
      note: '',
      work: 0,
      requests: [],
      answer: null,
      gap: false,
      change: null,
    }
    turns.push(turn)
    return turn
  }
  const known = id => find(id) ?? addTurn(id, null, 'accepted')

  const on = {
    accepted({ id }) {
      const turn = find(id)
      if (turn === undefined) return null
      if (turn.state === 'sending') turn.state = 'accepted'
      if (turn.change?.type === 'edit') {
        turn.text = turn.change.text
        turn.change = null
      }
      return turn
    },
    /** Written or edited in another window. */
    said({ id, text, attachments }) {
      const turn = find(id)
      if (turn === undefined) return addTurn(id, String(text), 'accepted', { attachments: listOf(attachments) })
      if (ended.has(turn.state) && turn.text !== null) return null
      if (turn.state === 'sending') turn.state = 'accepted'
      turn.text = String(text)
      turn.attachments = listOf(attachments)
      return turn
    },
    waiting({ id, position }) {
      const turn = find(id)
      if (turn === undefined || progress[turn.state] > progress.waiting) return null
      turn.state = 'waiting'
      turn.position = Number(position) || 0
      return turn
    },
    draft({ id, text }) {
      const turn = known(id)
      if (ended.has(turn.state)) return null
      begin(turn)
      turn.draft = String(text)
      return turn
    },
    action({ id, label, phase }) {
      const turn = known(id)
      if (ended.has(turn.state)) return null
      const running = turn.actions.findLast(action => action.label === label && action.phase === 'started')
      if (phase === 'notice') turn.note = label
      else if (phase === 'failed' && running === undefined && turn.change !== null) {
        turn.change = null // too late, or not allowed: the message stays as it was
        turn.note = label
      } else {
        begin(turn)
        if (running !== undefined) running.phase = phase
        else turn.actions.push({ label, phase })
      }
      return turn
    },
    final({ id, text, ok, files }) {
      const turn = known(id)
      end(turn, { text: String(text), ok: ok !== false, at: turn.answer?.at ?? now(), files: listOf(files) })
      return turn
    },
    refused({ id, reason }) {
      const turn = find(id)
      if (turn === undefined || turn.answer !== null) return null
      turn.change = null
      // Refused because the gateway is stopping, so not stored: sent again under the same id after the reconnect.
      if (turn.state === 'sending' && String(reason).startsWith('Stopping:')) turn.deferred = true
      else {
        turn.state = 'refused'
        turn.reason = String(reason)
      }
      return turn
    },
  }

  /** An edit or cancel requested in the meantime is still pending and gets its own response. */
  const begin = turn => {
    turn.state = 'running'
  }
  const end = (turn, answer) => {
    turn.answer = answer
    turn.state = answer.ok ? 'answered' : 'failed'
    turn.draft = ''
    turn.note = ''
    turn.change = null
    turn.actions = turn.actions.map(({ label, phase }) => ({ label, phase: phase === 'started' ? 'ended' : phase }))
  }

  /** Merges stored messages into the turns by id; returns these turns in the order of the messages. */
  const learn = messages => {
    const order = new Set()
    for (const message of Array.isArray(messages) ? messages : []) {
      if (typeof message?.id !== 'string') continue
      const turn = known(message.id)
      order.add(turn)
      if (message.role === 'agent') {
        if (turn.text === null) turn.at = message.at ?? turn.at
        const files = listOf(message.files)
        end(turn, { text: String(message.text), ok: message.ok !== false, at: message.at ?? turn.at, files })
      } else {
        turn.text = String(message.text)
        turn.attachments = listOf(message.attachments)
        turn.at = message.at ?? turn.at
        turn.change = null
        if (turn.state === 'sending') turn.state = 'accepted'
        if (progress[message.state] > progress[turn.state]) turn.state = message.state
      }
    }
    return [...order]
  }

  /** Keeps a request with its turn; returns that turn, null if it is of no message here and has ended. */
  const keepRequest = request => {
    if (!Number.isSafeInteger(request?.id)) return null
    const message = messageOf(request, conversation())
    const turn =
      find(message ?? `request:${request.id}`) ??
      (request.state === 'open'
        ? addTurn(message ?? `request:${request.id}`, null, message === null ? 'asked' : 'accepted')
        : null)
    if (turn === null) return null
    const place = turn.requests.findIndex(({ id }) => id === request.id)
    // Older news may arrive later.
    if (place < 0) turn.requests = [...turn.requests, request].sort((a, b) => a.id - b.id)
    else if (turn.requests[place].state === 'open') turn.requests = turn.requests.with(place, request)
    else return null
    return turn
  }
  const keepRequests = requests => {
    for (const request of listOf(requests)) keepRequest(request)
  }

  const keepWork = work => {
    for (const [id, count] of Object.entries(work ?? {})) {
      const turn = find(id)
      if (turn !== undefined) turn.work = Number(count) || 0
    }
  }

  /** Merges the history with the turns on the page: no duplicates, no state goes back. */
  const merge = (messages, requests, work) => {
    const there = new Set(turns)
    const order = learn(messages)
    if (order.length === 0) {
      keepRequests(requests)
      if (turns.length > there.size) reordered()
      return
    }
    const first = Math.min(...order.filter(turn => there.has(turn)).map(turn => turns.indexOf(turn)))
    const others = turns.filter(turn => !order.includes(turn))
    const before = others.filter(turn => turns.indexOf(turn) < first && turn.state !== 'sending')
    turns = [...before, ...order, ...others.filter(turn => !before.includes(turn))]
    keepRequests(requests)
    keepWork(work)
    reordered()
  }

  return {
    turns: () => turns,
    find,
    clear() {
      turns = []
      gap = following = null
      reordered()
    },
    /** Inserts older messages by their time. */
    prepend(messages, requests, work) {
      const order = learn(messages)
      const others = turns.filter(turn => !order.includes(turn))
      const place = order.length === 0 ? -1 : others.findIndex(turn => turn.at >= order.at(-1).at)
      const at = place < 0 ? others.length : place
      following = others[at] ?? null
      turns = [...others.slice(0, at), ...order, ...others.slice(at)]
      keepRequests(requests)
      keepWork(work)
      reordered()
    },
    /** Whether messages are missing between the inserted part and the newest part. */
    setGap(there) {
      const next = there ? (gap ?? following) : null
      if (next === gap) return
      for (const turn of [gap, next]) {
        if (turn === null) continue
        turn.gap = turn === next
        changed(turn)
      }
      gap = next
    },
    dropBeforeGap() {
      turns = turns.slice(Math.max(0, turns.indexOf(gap)))
      reordered()
    },
    add(id, text, attachments, at) {
      changed(addTurn(id, text, 'sending', { at, attachments }))
    },
    /** True: it cannot be sent now. False: it is being sent. */
    setDeferred(id, deferred) {
      const turn = find(id)
      if (turn?.state !== 'sending' || turn.deferred === deferred) return
      turn.deferred = deferred
      changed(turn)
    },
    drop(id) {
      turns = turns.filter(turn => turn.id !== id)
      reordered()
    },
    /** An edit or cancel that the gateway has not confirmed yet. */
    change(id, change) {
      const turn = find(id)
      if (turn === undefined) return
      turn.change = change
      turn.note = ''
      changed(turn)
    },
    /** The connection broke, so pending changes will not be confirmed. Returns the pending edits. */
    forgetChanges() {
      const asked = turns.filter(one => one.change !== null)
      const edits = asked.flatMap(({ id, change }) => (change.type === 'edit' ? [{ id, text: change.text }] : []))
      for (const turn of asked) {
        turn.change = null
        changed(turn)
      }
      return edits
    },
    /** Ids of the turns the gateway has stored, which can be loaded again. */
    stored: () => new Set(turns.filter(({ state }) => state !== 'sending' && state !== 'refused').map(({ id }) => id)),
    forget(ids) {
      turns = turns.filter(({ id }) => !ids.has(id))
      reordered()
    },
    take(frame) {
      if (frame.type === 'history') return merge(frame.messages, frame.requests, frame.work)
      if (frame.type === 'request') {
        const turn = keepRequest(frame.request)
        if (turn !== null) changed(turn)
        return
      }
      if (!Object.hasOwn(on, frame.type) || typeof frame.id !== 'string') return // a frame type this page does not know
      const turn = on[frame.type](frame)
      if (turn !== null) changed(turn)
    },
    isBusy: () => turns.some(turn => turn.state === 'running' || turn.state === 'accepted'),
  }
}

const listOf = given => (Array.isArray(given) ? given : [])
