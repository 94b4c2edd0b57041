// The output of a process: complete lines of stdout within limits, and the last part of stderr.
import { StringDecoder } from 'node:string_decoder'

export type TooMuch = 'line-too-long' | 'too-much-output'

export interface LineLimits {
  readonly line: number
  readonly total: number
}

/** The most that may wait to be read. Beyond that, the writer is paused. */
const mostWaiting = 4 * 1024 * 1024

/** Splits on \n only: U+2028 and the like are ordinary characters inside JSON. `flow` pauses or resumes the writer. */
export function openLines(limits: LineLimits, stop: (why: TooMuch) => void, flow: (on: boolean) => void) {
  const decoder = new StringDecoder('utf8')
  let ready: string[] = []
  let partial: string[] = []
  let partialLength = 0
  let waiting = 0
  let held = false
  let total = 0
  let closed = false
  /** Lines that are still buffered are not handed out. */
  let dropped = false
  let wake: (() => void) | null = null

  const nudge = () => {
    wake?.()
    wake = null
  }
  const hold = (on: boolean) => {
    if (held === on) return
    held = on
    flow(!on)
  }
  const drop = () => {
    closed = true
    dropped = true
    ready = []
    partial = []
    nudge()
  }
  const abandon = (why: TooMuch) => {
    drop()
    stop(why)
  }
  return {
    feed(chunk: Buffer) {
      if (closed) return
      total += chunk.length
      if (total > limits.total) return abandon('too-much-output')
      const [first = '', ...others] = decoder.write(chunk).split('\n')
      partial.push(first)
      partialLength += first.length
      for (const piece of others) {
        const line = partial.join('')
        ready.push(line)
        waiting += line.length
        partial = [piece]
        partialLength = piece.length
      }
      if (partialLength > limits.line) return abandon('line-too-long')
      if (ready.length > 0) nudge()
      if (waiting > mostWaiting) hold(true)
    },
    close() {
      if (closed) return
      closed = true
      const rest = partial.join('') + decoder.end()
      partial = []
      if (rest.trim() !== '') ready.push(rest)
      nudge()
    },
    /** Nothing more is handed out, not even lines that have arrived already. */
    drop,
    startCounting() {
      total = 0
    },
    async *read(): AsyncGenerator<string> {
      for (;;) {
        const batch = ready
        ready = []
        for (const line of batch) {
          if (dropped) return
          waiting -= line.length
          if (waiting <= mostWaiting / 2) hold(false)
          if (line.trim() !== '') yield line
        }
        if (ready.length > 0) continue
        if (closed) return
        await new Promise<void>(resolve => {
          wake = resolve
        })
      }
    },
  }
}

export function createTail(max: number) {
  let tail = Buffer.alloc(0)
  return {
    feed(chunk: Buffer) {
      tail = Buffer.concat([tail, chunk])
      if (tail.length > max) tail = tail.subarray(tail.length - max)
    },
    // Without the colours that some programs write even into a pipe.
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the escape that begins a colour
    text: () => tail.toString('utf8').replace(/\u001b\[[\d;]*m/g, ''),
  }
}
