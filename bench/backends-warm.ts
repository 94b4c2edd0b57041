// A CLI that stays running: a turn without a gateway, the same through the gateway, and the memory of the pool.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Backend, Turn } from '../src/base/agent.ts'
import { createBackend } from '../src/run/backends/index.ts'
import type { Dialect } from '../src/run/cli.ts'
import { runTag } from '../src/run/end-processes.ts'
import { openPool } from '../src/run/pool.ts'
import { type RunningProcess, startProcess } from '../src/run/process.ts'
import { treeMemory, withEnvironment } from '../src/run/process-table.ts'
import { type Json, object, parseLine } from '../src/run/stdio.ts'
import { furnish, inheritedBy, type Stage, words } from './backends-stage.ts'
import { pause, talk, withGateway } from './rig.ts'

const warmUp = 3
const block = 5
const blocks = { least: 10, most: 20, forMs: 6000 }
const conversations = 3

export interface Warmth {
  readonly own: readonly number[]
  readonly through: readonly number[]
  /** With three conversations. */
  readonly pool: { readonly processes: number; readonly megabytes: number }
}

export async function measureWarm(stage: Stage, dialect: Dialect | null): Promise<Warmth> {
  return withGateway(stage.home, stage.env, async gateway => {
    const chat = await talk(gateway, 'warm')
    const through = async () => {
      const { sent, final } = await chat.say(words)
      return final - sent
    }
    const own = dialect ? await openOwn(stage, dialect) : await openAsked(stage)
    try {
      const samples = { own: [] as number[], through: [] as number[] }
      const take = async (turn: () => Promise<number>, into: number[], count: number) => {
        for (let i = 0; i < count; i++) {
          into.push(await turn())
          // Time for work of the gateway that nobody waits for.
          await pause(5)
        }
      }
      await take(own.turn, [], warmUp)
      await take(through, [], warmUp)
      const began = performance.now()
      for (let i = 0; i < blocks.most; i++) {
        if (i >= blocks.least && performance.now() - began > blocks.forMs) break
        await take(own.turn, samples.own, block)
        await take(through, samples.through, block)
      }
      const others = await Promise.all(
        Array.from({ length: conversations - 1 }, (_, i) => talk(gateway, `beside-${i}`)),
      )
      for (const other of others) await other.say(words)
      const pool = poolOf(stage, gateway.pid)
      await Promise.all([chat, ...others].map(one => one.close()))
      return { ...samples, pool }
    } finally {
      await own.close()
    }
  })
}

/** Of all processes tagged as this gateway's, its direct children are those of the pool. */
function poolOf({ home }: Stage, gateway: number): Warmth['pool'] {
  const marked = withEnvironment(`${runTag}=${join(home.configDir, '.aetheel', 'runs')}/`)
  const roots = marked.map(({ pid }) => pid).filter(pid => parentOf(pid) === gateway)
  return { processes: roots.length, megabytes: roots.reduce((sum, pid) => sum + treeMemory(pid), 0) / 2 ** 20 }
}

const parentOf = (pid: number) => Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])

interface Own {
  /** How long it took. */
  turn(): Promise<number>
  close(): Promise<void>
}

/** A turn in the CLI's protocol: the line that starts one in an open session, and whether a line ends it. */
interface Wire {
  begin(session: string): Json
  ends(line: Json, session: string): boolean
}

const wires: Readonly<Record<string, Wire>> = {
  claude: {
    begin: () => ({ type: 'user', message: { role: 'user', content: words } }),
    ends: line => line.type === 'result',
  },
  codex: {
    begin: threadId => ({
      id: 'bench',
      method: 'turn/start',
      params: { threadId, input: [{ type: 'text', text: words, text_elements: [] }] },
    }),
    ends: (line, session) => line.method === 'turn/completed' && object(line.params).threadId === session,
  },
  gemini: {
    begin: sessionId => ({
      jsonrpc: '2.0',
      id: 'bench',
      method: 'session/prompt',
      params: { sessionId, prompt: [{ type: 'text', text: words }] },
    }),
    ends: line => line.id === 'bench',
  },
  pi: {
    begin: () => ({ type: 'prompt', message: words }),
    ends: line => line.type === 'agent_settled',
  },
}

