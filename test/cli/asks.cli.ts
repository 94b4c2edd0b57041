// The real CLIs ask before they use a tool: what is allowed runs once, what is not allowed never runs, and the model reads why.
// The backends alone, cold and warm, with a fake model on loopback that records its requests.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test, vi } from 'vitest'
import { systemClock } from '../../src/app/system-clock.ts'
import type { AgentEvent, Backend, Turn } from '../../src/base/agent.ts'
import type { Verdict } from '../../src/base/tool-use.ts'
import { createBackend } from '../../src/run/backends/index.ts'
import { openPool, type Pool } from '../../src/run/pool.ts'
import { treeMemory } from '../../src/run/process-table.ts'
import { createTempDirs } from '../../src/run/temp-dirs.ts'
import { turnWith } from '../../src/run/turn.fixture.ts'
import { processesWith } from '../harness/gateway.ts'
import { type Front, openFront } from './front.ts'
import { type Cli, findModel, findProgram } from './install.ts'
import { setups } from './setups.ts'

interface Model {
  readonly url: string
  on(match: object, response: object | ((request: object) => object)): void
  getRequests(): { body?: unknown }[]
  start(): Promise<unknown>
  stop(): Promise<unknown>
}

interface Call {
  readonly name: string
  readonly arguments: string
}

/** The calls with which each CLI runs a command, changes a word in a file, and starts a helper that is told to do something. */
interface Calls {
  shell(command: string): Call
  edit(file: string, before: string, after: string): Call
  helper: ((prompt: string) => Call) | null
  /** Whether it adds words to a turn that runs. */
  readonly steers: boolean
  /** Whether it asks for the second of two calls only after the answer to the first. */
  readonly oneByOne: boolean
}

const ofClaude: Calls = {
  shell: command => ({ name: 'Bash', arguments: JSON.stringify({ command, description: 'does it' }) }),
  edit: (file_path, old_string, new_string) => ({
    name: 'Edit',
    arguments: JSON.stringify({ file_path, old_string, new_string }),
  }),
  helper: prompt => ({
    name: 'Task',
    arguments: JSON.stringify({ description: 'helps', prompt, subagent_type: 'general-purpose' }),
  }),
  steers: true,
  oneByOne: true,
}

const calls: Record<Cli | 'claude-sdk', Calls> = {
  claude: ofClaude,
  'claude-sdk': ofClaude,
  pi: {
    shell: command => ({ name: 'bash', arguments: JSON.stringify({ command }) }),
    edit: (path, oldText, newText) => ({
      name: 'edit',
      arguments: JSON.stringify({ path, edits: [{ oldText, newText }] }),
    }),
    helper: null,
    steers: true,
    oneByOne: true,
  },
  codex: {
    shell: cmd => ({ name: 'exec_command', arguments: JSON.stringify({ cmd }) }),
    edit: (file, before, after) => ({
      name: 'exec_command',
      arguments: JSON.stringify({
        cmd: `apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: ${file}\n@@\n-${before}\n+${after}\n*** End Patch\nEOF`,
      }),
    }),
    helper: null,
    steers: true,
    oneByOne: false,
  },
  gemini: {
    shell: command => ({ name: 'run_shell_command', arguments: JSON.stringify({ command }) }),
    edit: (file_path, old_string, new_string) => ({
      name: 'replace',
      arguments: JSON.stringify({ file_path, old_string, new_string, instruction: 'Change it.' }),
    }),
    helper: null,
    steers: false,
    oneByOne: true,
  },
  opencode: {
    shell: command => ({ name: 'bash', arguments: JSON.stringify({ command, description: 'does it' }) }),
    edit: (file, oldString, newString) => ({
      name: 'edit',
      arguments: JSON.stringify({ filePath: file, oldString, newString }),
    }),
    helper: prompt => ({
      name: 'task',
      arguments: JSON.stringify({ description: 'helps', prompt, subagent_type: 'general' }),
    }),
    steers: true,
    oneByOne: false,
  },
}

type Asking = Extract<AgentEvent, { type: 'asks' }>
type Name = keyof typeof calls

const never = new AbortController().signal
const model = findModel()
const name: Name = inject('backend')
const isClaude = name === 'claude' || name === 'claude-sdk'

