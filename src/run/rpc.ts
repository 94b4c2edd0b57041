// JSON-RPC over the lines of a process: requests and their answers, what it tells unasked, and what it asks of us.
import { type Json, number, object, parseLine, string } from './json.ts'
import type { RunningProcess } from './process.ts'

export type Answer =
  | { readonly ok: true; readonly result: Json }
  /** `code` null: it was gone before it answered. */
  | { readonly ok: false; readonly code: number | null; readonly message: string; readonly data: Json }

export interface Rpc {
  /** Settles in any case, at the latest when the process is gone; never rejects. */
  request(method: string, params: Json): Promise<Answer>
  notify(method: string, params: Json): void
  /** Resolves when its last line has been heard: there will be no more. */
  readonly over: Promise<void>
}

export interface RpcParts {
  /** Whether every line says `"jsonrpc":"2.0"`; not everybody wants that. */
  readonly versioned: boolean
  /** What it tells unasked. Must not throw. */
  notified(method: string, params: Json): void
  /** What it asks of us: the result to answer with, or null to refuse. Must not throw. */
  asked(method: string, params: Json): Json | null
}

/** Reads all lines of `child` from now on: nobody else may. */
export function openRpc(child: RunningProcess, { versioned, notified, asked }: RpcParts): Rpc {
  const pending = new Map<number, (answer: Answer) => void>()
  let lastId = 0
  let silent = false

  const write = (line: Json) => child.send(`${JSON.stringify(versioned ? { jsonrpc: '2.0', ...line } : line)}\n`)

  function hear(line: Json): void {
    const { id, method } = line
    if (typeof method === 'string') {
      if (id === undefined || id === null) return notified(method, object(line.params))
      const result = asked(method, object(line.params))
      write(result === null ? { id, error: { code: -32601, message: 'not available here' } } : { id, result })
      return
    }
    if (typeof id !== 'number') return
    const settle = pending.get(id)
    pending.delete(id)
    settle?.(answerOf(line))
  }

  async function listen(): Promise<void> {
    for await (const text of child.lines) {
      const line = parseLine(text)
      if (line) hear(line)
    }
    silent = true
    for (const settle of pending.values()) settle(gone)
    pending.clear()
  }
  return {
    request: (method, params) =>
      new Promise(resolve => {
        if (silent) return resolve(gone)
        const id = ++lastId
        pending.set(id, resolve)
        write({ id, method, params })
      }),
    notify: (method, params) => write({ method, params }),
    over: listen(),
  }
}

const gone: Answer = { ok: false, code: null, message: 'it was gone before it answered', data: {} }

function answerOf(line: Json): Answer {
  if (line.error === undefined || line.error === null) return { ok: true, result: object(line.result) }
  const error = object(line.error)
  return { ok: false, code: number(error.code), message: string(error.message) || 'refused', data: object(error.data) }
}