/**
 * Opened by our own dialect, so that it has the same arguments, settings and session; then driven line by line, bypassing the
 * dialect. If a turn is not a line (opencode), the dialect's own turn is used.
 */
async function openOwn(stage: Stage, dialect: Dialect): Promise<Own> {
  if (!dialect.warm) throw new Error(`${dialect.name} does not stay up`)
  const inherited = inheritedBy(dialect, stage)
  const turn = stage.turn(dialect.takesSessionIds ? { id: crypto.randomUUID(), resume: false } : null)
  const dir = await stage.folder()
  await furnish(dialect, turn, dir, inherited)
  const heard: Overheard[] = []
  const host = await dialect.warm.open(
    {
      dir,
      inherited,
      start(args, own) {
        const env = { ...inherited, ...own, [runTag]: dir }
        const one = overhear(startProcess({ file: stage.program, args, env, cwd: turn.workingDir, input: null }))
        heard.push(one)
        return one.child
      },
    },
    turn,
    new AbortController().signal,
  )
  const asked = askInTurn(host.run, turn)
  await asked.turn()
  const [wire, one, session] = [wires[dialect.name], heard[0], asked.session()]
  const speak = wire && one && session !== null ? () => speakTo(one, wire, session) : asked.turn
  return { turn: speak, close: host.close }
}

const speakTo = ({ child, listen }: Overheard, wire: Wire, session: string) =>
  new Promise<number>(done => {
    const line = `${JSON.stringify(wire.begin(session))}\n`
    listen(text => {
      const parsed = parseLine(text)
      if (!parsed || !wire.ends(parsed, session)) return
      listen(() => undefined)
      done(performance.now() - began)
    })
    const began = performance.now()
    child.send(line)
  })

/** A backend without a dialect is run as the gateway runs it. */
async function openAsked(stage: Stage): Promise<Own> {
  const rules = stage.config.views.warm
  if (!rules) throw new Error('it does not stay up in this configuration')
  const { clock } = stage.parts
  const pool = openPool({ rules, clock, emit: () => undefined, memoryOf: treeMemory })
  const backend = createBackend(stage.name, { ...stage.parts, pool })
  if (!backend) throw new Error(`there is no backend ${stage.name}`)
  const turn = await stage.turn({ id: crypto.randomUUID(), resume: false })
  return { turn: askInTurn(backend.run, turn).turn, close: () => pool.close() }
}

/** Turn after turn of one session, each from the call to its `ended` event. */
function askInTurn(run: Backend['run'], first: Turn) {
  let next = first
  const turn = async (): Promise<number> => {
    const began = performance.now()
    for await (const event of run(next, new AbortController().signal)) {
      if (event.type === 'started' && event.session !== null)
        next = { ...next, session: { id: event.session, resume: true } }
      if (event.type !== 'ended') continue
      if (!event.ok) throw new Error(`without the gateway it failed: ${event.detail}`)
      return performance.now() - began
    }
    throw new Error('it stopped without reporting an end')
  }
  return { turn, session: () => next.session?.id ?? null }
}

interface Overheard {
  readonly child: RunningProcess
  listen(to: (line: string) => void): void
}

/** Sees each line first, whether or not somebody asks for the next one. */
function overhear(child: RunningProcess): Overheard {
  let hear: (line: string) => void = () => undefined
  let ready: string[] = []
  let over = false
  let wake: () => void = () => undefined
  void (async () => {
    for await (const line of child.lines) {
      hear(line)
      ready.push(line)
      wake()
    }
    over = true
    wake()
  })()
  async function* lines(): AsyncGenerator<string> {
    for (;;) {
      const batch = ready
      ready = []
      yield* batch
      if (ready.length > 0) continue
      if (over) return
      await new Promise<void>(done => {
        wake = done
      })
    }
  }
  return {
    child: { ...child, lines: lines() },
    listen(to) {
      hear = to
    },
  }
}