describe.each(['cold', 'warm'] as const)(`the real ${name}, %s, asks`, way => {
  const program = findProgram(name)
  const why = 'why' in model ? model.why : 'why' in program ? program.why : null
  if (why !== null || 'why' in model || 'why' in program) {
    console.log(`NOT RUN: ${name}: ${why}`)
    test.skipIf(true)(`was not run: ${why}`, () => undefined)
    return
  }
  const { shell, edit, helper, steers, oneByOne } = calls[name]
  let home: string
  let space: string
  let mock: Model
  let front: Front
  let pool: Pool
  let backend: Backend
  let turn: (given?: Partial<Turn>) => Turn
  /** What the model does, one after the other; then it says that this was all. */
  let script: object[] = []
  let mark = ''
  const sent = () => front.last()
  const made = (file: string) => existsSync(join(space, file))

  beforeAll(async () => {
    const { LLMock } = (await import(model.path)) as { LLMock: new (options: { port: number }) => Model }
    mock = new LLMock({ port: 0 })
    // Only for the turn of the test: a process of an earlier one may still be talking.
    mock.on({ predicate: () => true }, request => {
      const isMeant = JSON.stringify(request).includes(mark)
      return (isMeant ? script.shift() : undefined) ?? { content: 'That was all.' }
    })
    await mock.start()
    front = await openFront(mock.url)
    // Not below /tmp: there codex creates none of its helpers.
    home = mkdtempSync(join(process.env.HOME ?? tmpdir(), '.aetheel-asks-'))
    space = mkdtempSync(join(home, 'space-'))
    const setup = setups[name === 'claude-sdk' ? 'claude' : name](home, front.url)
    pool = openPool({
      rules: { most: 3, memoryBytes: 4e9, idleMs: 600_000 },
      clock: systemClock,
      emit: () => undefined,
      memoryOf: treeMemory,
    })
    const opened = createBackend(name, {
      program: name === 'claude-sdk' ? null : program.path,
      sdkPath: name === 'claude-sdk' ? dirname(program.path) : null,
      environment: { PATH: process.env.PATH, HOME: home, TMPDIR: tmpdir(), ...setup },
      handOn: Object.keys(setup),
      extra: {},
      scrub: text => text,
      clock: systemClock,
      pool: way === 'warm' ? pool : null,
      tempDirs: createTempDirs(join(home, 'runs')),
    })
    if (!opened) throw new Error(`there is no backend ${name}`)
    backend = opened
    turn = turnWith({
      workingDir: space,
      model: setup.BACKEND_MODEL ?? null,
      allowedTools: ['Read', 'Task'],
      askTools: ['Bash', 'Edit', 'Write'],
    })
  })
  beforeEach(() => {
    script = []
    mark = `mark-${crypto.randomUUID()}`
  })
  afterAll(async () => {
    await pool?.close()
    await vi.waitFor(() => expect(processesWith(`HOME=${home}`)).toEqual([]), 30_000)
    front?.close()
    await mock?.stop()
    rmSync(home, { recursive: true, force: true, maxRetries: 5 })
  })

  /** Runs a turn and answers what it asks; an answer that is null is not given. */
  async function run(
    answers: (ask: Asking, n: number) => Verdict | null,
    also: (event: AgentEvent) => void = () => undefined,
    signal = never,
    given: Partial<Turn> = {},
  ) {
    const events: AgentEvent[] = []
    const session = backend.takesSessionIds ? { id: crypto.randomUUID(), resume: false } : null
    let n = 0
    for await (const event of backend.run(turn({ prompt: `Do it. ${mark}`, session, ...given }), signal)) {
      events.push(event)
      const verdict = event.type === 'asks' ? answers(event, n++) : null
      if (event.type === 'asks' && verdict) event.answer(verdict)
      also(event)
    }
    const asked = events.filter(event => event.type === 'asks').map(({ ask }) => ask)
    const actions = events.filter(event => event.type === 'action')
    return { end: events.at(-1), asked, actions, events }
  }
  const allow = (): Verdict => ({ allow: true })
  const command = (text: string) => ({
    kind: 'tool',
    use: { tool: 'Bash', work: { kind: 'command', command: text } },
    input: expect.stringContaining(text),
  })

  test('what is allowed runs once, harmless or not, and its output and exit code are shown', async () => {
    script = [
      { toolCalls: [shell('echo once >> count.txt; echo seen; exit 3')] },
      { toolCalls: [shell('echo harmless')] },
    ]
    const { end, asked, actions } = await run(allow)
    expect(end).toMatchObject({ ok: true, text: 'That was all.' })
    expect(asked).toMatchObject([command('echo once >> count.txt; echo seen; exit 3'), command('echo harmless')])
    expect(readFileSync(join(space, 'count.txt'), 'utf8')).toBe('once\n')
    expect(sent()).toContain('seen')
    const uses = actions.flatMap(({ use }) => use ?? [])
    expect(uses.map(({ work }) => work)).toContainEqual({ kind: 'command', command: 'echo harmless' })
    // Over ACP, gemini reports neither.
    const results = actions.flatMap(({ result }) => result ?? [])
    if (name !== 'gemini')
      expect(results).toMatchObject([
        { output: expect.stringContaining('seen'), exit: 3 },
        { output: expect.stringContaining('harmless'), exit: 0 },
      ])
  })

  test('what is not allowed does not run, and the model reads why', async () => {
    script = [{ toolCalls: [shell('touch denied.txt')] }]
    const { end, asked } = await run(() => ({ allow: false, message: 'Use the “other” folder\nand ask again.' }))
    expect(end).toMatchObject({ ok: true, text: 'That was all.' })
    expect(asked).toMatchObject([command('touch denied.txt')])
    expect(made('denied.txt')).toBe(false)
    expect(sent()).toContain('Use the “other” folder')
  })

  test('a change of a file is asked for with its diff, and reading is not asked for', async () => {
    writeFileSync(join(space, 'notes.txt'), 'one\ntwo\nthree\n')
    const reads = isClaude
      ? [{ toolCalls: [{ name: 'Read', arguments: JSON.stringify({ file_path: join(space, 'notes.txt') }) }] }]
      : []
    script = [...reads, { toolCalls: [edit(join(space, 'notes.txt'), 'two', 'zwei')] }]
    const { asked } = await run(allow)
    expect(asked).toMatchObject([
      { use: { tool: 'Edit', work: { kind: 'edit', path: join(space, 'notes.txt') } }, kind: 'tool' },
    ])
    expect(JSON.stringify(asked)).toContain('-two\\n+zwei')
    expect(readFileSync(join(space, 'notes.txt'), 'utf8')).toBe('one\nzwei\nthree\n')
    script = [...reads, { toolCalls: [edit(join(space, 'notes.txt'), 'zwei', 'deux')] }]
    await run(() => ({ allow: false, message: 'no' }))
    expect(readFileSync(join(space, 'notes.txt'), 'utf8')).toBe('one\nzwei\nthree\n')
  })

  test('two at once are answered one by one, in any order', async () => {
    script = [{ toolCalls: [shell('touch first.txt'), shell('touch second.txt')] }]
    const open: Asking[] = []
    const answerAll = () => {
      for (const { ask, answer } of open.splice(0).reverse())
        answer(JSON.stringify(ask).includes('first') ? { allow: false, message: 'not that' } : { allow: true })
    }
    const { end, events } = await run(event => {
      open.push(event)
      if (open.length === (oneByOne ? 1 : 2)) answerAll()
      return null
    })
    expect(end).toMatchObject({ ok: true })
    expect(events.filter(({ type }) => type === 'withdrawn')).toEqual([])
    expect([made('first.txt'), made('second.txt')]).toEqual([false, true])
  })

  test('stopped while it asks: it does not run, also not with an answer that comes too late', async () => {
    script = [{ toolCalls: [shell('touch stopped.txt')] }]
    const stop = new AbortController()
    let late: Asking | null = null
    const { end } = await run(
      event => {
        late = event
        setTimeout(() => stop.abort(), 50)
        return null
      },
      () => undefined,
      stop.signal,
    )
    expect(end).toMatchObject({ ok: false, why: 'stopped' })
    ;(late as Asking | null)?.answer({ allow: true })
    await new Promise(resolve => setTimeout(resolve, 1000))
    expect(made('stopped.txt')).toBe(false)
    script = []
    expect((await run(allow)).end).toMatchObject({ ok: true, text: 'That was all.' })
  })

  test('killed while it asks: it does not run', async () => {
    script = [{ toolCalls: [shell('touch killed.txt')] }]
    const { end } = await run(() => {
      for (const pid of processesWith(`HOME=${home}`)) process.kill(pid, 'SIGKILL')
      return null
    })
    expect(end).toMatchObject({ ok: false, why: 'crashed' })
    expect(made('killed.txt')).toBe(false)
  })

  test('a tool that is neither allowed nor asked for is not used', async () => {
    script = [{ toolCalls: [edit(join(space, 'notes.txt'), 'zwei', 'trois')] }]
    const { asked } = await run(() => ({ allow: false, message: 'no' }), undefined, never, { askTools: ['Bash'] })
    // codex changes files with its shell, so the gateway refuses it instead.
    if (name !== 'codex') expect(asked).toEqual([])
    expect(readFileSync(join(space, 'notes.txt'), 'utf8')).not.toContain('trois')
  })

  test.skipIf(!helper)('what its helper wants to do is asked for, too', async () => {
    script = [{ toolCalls: [helper?.(`Help. ${mark}`) ?? shell('')] }, { toolCalls: [shell('touch helped.txt')] }]
    const { end, asked } = await run(() => ({ allow: false, message: 'Not even for help.' }))
    expect(end).toMatchObject({ ok: true })
    expect(asked).toMatchObject([command('touch helped.txt')])
    expect(made('helped.txt')).toBe(false)
  })

  test.skipIf(!steers)('words that are added while it runs reach the running turn', async () => {
    script = [{ toolCalls: [shell('echo steered')] }]
    const said: Promise<boolean>[] = []
    let steer: ((words: string) => Promise<boolean>) | null = null
    const { end } = await run(
      ({ answer }) => {
        const taken = steer?.('And hurry, please.') ?? Promise.resolve(false)
        said.push(taken)
        setTimeout(() => answer({ allow: true }), 700)
        return null
      },
      event => {
        if (event.type === 'steerable') steer = event.steer
      },
    )
    expect(await Promise.all(said)).toEqual([true])
    expect(end).toMatchObject({ ok: true, text: 'That was all.' })
    expect(sent().includes('And hurry, please.')).toBe(true)
    expect(await (steer as ((words: string) => Promise<boolean>) | null)?.('Too late.')).toBe(false)
  })

  test.skipIf(!isClaude)('a question is answered with words that the model reads', async () => {
    const questions = [
      {
        ...{ question: 'Tea or coffee?', header: 'Drink', multiSelect: false },
        options: [
          { label: 'Tea', description: 'green' },
          { label: 'Coffee', description: 'black' },
        ],
      },
    ]
    script = [{ toolCalls: [{ name: 'AskUserQuestion', arguments: JSON.stringify({ questions }) }] }]
    const { asked } = await run(() => ({ allow: true, answers: { 'Tea or coffee?': 'Milk, please' } }))
    const [{ question, header, options }] = questions as [(typeof questions)[0]]
    expect(asked).toMatchObject([{ kind: 'question', questions: [{ question, header, multiple: false, options }] }])
    expect(sent()).toContain('Milk, please')
  })

  test.skipIf(!isClaude)(
    'in plan mode it changes nothing, also what it may, until its plan is approved, in each turn',
    async () => {
      const session = { id: crypto.randomUUID(), resume: false }
      const write = (file: string) => ({
        name: 'Write',
        arguments: JSON.stringify({ file_path: join(space, file), content: 'x' }),
      })
      const plan = { name: 'ExitPlanMode', arguments: JSON.stringify({ plan: 'First one, then two.' }) }
      for (const n of [1, 2]) {
        script = [
          { toolCalls: [write(`early-${n}.txt`)] },
          { toolCalls: [plan] },
          { toolCalls: [plan] },
          { toolCalls: [write(`late-${n}.txt`)] },
        ]
        const { asked } = await run(
          (_, nth) => (nth === 0 ? { allow: false, message: 'Think again.' } : { allow: true }),
          undefined,
          never,
          {
            permissionMode: 'plan',
            allowedTools: ['Read', 'Write'],
            askTools: ['Bash'],
            session: { ...session, resume: n > 1 },
          },
        )
        expect(asked).toMatchObject([
          { kind: 'plan', plan: 'First one, then two.' },
          { kind: 'plan', plan: 'First one, then two.' },
        ])
        expect([made(`early-${n}.txt`), made(`late-${n}.txt`)]).toEqual([false, true])
        expect(JSON.stringify(mock.getRequests().map(({ body }) => body))).toContain('Think again.')
      }
    },
  )

  test.skipIf(!isClaude)('what is allowed is not asked for, except where claude always asks', async () => {
    const write = (file: string) => ({ name: 'Write', arguments: JSON.stringify({ file_path: file, content: '{}' }) })
    const [outside, sensitive, obeyed] = [join(home, 'outside.txt'), join(home, '.bashrc'), join(space, '.mcp.json')]
    script = [
      { toolCalls: [write(outside)] },
      { toolCalls: [write(sensitive)] },
      { toolCalls: [write(obeyed)] },
      { toolCalls: [shell('git log')] },
    ]
    const { asked } = await run(() => ({ allow: false, message: 'no' }), undefined, never, {
      ...{ allowedTools: ['Read', 'Write', 'Bash(git log:*)'], askTools: ['Bash'] },
    })
    expect([outside, sensitive, obeyed].map(file => existsSync(file))).toEqual([true, false, false])
    // What it obeys itself is refused at once. A rule that allows part of what is asked for is the gateway's to apply.
    expect(asked).toMatchObject([{ use: { tool: 'Write', work: { path: sensitive } } }, command('git log')])
  })

  test.skipIf(!isClaude)('words that it can read only after its answer are answered in the same turn', async () => {
    script = [{ content: 'A first answer.' }, { content: 'A second one.' }]
    let taken: Promise<boolean> | null = null
    const { end } = await run(allow, event => {
      if (event.type === 'text') taken ??= (steer as Steer | null)?.('One more thing.') ?? null
      if (event.type === 'steerable') steer = event.steer
    })
    expect(await taken).toBe(true)
    expect(end).toMatchObject({ ok: true, text: 'A first answer.\n\nA second one.', last: 'A second one.' })
  })
  type Steer = (words: string) => Promise<boolean>
  let steer: Steer | null = null
})
