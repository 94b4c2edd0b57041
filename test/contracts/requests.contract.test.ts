// What agents ask people: on disk before anybody sees it, answered at most once, and every answer reaches exactly one turn. On a real
// database, across restarts.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, expect, test } from 'vitest'
import type { NewEvent } from '../../src/base/event.ts'
import type { Signal } from '../../src/base/signal.ts'
import { type Ask, canonicalJson, type Question, type Verdict } from '../../src/base/tool-use.ts'
import { createRequests, cutOff } from '../../src/run/index.ts'
import { createRequestStore, type Database, openDatabase } from '../../src/store/index.ts'
import { simulatedTime } from '../fakes/simulated-time.ts'

const closing: (() => Promise<void>)[] = []
const folders: string[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
  for (const dir of folders.splice(0)) rmSync(dir, { recursive: true, force: true })
})

const event: NewEvent = {
  key: 'webchat:home:1',
  lane: 'webchat:home',
  what: { kind: 'message', id: '1', text: 'go', author: { id: 'owner', name: 'owner', owner: true } },
  replyTo: { chat: 'webchat', conversation: 'home' },
  source: 'webchat',
}
const asking = {
  taken: { id: 7, lane: event.lane, key: event.key, item: event, earlier: [] },
  ...{ backend: 'claude', folder: '/space', allowedTools: ['Read'], askTools: ['Bash'] },
}
const run = (command: string, tool = 'Bash'): Ask => ({
  ...{ id: command, kind: 'tool', input: canonicalJson({ command }) },
  use: { tool, work: { kind: 'command', command } },
})
const day = 86_400_000
const never = new AbortController().signal

interface Gateway {
  readonly requests: ReturnType<typeof createRequests>
  readonly signals: Signal[]
  readonly accepted: NewEvent[]
  readonly added: string[]
  readonly time: ReturnType<typeof simulatedTime>
  readonly db: Database
  /** Ends it without a word, as a kill does. */
  kill(): Promise<void>
}

function open(dir: string): Gateway {
  const time = simulatedTime(1_000_000)
  const db = openDatabase(join(dir, 'test.db'))
  const store = createRequestStore(db, time.clock)
  const signals: Signal[] = []
  const accepted: NewEvent[] = []
  const added: string[] = []
  const requests = createRequests({
    ...{ store, clock: time.clock },
    emit(signal) {
      signals.push(signal)
      if (signal.type === 'request-opened') expect(store.find(signal.request.id)).toEqual(signal.request)
    },
    inbox: { lend: async (_, work) => work() },
    rule: ({ tool }, { allowedTools, askTools }) =>
      allowedTools.includes(tool)
        ? { type: 'allow', by: null }
        : { type: askTools.includes(tool) ? 'ask' : 'deny', by: null },
    suggest: ({ work }) => (work.kind === 'command' && work.command.startsWith('git') ? 'Bash(git:*)' : null),
    addRule: async (rule, scope) => void added.push(`${rule} ${scope}`),
    placeFor: ({ item }) => item.replyTo,
    show: text => text.replaceAll('hunter2', '…'),
    accept: async late => void accepted.push(late),
    settings: () => ({ timeoutMs: day, reminderMs: day / 24 }),
  })
  const kill = once(() => db.close())
  closing.push(kill)
  return { requests, signals, accepted, added, time, db, kill }
}

const once = (work: () => Promise<void>) => {
  let done: Promise<void> | null = null
  return () => {
    done ??= work()
    return done
  }
}

const newFolder = () => {
  const dir = mkdtempSync(join(tmpdir(), 'aetheel-requests-'))
  folders.push(dir)
  return dir
}

