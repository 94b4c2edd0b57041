// JSON-RPC over the lines of a process: our requests and their answers, its notifications, and its requests to us.

import type { RunningProcess } from './process.ts'
import { type Json, number, object, parseLine, string } from './stdio.ts'

export type Answer =
  | { readonly ok: true; readonly result: Json }
  /** `code` null: the process exited before it answered. */
  | { readonly ok: false; readonly code: number | null; readonly message: string; readonly data: Json }

export interface Rpc {
  /** Always resolves, at the latest when the process is gone; never rejects. */
  request(method: string, params: Json): Promise<Answer>
  notify(method: string, params: Json): void
  /** Resolves when its last line has been read. */
  readonly over: Promise<void>
}

export interface RpcParts {
  /** Whether every line carries `"jsonrpc":"2.0"`; not all servers accept that. */
  readonly versioned: boolean
  /** A notification from the process. Must not throw. */
  notified(method: string, params: Json): void
  /** A request from the process: returns the result, null to refuse, or `later` if it calls `reply` itself. Must not throw. */
  requested(method: string, params: Json, request: RpcRequest): Json | null | typeof later
}

export interface RpcRequest {
  readonly id: unknown
  /** At any time, once. `error`: as the other side expects it. */
  reply(answer: { readonly result: Json } | { readonly error: unknown }): void
}

/** The answer to a request comes later. */
export const later = Symbol('later')

/** Reads all lines of `child` from now on; nobody else may read them. */
export function createRpc(child: RunningProcess, { versioned, notified, requested }: RpcParts): Rpc {
  const pending = new Map<number, (answer: Answer) => void>()
  let lastId = 0
  let over = false

  const write = (line: Json) => child.send(`${JSON.stringify(versioned ? { jsonrpc: '2.0', ...line } : line)}\n`)

  function receive(line: Json): void {
    const { id, method } = line
    if (typeof method === 'string') {
      if (id === undefined || id === null) return notified(method, object(line.params))
      const result = requested(method, object(line.params), { id, reply: answer => write({ id, ...answer }) })
      if (result === later) return
      write(result === null ? { id, error: { code: -32601, message: 'not available here' } } : { id, result })
      return
    }
    if (typeof id !== 'number') return
    const settle = pending.get(id)
    pending.delete(id)
    settle?.(answerOf(line))
  }

  async function readLines(): Promise<void> {
    for await (const text of child.lines) {
      const line = parseLine(text)
      if (line) receive(line)
    }
    over = true
    for (const settle of pending.values()) settle(exited)
    pending.clear()
  }
  return {
    request: (method, params) =>
      new Promise(resolve => {
        if (over) return resolve(exited)
        const id = ++lastId
        pending.set(id, resolve)
        write({ id, method, params })
      }),
    notify: (method, params) => write({ method, params }),
    over: readLines(),
  }
}

const exited: Answer = { ok: false, code: null, message: 'the process exited before it answered', data: {} }

function answerOf(line: Json): Answer {
  if (line.error === undefined || line.error === null) return { ok: true, result: object(line.result) }
  const error = object(line.error)
  return { ok: false, code: number(error.code), message: string(error.message) || 'refused', data: object(error.data) }
}
