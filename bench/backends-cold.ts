// One process per turn: the CLI alone, and through the gateway with a shim in front of it that records times.
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Turn } from '../src/base/agent.ts'
import { createBackend } from '../src/run/backends/index.ts'
import type { Dialect, Reader } from '../src/run/cli.ts'
import { runTag } from '../src/run/end-processes.ts'
import { furnish, inheritedBy, type Stage, words } from './backends-stage.ts'
import { median } from './figures.ts'
import { pause, talk, withGateway } from './rig.ts'

const shim = join(import.meta.dirname, 'backends-shim.sh')
const rounds = { least: 7, most: 15, forMs: 15_000 }

export interface Cold {
  readonly alone: readonly number[]
  readonly through: readonly number[]
  /** What the gateway adds, measured within each turn. */
  readonly added: readonly number[]
}

/** Alternating, so that a busy machine affects both; the first of each starts the session and does not count. */
export async function measureCold(stage: Stage, dialect: Dialect | null, readAs: Dialect): Promise<Cold> {
  const notes = openNotes(join(stage.home.dir, 'notes'))
  const shimmed = { BENCH_NOTES: notes.file, BENCH_PROGRAM: stage.program }
  const env = {
    ...stage.env,
    ...shimmed,
    BACKEND_WARM: 'false',
    // A turn that may ask needs a process that listens.
    ASK_TOOLS: 'none',
    BACKEND_CLI_PATH: shim,
    BACKEND_ENV: Object.keys(shimmed).join(),
  }
  const runAlone = dialect ? spawned(stage, dialect) : asked(stage, shimmed, notes, readAs)
  return withGateway(stage.home, env, async gateway => {
    const chat = await talk(gateway, 'cold')
    const alone: Turned[] = []
    const through: Turned[] = []
    const starts: number[] = []
    const began = performance.now()
    for (let round = 0; round <= rounds.most; round++) {
      if (round > rounds.least && performance.now() - began > rounds.forMs) break
      const one = await runAlone()
      notes.clear()
      const { sent, final } = await chat.say(words)
      const other = between(sent, final, await notes.read(readAs.read(await stage.turn(null))))
      const start = await startDirectly(notes)
      if (round === 0) continue
      alone.push(one)
      through.push(other)
      starts.push(start)
    }
    await chat.close()
    // Single starts vary too much to be meaningful.
    const start = median(starts)
    const beside = dialect ? start : median(alone.map(one => one.beside))
    return {
      alone: alone.map(one => (dialect ? one.ms : one.ms - start)),
      through: through.map(one => one.ms - start),
      added: through.map(one => one.beside - beside),
    }
  })
}

interface Turned {
  /** Without the time that the shim needs to start the CLI. */
  readonly ms: number
  /** The time before the shim's first instruction and after the CLI's last line. */
  readonly beside: number
}

const between = (began: number, end: number, { first, started, last }: Moments): Turned => ({
  ms: end - began - (started - first),
  beside: first - began + (end - last),
})

/** The program itself, exactly as the gateway starts it, until it reports its end or exits. */
function spawned(stage: Stage, dialect: Dialect): () => Promise<Turned> {
  const inherited = inheritedBy(dialect, stage)
  let session: Turn['session'] = dialect.takesSessionIds ? { id: crypto.randomUUID(), resume: false } : null
  return async () => {
    const turn = stage.turn(session)
    const dir = await stage.folder()
    await furnish(dialect, turn, dir, inherited)
    const args = [...dialect.arguments(turn, dir)]
    const env = { ...inherited, ...dialect.environment(turn, dir, inherited), [runTag]: dir }
    const input = dialect.input(turn)
    const reader = dialect.read(turn)
    let end = Number.NaN
    let failure = ''
    let rest = ''
    let said = ''
    const began = performance.now()
    const child = spawn(stage.program, args, { cwd: turn.workingDir, env, detached: true })
    // Not longer than the gateway would wait, and not beyond the benchmark.
    const kill = () => child.kill('SIGKILL')
    const patience = setTimeout(kill, stage.config.query.timeoutMs)
    process.on('exit', kill)
    child.stdin.end(input)
    child.stderr.on('data', chunk => {
      said += chunk
    })
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = `${rest}${chunk}`.split('\n')
      rest = lines.pop() ?? ''
      for (const event of lines.flatMap(line => reader.line(line))) {
        if (event.type === 'started' && event.session !== null) session = { id: event.session, resume: true }
        if (event.type !== 'ended') continue
        end = performance.now()
        if (!event.ok) failure = event.detail
      }
    })
    const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((done, fail) => {
      child.on('error', fail)
      child.on('close', (...how) => done(how))
    })
    clearTimeout(patience)
    process.off('exit', kill)
    if (Number.isNaN(end)) {
      end = performance.now()
      const left = reader.end({ code, signal, stderr: said, trouble: null, detail: '' })
      if (!left.ok) failure = left.detail
    }
    if (failure) throw new Error(`${dialect.name} alone failed: ${failure}`)
    return { ms: end - began, beside: 0 }
  }
}