const soon = () => new Promise(setImmediate)
const opened = async ({ requests }: Gateway, n = 1) => {
  for (let i = 0; i < 100 && requests.admin.list('open').length < n; i++) await soon()
  return requests.admin.list('open')
}
const ask = ({ requests }: Gateway, what: Ask, signal: AbortSignal = never) => {
  let verdict: Verdict | null | undefined
  const done = requests
    .answerTo(what, asking, () => undefined, signal)
    .then(one => {
      verdict = one
    })
  return { done, verdict: () => verdict }
}

test('a tool that is allowed anyway, or not available at all, is not asked for', async () => {
  const gateway = open(newFolder())
  expect(await gateway.requests.answerTo(run('x', 'Read'), asking, () => undefined, never)).toEqual({ allow: true })
  expect(await gateway.requests.answerTo(run('x', 'Task'), asking, () => undefined, never)).toMatchObject({
    allow: false,
  })
  expect(gateway.requests.admin.list('all')).toEqual([])
})

test('what is too long to be shown as a whole cannot be allowed by anybody', async () => {
  const gateway = open(newFolder())
  const verdict = await gateway.requests.answerTo(run('x'.repeat(70_000)), asking, () => undefined, never)
  expect(verdict).toMatchObject({ allow: false, message: expect.stringContaining('smaller steps') })
  expect(gateway.requests.admin.list('all')).toEqual([])
})

test('a request is on disk before anybody is told, and its answer reaches the turn', async () => {
  const gateway = open(newFolder())
  const asked = ask(gateway, run('touch x'))
  const [request] = await opened(gateway)
  expect(gateway.signals).toEqual([{ type: 'request-opened', request }])
  expect(request).toMatchObject({ lane: 'webchat:home', event: 7, folder: '/space', state: 'open', owner: true })
  expect(asked.verdict()).toBeUndefined()
  const result = await gateway.requests.admin.decide(request?.id ?? 0, { allow: true }, 'owner')
  expect(result).toMatchObject({ type: 'answered', request: { state: 'allowed', answeredBy: 'owner' } })
  await asked.done
  expect(asked.verdict()).toEqual({ allow: true })
})

test('the words of a denial reach the agent', async () => {
  const gateway = open(newFolder())
  const asked = ask(gateway, run('rm -rf x'))
  const [request] = await opened(gateway)
  await gateway.requests.admin.decide(request?.id ?? 0, { allow: false, message: 'Move it to the bin.' }, 'owner')
  await asked.done
  expect(asked.verdict()).toEqual({ allow: false, message: 'The user does not allow this: Move it to the bin.' })
})

test('the second of two answers is late and changes nothing', async () => {
  const gateway = open(newFolder())
  const asked = ask(gateway, run('x'))
  const [request] = await opened(gateway)
  const id = request?.id ?? 0
  const results = await Promise.all([
    gateway.requests.admin.decide(id, { allow: true }, 'ada'),
    gateway.requests.admin.decide(id, { allow: false, message: '' }, 'bob'),
  ])
  expect(results.map(({ type }) => type)).toEqual(['answered', 'late'])
  await asked.done
  expect(asked.verdict()).toEqual({ allow: true })
  expect(await gateway.requests.admin.decide(99, { allow: true }, 'ada')).toEqual({ type: 'unknown' })
})

test('a secret in a command is not shown, and two commands that differ only in it are two requests', async () => {
  const gateway = open(newFolder())
  const all = [ask(gateway, run('login hunter2')), ask(gateway, run('login …'))]
  const requests = await opened(gateway, 2)
  expect(JSON.stringify(requests)).not.toContain('hunter2')
  expect(requests).toHaveLength(2)
  for (const { id } of requests) await gateway.requests.admin.decide(id, { allow: true }, 'owner')
  await Promise.all(all.map(one => one.done))
})

