// A small HTTP client for the opencode server on loopback: JSON calls, and one event stream.
import { StringDecoder } from 'node:string_decoder'
import { outputLimits, type RunningProcess } from '../process.ts'
import { type Json, parseLine } from '../stdio.ts'

export interface Reply {
  readonly status: number
  /** Empty if the body is not a JSON object. */
  readonly body: Json
}

export interface Loopback {
  /** Rejects if the connection breaks before the reply is complete. `patienceMs` 0: no timeout. */
  call(method: 'GET' | 'POST', path: string, body?: Json, patienceMs?: number): Promise<Reply>
  /** Resolves when the stream is open, with a promise for its end. `onEvent` must not throw. */
  listen(path: string, onEvent: (event: Json) => void): Promise<{ readonly closed: Promise<void> }>
}

const usualPatienceMs = 30_000

/** `dial`: the way to it, if it is in a network of its own. */
export function createLoopback(url: string, user: string, password: string, dial?: RunningProcess['dial']): Loopback {
  // Importing node:http loads much that is never used here; so does fetch.
  const http = process.getBuiltinModule('node:http')
  const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`

  function send(method: string, path: string, body?: Json) {
    const request = http.request(`${url}${path}`, {
      method,
      ...(dial
        ? { createConnection: (_: unknown, ready: Parameters<typeof dial>[0]) => dial(ready) }
        : { agent: false }),
      headers: { authorization, ...(body ? { 'content-type': 'application/json' } : {}) },
    })
    request.end(body ? JSON.stringify(body) : undefined)
    return request
  }

  return {
    call: (method, path, body, patienceMs = usualPatienceMs) =>
      new Promise((resolve, reject) => {
        const request = send(method, path, body)
        const late = () => request.destroy(new Error(`no answer to ${method} ${path}`))
        const patience = patienceMs > 0 ? setTimeout(late, patienceMs) : undefined
        request.on('close', () => {
          clearTimeout(patience)
          reject(new Error('the connection was closed'))
        })
        request.on('error', reject)
        request.on('response', response => {
          const pieces: Buffer[] = []
          let size = 0
          response.on('data', (piece: Buffer) => {
            size += piece.length
            if (size > outputLimits.line) request.destroy(new Error('the answer is too long'))
            else pieces.push(piece)
          })
          response.on('error', reject)
          response.on('end', () =>
            resolve({ status: response.statusCode ?? 0, body: parseLine(Buffer.concat(pieces).toString()) ?? {} }),
          )
        })
      }),

    listen: (path, onEvent) =>
      new Promise((resolve, reject) => {
        const request = send('GET', path)
        const late = () => request.destroy(new Error('no stream of events'))
        const patience = setTimeout(late, usualPatienceMs)
        const closed = new Promise<void>(over => {
          request.on('close', () => {
            clearTimeout(patience)
            reject(new Error('the connection was closed'))
            over()
          })
        })
        request.on('error', reject)
        request.on('response', response => {
          if (response.statusCode !== 200) return void request.destroy(new Error(`status ${response.statusCode}`))
          const stream = readStream(onEvent, outputLimits.line)
          response.on('data', (piece: Buffer) => {
            if (!stream.feed(piece)) request.destroy()
          })
          response.on('error', reject)
          clearTimeout(patience)
          resolve({ closed })
        })
      }),
  }
}

/** Reads server-sent events with a JSON object each and skips anything else. `feed` returns false if a line is too long. */
export function readStream(onEvent: (event: Json) => void, longest: number): { feed(piece: Buffer): boolean } {
  const decoder = new StringDecoder('utf8')
  let partial: string[] = []
  let length = 0

  const take = (line: string) => {
    const event = line.startsWith('data:') ? parseLine(line.slice('data:'.length)) : null
    if (event) onEvent(event)
  }
  return {
    feed(piece) {
      const [first = '', ...others] = decoder.write(piece).split('\n')
      partial.push(first)
      length += first.length
      for (const next of others) {
        take(partial.join(''))
        partial = [next]
        length = next.length
      }
      return length <= longest
    },
  }
}
