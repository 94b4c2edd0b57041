// One query of the Claude Agent SDK as a host: words go in turn by turn, and the process behind it is ours.
import { EventEmitter } from 'node:events'
import { Readable, Writable } from 'node:stream'
import type { AgentEvent, Turn } from '../../base/agent.ts'
import { endOf } from '../cli.ts'
import { silentEnd } from '../diagnosis.ts'
import { type Json, object, parseLine } from '../json.ts'
import { type RunningProcess, startProcess } from '../process.ts'
import { type Host, leave } from '../warm.ts'
import { openReading, wordsOf } from './claude.ts'

/** As much of the SDK as is used here. */
export interface Sdk {
  query(asked: { readonly prompt: AsyncIterable<unknown>; readonly options: Json }): Query
}

interface Query extends AsyncIterable<unknown> {
  interrupt(): Promise<unknown>
}

interface SpawnOrder {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  readonly signal: AbortSignal
}

export interface QueryOrder {
  readonly options: Json
  readonly workingDir: string
  /** How long it may take to leave when its input has ended. */
  readonly patienceMs: number
}

/** Rejects if the SDK does not come as far as to start a process. */
export async function openQuery({ query }: Sdk, { options, workingDir, patienceMs }: QueryOrder): Promise<Host> {
  const words = openWords()
  const child = Promise.withResolvers<RunningProcess>()
  const asked = query({
    prompt: words.spoken,
    options: {
      ...options,
      spawnClaudeCodeProcess({ command, args, env, signal }: SpawnOrder) {
        const started = startProcess({ file: command, args, env: defined(env), cwd: workingDir, input: null })
        signal.addEventListener('abort', started.kill, { once: true })
        child.resolve(started)
        return asSpawned(started)
      },
    },
  })
  const messages = asked[Symbol.asyncIterator]()
  let trouble = 'it ended before it had started a process'
  // After an error result it throws as well; the result, or else the process, has told why.
  const next = () =>
    messages.next().catch((error: unknown) => {
      trouble = String(error)
      return null
    })
  let ahead = next()
  void ahead.then(() => child.reject(new Error(trouble)))
  return hostOf(await child.promise)

  function hostOf(child: RunningProcess): Host {
    const reading = openReading()
    const interrupt = () => void asked.interrupt().catch(() => undefined /* then it is ended, after the usual grace */)

    async function* run(turn: Turn, signal: AbortSignal): AsyncGenerator<AgentEvent> {
      const read = reading()
      let understood = false
      child.startCounting()
      words.say(wordsOf(turn))
      signal.addEventListener('abort', interrupt, { once: true })
      if (signal.aborted) interrupt()
      try {
        for (let message = await ahead; message && !message.done; message = await ahead) {
          ahead = next()
          understood = true
          for (const event of read(object(message.value))) {
            yield event
            if (event.type === 'ended') return
          }
        }
        await leave(child, patienceMs)
        yield endOf(await child.end, { line: () => [], end: how => silentEnd(how, understood) })
      } finally {
        signal.removeEventListener('abort', interrupt)
      }
    }

    async function close(): Promise<void> {
      words.end()
      await leave(child, patienceMs)
      // To its end: it tidies up behind itself there.
      for (let message = await ahead; message && !message.done; message = await ahead) ahead = next()
    }

    return { pid: child.pid, run, close, kill: child.kill, gone: child.end }
  }
}

function openWords() {
  let waiting: string[] = []
  let over = false
  let wake: () => void = () => undefined
  async function* spoken(): AsyncGenerator<Json> {
    for (;;) {
      const batch = waiting
      waiting = []
      for (const content of batch)
        yield { type: 'user', message: { role: 'user', content }, parent_tool_use_id: null, session_id: '' }
      if (waiting.length > 0) continue
      if (over) return
      await new Promise<void>(resolve => {
        wake = resolve
      })
    }
  }
  return {
    spoken: spoken(),
    say(text: string) {
      waiting.push(text)
      wake()
    },
    end() {
      over = true
      wake()
    },
  }
}

/** Our process in the shape that the SDK asks for. */
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
    // One that never ran has neither, and without either the SDK would wait for it.
    spawned.exitCode = signal ? null : (code ?? 127)
    spawned.signalCode = signal
    spawned.emit('exit', spawned.exitCode, signal)
  })
  return spawned
}

/** What is no object is passed over here already. */
async function* objectsOf(lines: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const line of lines) if (parseLine(line)) yield `${line}\n`
}

const defined = (env: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])))