test('always adds the suggested rule, and is refused where there is none', async () => {
  const gateway = open(newFolder())
  const all = [ask(gateway, run('git status')), ask(gateway, run('make'))]
  const [git, make] = await opened(gateway, 2)
  await gateway.requests.admin.decide(git?.id ?? 0, { allow: true, always: 'project' }, 'owner')
  expect(gateway.added).toEqual(['Bash(git:*) project'])
  const refused = await gateway.requests.admin.decide(make?.id ?? 0, { allow: true, always: 'everywhere' }, 'owner')
  expect(refused.type).toBe('refused')
  await gateway.requests.admin.decide(make?.id ?? 0, { allow: true }, 'owner')
  await Promise.all(all.map(one => one.done))
})

test('a stopped turn withdraws its request; one that is cut off by the gateway leaves it open', async () => {
  const gateway = open(newFolder())
  const stop = new AbortController()
  const cut = new AbortController()
  const [stopped, interrupted] = [ask(gateway, run('a'), stop.signal), ask(gateway, run('b'), cut.signal)]
  await opened(gateway, 2)
  stop.abort('stopped')
  cut.abort(cutOff)
  await Promise.all([stopped.done, interrupted.done])
  expect([stopped.verdict(), interrupted.verdict()]).toEqual([null, null])
  expect(gateway.requests.admin.list('open')).toMatchObject([{ ask: { use: { work: { command: 'b' } } } }])
  expect(gateway.signals.at(-1)).toMatchObject({ type: 'request-settled', request: { state: 'withdrawn' } })
})

test('at the end of the event, and at the next start, what is not needed any more is withdrawn', async () => {
  const dir = newFolder()
  const first = open(dir)
  void ask(first, run('a'))
  await opened(first)
  await first.requests.ended(7)
  expect(first.requests.admin.list('open')).toEqual([])
  void ask(first, run('b'))
  await opened(first)
  await first.kill()
  const second = open(dir)
  await second.requests.recover()
  expect(second.requests.admin.list('open')).toEqual([])
})

test('nobody answers: a reminder, then a denial that says so', async () => {
  const gateway = open(newFolder())
  const asked = ask(gateway, run('x'))
  await opened(gateway)
  const running = gateway.requests.run(never)
  await gateway.time.pass(day / 24 + 60_000)
  expect(gateway.signals.map(({ type }) => type)).toEqual(['request-opened', 'request-reminder'])
  await gateway.time.pass(day)
  await asked.done
  expect(asked.verdict()).toEqual({ allow: false, message: 'Nobody answered within 1 day, so this counts as denied.' })
  void running
})

const question: Question = { question: 'Tea or hunter2?', header: '', multiple: false, options: [] }

test('the answer to a question arrives under the words of the agent', async () => {
  const gateway = open(newFolder())
  const asked = ask(gateway, { id: 'q', kind: 'question', questions: [question] })
  const [request] = await opened(gateway)
  const id = request?.id ?? 0
  expect(await gateway.requests.admin.decide(id, { allow: true }, 'owner')).toMatchObject({ type: 'refused' })
  await gateway.requests.admin.decide(id, { allow: true, answers: { 'Tea or …?': 'Tea' } }, 'owner')
  await asked.done
  expect(asked.verdict()).toEqual({ allow: true, answers: { 'Tea or hunter2?': 'Tea' } })
})

test('a question outlives its turn: a late answer arrives as a message, once', async () => {
  const gateway = open(newFolder())
  const caller = {
    ...{ event: 7, key: event.key, lane: event.lane, place: event.replyTo, agent: null },
    principal: { owner: true, person: 'owner', origin: event.key },
  }
  const waiting = gateway.requests.question(question, caller, 1000, never)
  const [request] = await opened(gateway)
  await gateway.time.pass(2000)
  expect(await waiting).toBeNull()
  await gateway.requests.ended(7)
  const id = request?.id ?? 0
  await gateway.requests.admin.decide(id, { allow: true, answers: { 'Tea or …?': 'Tea' } }, 'owner')
  await gateway.requests.admin.decide(id, { allow: true, answers: { 'Tea or …?': 'Coffee' } }, 'owner')
  expect(gateway.accepted).toMatchObject([
    { key: `request:${id}`, lane: 'webchat:home', what: { text: expect.stringContaining('Tea') } },
  ])
})