/** For a backend that is not a program (the SDK): without a gateway, with the same shim in front of what it starts. */
function asked(
  stage: Stage,
  shimmed: Readonly<Record<string, string>>,
  notes: Notes,
  readAs: Dialect,
): () => Promise<Turned> {
  const parts = { ...stage.parts, program: shim, pool: null }
  const environment = { ...stage.parts.environment, ...shimmed }
  const backend = createBackend(stage.name, { ...parts, environment, handOn: Object.keys(shimmed) })
  if (!backend) throw new Error(`there is no backend ${stage.name}`)
  let session: Turn['session'] = { id: crypto.randomUUID(), resume: false }
  return async () => {
    const turn = await stage.turn(session)
    notes.clear()
    const began = performance.now()
    let end = Number.NaN
    for await (const event of backend.run(turn, new AbortController().signal)) {
      if (event.type === 'started' && event.session !== null) session = { id: event.session, resume: true }
      if (event.type !== 'ended') continue
      if (!event.ok) throw new Error(`${backend.name} alone failed: ${event.detail}`)
      end = performance.now()
    }
    return between(began, end, await notes.read(readAs.read(turn)))
  }
}

/** From just before the start of the shim to its first instruction. */
async function startDirectly(notes: Notes): Promise<number> {
  notes.clear()
  const env = { PATH: process.env.PATH ?? '', BENCH_NOTES: notes.file, BENCH_PROGRAM: '/bin/true' }
  const began = performance.now()
  const child = spawn(shim, [], { env, detached: true })
  child.stdin.end()
  await new Promise(done => child.on('close', done))
  return (await notes.read(null)).first - began
}

interface Moments {
  readonly first: number
  readonly started: number
  readonly last: number
}

interface Notes {
  readonly file: string
  clear(): void
  /** As times of performance.now(). Waits until the program has exited. Without a reader, its exit is the end. */
  read(reader: Reader | null): Promise<Moments>
}

function openNotes(file: string): Notes {
  // Both use the same clock with another origin. Being preempted in between makes the difference smaller, so the largest one is used.
  const behind = Math.max(
    ...Array.from({ length: 1000 }, () => Number(process.hrtime.bigint()) / 1e6 - performance.now()),
  )
  const whole = () => (existsSync(file) ? readFileSync(file) : Buffer.alloc(0))
  return {
    file,
    clear: () => rmSync(file, { force: true }),
    async read(reader) {
      for (let waited = 0; ; waited += 10) {
        const notes = whole()
        if (hasLeft(notes)) {
          const { first, started, last } = parse(notes, reader)
          return { first: first - behind, started: started - behind, last: last - behind }
        }
        if (waited > 20_000) throw new Error('the CLI behind bench/backends-shim.sh does not leave')
        await pause(10)
      }
    },
  }
}

const hasLeft = (notes: Buffer) => /(?:^|\n)left [\d.]+\n$/.test(notes.toString('latin1', notes.length - 40))

function parse(notes: Buffer, reader: Reader | null): Moments {
  let [first, started, ended, left] = [Number.NaN, Number.NaN, Number.NaN, Number.NaN]
  let rest = ''
  for (let at = 0; at < notes.length; ) {
    const stop = notes.indexOf('\n', at)
    const [what, when, length = '0'] = notes.toString('utf8', at, stop).split(' ')
    at = stop + 1
    if (what === 'began' && !Number.isNaN(first)) throw new Error('one turn took two runs of the CLI')
    if (what === 'began') first = Number(when)
    if (what === 'started') started = Number(when)
    if (what === 'left') left = Number(when)
    if (what !== 'piece') continue
    const lines = `${rest}${notes.toString('utf8', at, at + Number(length))}`.split('\n')
    at += Number(length)
    rest = lines.pop() ?? ''
    if (lines.some(line => reader?.line(line).some(event => event.type === 'ended'))) ended = Number(when)
  }
  return { first, started, last: Number.isNaN(ended) ? left : ended }
}
