// Turns with a scripted backend for tests. Records what the backend was asked, the stored sessions and how each turn ended.
import type { AgentEvent, Backend, Ended, Live, Turn, TurnEnd } from '../base/agent.ts'
import type { NewEvent } from '../base/event.ts'
import type { PastMessage } from '../base/history.ts'
import type { Taken } from '../base/lanes.ts'
import type { Session, Sessions } from '../base/sessions.ts'
import type { Signal } from '../base/signal.ts'
import type { Clock } from '../base/time.ts'
import { openCooldowns } from './route.ts'
import { createTurns, type InlineHook, type TurnParts } from './turn.ts'

export const now = 1_000_000
const sleep: Clock['sleep'] = (_, signal) => new Promise(resolve => signal.addEventListener('abort', () => resolve()))

export function memorySessions(): Sessions & { readonly kept: Map<string, Session> } {
  const kept = new Map<string, Session>()
  const keyOf = (lane: string, backend: string) => JSON.stringify([lane, backend])
  return {
    kept,
    find: async (lane, backend) => kept.get(keyOf(lane, backend)) ?? null,
    remember: async (lane, backend, id, confirmed) => {
      const known = kept.get(keyOf(lane, backend))
      const rest = known?.id === id ? known : { through: 0, totals: null, received: null }
      kept.set(keyOf(lane, backend), { ...rest, id, confirmed })
    },
    advance(lane, backend, through, totals) {
      const known = kept.get(keyOf(lane, backend))
      if (known) kept.set(keyOf(lane, backend), { ...known, through, totals })
    },
    receive(lane, backend, received) {
      const known = kept.get(keyOf(lane, backend))
      if (known) kept.set(keyOf(lane, backend), { ...known, received })
    },
    forget: async (lane, backend) => void kept.delete(keyOf(lane, backend)),
  }
}

export type Script = (turn: Turn, signal: AbortSignal) => readonly AgentEvent[] | Promise<readonly AgentEvent[]>

export const answer = (text: string, session: string | null = 's-1'): AgentEvent[] => [
  { type: 'started', session },
  { type: 'text', delta: text },
  { type: 'ended', ok: true, text },
]
export const answered = (text: string, given: Partial<Extract<TurnEnd, { type: 'answered' }>> = {}): TurnEnd => ({
  ...{ type: 'answered', text, backend: 'scripted', sessionWasLost: false, instead: [] },
  ...given,
})
export const failure = (why: Extract<Ended, { ok: false }>['why'], extra: { until?: number } = {}): Ended => ({
  type: 'ended',
  ok: false,
  why,
  detail: `because ${why}`,
  ...extra,
})

export function createTestTurns(
  script: Script,
  given: {
    takesSessionIds?: boolean
    hasRoom?: () => boolean
    systemPrompt?: () => Promise<string>
    history?: readonly PastMessage[]
    settings?: Partial<ReturnType<TurnParts['settings']>>
    standBys?: readonly Backend[]
    reset?: boolean
    backend?: Backend
    model?: string | null
    newSessionId?: () => string
    compose?: TurnParts['compose']
    hooks?: Partial<Record<InlineHook, string>>
    happened?: (what: string) => void
  } = {},
) {
  const asked: Turn[] = []
  const ends: TurnEnd[] = []
  const signals: Signal[] = []
  const shown: string[] = []
  const keys: string[] = []
  const sessions = memorySessions()
  let waited = 0
  const clock: Clock = { now: () => now + waited, sleep }
  const cooldowns = openCooldowns(clock, signal => signals.push(signal))
  const backend: Backend = given.backend ?? {
    name: 'scripted',
    takesSessionIds: given.takesSessionIds ?? true,
    check: async () => ({ ok: true, detail: '' }),
    async *run(turn, signal) {
      asked.push(turn)
      yield* await script(turn, signal)
    },
    ignores: () => [],
    prepare: async () => undefined,
  }
  let ids = 0
  const take = createTurns({
    route: () => [
      { backend, model: given.model === undefined ? 'm' : given.model },
      ...(given.standBys ?? []).map(one => ({ backend: one, model: null })),
    ],
    sessions,
    clock,
    cooldowns,
    chance: () => 0.5,
    hasRoom: given.hasRoom ?? (() => true),
    emit: signal => signals.push(signal),
    newSessionId: given.newSessionId ?? (() => `chosen-${++ids}`),
    settings: () => ({
      maxTurns: 25,
      allowedTools: ['Read'],
      askTools: [],
      permissionMode: 'plan',
      workingDir: '/w',
      silenceMs: 1000,
      ceilingMs: 5000,
      timezone: () => 'UTC',
      ...given.settings,
    }),
    requests: {
      answerTo: async () => ({ allow: false, message: 'There is nobody to ask.' }),
      withdraw: async () => undefined,
      noteFor: () => null,
      ended: async () => undefined,
    },
    steerable: new Map(),
    confine: async () => null,
    systemPrompt: given.systemPrompt ?? (async () => 'the system prompt'),
    compose: given.compose ?? plainly,
    history: (_, after) => (after === 0 ? (given.history ?? []) : []),
    wasReset: () => given.reset ?? false,
    openLive: (): Live => ({
      text: delta => shown.push(delta),
      action: (label, phase) => shown.push(`${label} ${phase}`),
      close: async () => undefined,
    }),
    equip: ({ key }) => {
      keys.push(key)
      return { mcpServers: [], words: '', leave: () => undefined }
    },
    hook: async name => {
      const instruction = given.hooks?.[name]
      if (instruction === undefined) return null
      return {
        key: name,
        lane: `hook:${name}`,
        what: { kind: 'hook', name, instruction },
        replyTo: null,
        source: 'hook',
      }
    },
    guardTurn: () => {
      given.happened?.('attended')
      return async () => given.happened?.('left')
    },
    followUpsOf: ({ item }, end) => {
      ends.push(end)
      return [{ queue: 'out', lane: JSON.stringify(item.replyTo), key: 'k', item: end }]
    },
  })
  const wait = (ms: number) => {
    waited += ms
  }
  return { take, asked, ends, signals, shown, keys, sessions, cooldowns, wait }
}

const plainly: TurnParts['compose'] = ({ event, earlier, received, history, interrupted }) =>
  [
    ...history.map(said => `H:${said.text}`),
    ...(interrupted ? ['INTERRUPTED'] : []),
    ...(received === 'nothing' ? [] : ['HEARD']),
    ...(received === 'all' ? [] : [...earlier, event]).map(({ what }) =>
      'text' in what ? what.text : what.instruction,
    ),
  ].join('\n')

export const taken = (given: Partial<Taken<NewEvent>> & { text?: string } = {}): Taken<NewEvent> => ({
  id: 1,
  lane: 'chat:room',
  key: 'k1',
  item: messageOf(given.text ?? 'hello'),
  at: now,
  attempt: 1,
  retries: 0,
  interrupted: false,
  putOff: false,
  earlier: [],
  ...given,
})
export const messageOf = (text: string): NewEvent => ({
  key: 'k1',
  lane: 'chat:room',
  what: { kind: 'message', id: 'm1', text, author: { id: 'a', name: 'a', owner: true } },
  replyTo: { chat: 'chat', conversation: 'room' },
  source: 'chat',
})
export const never = new AbortController().signal