test('after a kill, the turn is told what was answered meanwhile, and what was allowed passes once, for exactly that input', async () => {
  const dir = newFolder()
  const first = open(dir)
  void ask(first, run('touch a'))
  void ask(first, run('touch b'))
  void ask(first, run('touch c'))
  await opened(first, 3)
  await first.kill()
  const second = open(dir)
  const [a, b] = second.requests.admin.list('open')
  await second.requests.admin.decide(a?.id ?? 0, { allow: true }, 'owner')
  await second.requests.admin.decide(b?.id ?? 0, { allow: false, message: 'No.' }, 'owner')
  const note = second.requests.noteFor(7) ?? ''
  expect(note).toMatch(/touch a.*allowed meanwhile[\s\S]*touch b.*not allowed.*No\.[\s\S]*touch c.*no answer yet/)
  await second.kill()
  const third = open(dir)
  const asked = [ask(third, run('touch a')), ask(third, run('touch b')), ask(third, run('touch a  '))]
  await Promise.all(asked.slice(0, 2).map(one => one.done))
  expect(asked[0]?.verdict()).toEqual({ allow: true })
  expect(asked[1]?.verdict()).toMatchObject({ allow: false, message: expect.stringContaining('No.') })
  expect((await opened(third, 2)).map(one => (one.ask.kind === 'tool' ? one.ask.use.work : null))).toMatchObject([
    { command: 'touch c' },
    { command: 'touch a  ' },
  ])
  // The answer was used up, also across another kill.
  await third.kill()
  const fourth = open(dir)
  const again = ask(fourth, run('touch a'))
  expect(await opened(fourth, 3)).toHaveLength(3)
  expect(again.verdict()).toBeUndefined()
})

test('whatever is asked, answered, stopped and killed: no use without its own allowing answer, and none twice', async () => {
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant('ask' as const), n: fc.nat(2) }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('allow' as const), n: fc.nat(5) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('deny' as const), n: fc.nat(5) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('kill' as const), n: fc.constant(0) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('stop' as const), n: fc.constant(0) }) },
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async steps => {
      const dir = newFolder()
      let gateway = open(dir)
      let turn = new AbortController()
      const commands = ['touch 0', 'touch 1', 'touch 2'] as const
      const allowed = new Map<string, number>()
      const used = new Map<string, number>()
      const count = (map: Map<string, number>, key: string) => map.set(key, (map.get(key) ?? 0) + 1)
      for (const { do: what, n } of steps) {
        if (what === 'ask') {
          const command = commands[n] ?? ''
          void gateway.requests
            .answerTo(run(command), asking, () => undefined, turn.signal)
            .then(verdict => verdict?.allow && count(used, command))
            .catch(() => undefined)
        } else if (what === 'kill' || what === 'stop') {
          turn.abort(what === 'kill' ? cutOff : 'stopped')
          turn = new AbortController()
          if (what === 'kill') {
            await gateway.kill()
            gateway = open(dir)
          }
        } else {
          const request = gateway.requests.admin.list('open')[n]
          if (!request) continue
          const decision = what === 'allow' ? ({ allow: true } as const) : ({ allow: false, message: '' } as const)
          const { type } = await gateway.requests.admin.decide(request.id, decision, 'owner')
          const work = request.ask.kind === 'tool' ? request.ask.use.work : null
          if (type === 'answered' && what === 'allow' && work?.kind === 'command') count(allowed, work.command)
        }
        await soon()
        await soon()
      }
      turn.abort(cutOff)
      await soon()
      for (const [command, times] of used) expect(times, command).toBeLessThanOrEqual(allowed.get(command) ?? 0)
      await gateway.kill()
    }),
    { numRuns: 60 },
  )
})
