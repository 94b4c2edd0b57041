// One query of the Claude Agent SDK as a warm host: messages go in turn by turn, and the gateway owns the process behind it.
import { randomUUID } from 'node:crypto'
import { EventEmitter } from 'node:events'
import { Readable, Writable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import type { AgentEvent, Turn } from '../../base/agent.ts'
import { endOf } from '../cli.ts'
import { silentEnd } from '../diagnosis.ts'
import { orAlive } from '../events.ts'
import { type ProcessOrder, type RunningProcess, startProcess } from '../process.ts'
import { type Json, object, parseLine } from '../stdio.ts'
import { type Host, leave } from '../warm.ts'
import { interruptLine, planAgain, promptOf } from './claude.ts'
import { type Asks, isAsking, openAsks, openSteering } from './claude-asks.ts'
import { createReading, createTools } from './claude-read.ts'

/** As much of the SDK as is used here. */
export interface Sdk {
  query(order: { readonly prompt: AsyncIterable<unknown>; readonly options: Json }): Query
}

type Query = AsyncIterable<unknown>

/** What it is told about a tool that must be asked for. */
interface Context {
  readonly signal: AbortSignal
  readonly toolUseID?: string
}

interface SpawnOrder {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  readonly signal: AbortSignal
}

export interface QueryOrder {
  readonly options: Json
  /** Whether its turns ask before they use some tools. */
  readonly asking: boolean
  readonly workingDir: string
  /** How long it may take to exit after its input has ended. */
  readonly patienceMs: number
  /** Puts the process into its box, if it has one. */
  enter(order: ProcessOrder): ProcessOrder
}

/** Rejects if the SDK does not start a process. */
export async function openQuery({ query }: Sdk, order: QueryOrder): Promise<Host> {
  const { options, asking, workingDir, patienceMs, enter } = order
  const input = createInput()
  const desk = openDesk()
  const child = Promise.withResolvers<RunningProcess>()
  const conversation = query({
    prompt: input.messages,
    options: {
      ...options,
      ...(asking ? { canUseTool: desk.canUseTool } : {}),
      spawnClaudeCodeProcess({ command, args, env, signal }: SpawnOrder) {
        const started = startProcess(enter({ file: command, args, env: defined(env), cwd: workingDir, input: null }))
        signal.addEventListener('abort', started.kill, { once: true })
        child.resolve(started)
        return asSpawned(started)
      },
    },
  })
  const messages = conversation[Symbol.asyncIterator]()
  let problem = 'it ended before it started a process'
  // After an error result it also throws. The result, or else the process, has reported why.
  const next = () =>
    messages.next().catch((error: unknown) => {
      problem = String(error)
      return null
    })
  let ahead = next()
  void ahead.then(() => child.reject(new Error(problem)))
  return hostOf(await child.promise)

  function hostOf(child: RunningProcess): Host {
    const tools = createTools()
    const reading = createReading(tools)
    // Its own method for this leaves messages that claude has not read yet in its queue.
    const interrupt = () => child.send(interruptLine)

    async function* run(turn: Turn, signal: AbortSignal): AsyncGenerator<AgentEvent> {
      const uuid = randomUUID()
      const steering = openSteering(
        (id, words) => input.send({ uuid: id, content: promptOf({ prompt: words }) }),
        signal,
      )
      const asks = isAsking(turn) ? openAsks(turn, desk.respond) : null
      const read = reading(uuid, { asks: null, steering })
      let understood = false
      child.startCounting()
      child.send(planAgain(turn))
      input.send({ uuid, content: promptOf(turn) })
      signal.addEventListener('abort', interrupt, { once: true })
      if (signal.aborted) interrupt()
      try {
        for (;;) {
          // What it said before it asked comes first.
          const message = await (asks ? Promise.race([ahead, desk.waits().then(setImmediate)]) : ahead)
          if (message === asked) {
            if (asks) yield* desk.take(asks, tools.plan())
            continue
          }
          if (!message || message.done) break
          ahead = next()
          understood = true
          for (const event of orAlive(read(object(message.value)))) {
            yield event
            if (event.type === 'ended') return
          }
        }
        await leave(child, patienceMs)
        yield endOf(await child.end, { line: () => [], end: how => silentEnd(how, understood) })
      } finally {
        signal.removeEventListener('abort', interrupt)
        asks?.close()
      }
    }

    async function close(): Promise<void> {
      input.end()
      await leave(child, patienceMs)
      // Read to the end, where the SDK cleans up.
      for (let message = await ahead; message && !message.done; message = await ahead) ahead = next()
    }

    return { pid: child.pid, run, close, kill: child.kill, gone: child.end }
  }
}

const asked = Symbol('asked')

/** Where its calls wait for an answer. Those that come between two turns are put to the next one. */
function openDesk() {
  const answers = new Map<string, (response: Json) => void>()
  const events: ((asks: Asks, plan: string) => readonly AgentEvent[])[] = []
  let wake = Promise.withResolvers<typeof asked>()
  const put = (event: (typeof events)[number]) => {
    events.push(event)
    wake.resolve(asked)
  }
  return {
    canUseTool(tool: string, given: unknown, { signal, toolUseID }: Context): Promise<Json> {
      const id = randomUUID()
      put((asks, plan) => asks.asked(id, { id: toolUseID ?? '', tool, input: object(given) }, plan))
      signal.addEventListener('abort', () => put(asks => asks.cancelled(id)), { once: true })
      return new Promise(resolve => answers.set(id, resolve))
    },
    respond(id: string, response: Json) {
      answers.get(id)?.(response)
      answers.delete(id)
    },
    waits: () => wake.promise,
    *take(asks: Asks, plan: string): Generator<AgentEvent> {
      wake = Promise.withResolvers()
      for (const event of events.splice(0)) yield* event(asks, plan)
    },
  }
}

function createInput() {
  interface Message {
    readonly uuid: string
    readonly content: string
  }
  let waiting: Message[] = []
  let over = false
  let wake: () => void = () => undefined
  async function* messages(): AsyncGenerator<Json> {
    for (;;) {
      const batch = waiting
      waiting = []
      for (const { uuid, content } of batch)
        yield { type: 'user', uuid, message: { role: 'user', content }, parent_tool_use_id: null, session_id: '' }
      if (waiting.length > 0) continue
      if (over) return
      await new Promise<void>(resolve => {
        wake = resolve
      })
    }
  }
  return {
    messages: messages(),
    send(message: Message) {
      waiting.push(message)
      wake()
    },
    end() {
      over = true
      wake()
    },
  }
}

/** Our process with the interface that the SDK expects. */
function asSpawned(child: RunningProcess) {
  const spawned = Object.assign(new EventEmitter(), {
    stdin: new Writable({
      decodeStrings: false,
      write(chunk: unknown, _, done) {
        child.send(String(chunk))
        done()
      },
      final(done) {
        child.endInput()
        done()
      },
    }),
    stdout: Readable.from(objectsOf(child.lines), { objectMode: false }),
    killed: false,
    exitCode: null as number | null,
    signalCode: null as NodeJS.Signals | null,
    kill() {
      spawned.killed = true
      child.kill()
      return true
    },
  })
  void child.end.then(({ code, signal }) => {
    // A process that never ran has neither, and the SDK would wait for one of them.
    spawned.exitCode = signal ? null : (code ?? 127)
    spawned.signalCode = signal
    spawned.emit('exit', spawned.exitCode, signal)
  })
  return spawned
}

/** Skips lines that are not objects. */
async function* objectsOf(lines: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const line of lines) if (parseLine(line)) yield `${line}\n`
}

const defined = (env: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])))
