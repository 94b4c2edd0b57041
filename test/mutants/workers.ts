// The sandboxes that run tests: one job at a time each, restarted when a mutant hangs.
import type { ChildProcess } from 'node:child_process'
import { runInSandbox } from './sandbox.ts'
import type { Order, Report } from './worker.ts'

export type Ran = Extract<Report, { type: 'done' }> | { type: 'hung' } | { type: 'died' }

export interface Worker {
  run(order: Order, mostMs: number): Promise<Ran>
  stop(): void
}

export function createWorker(root: string): Worker {
  let child: ChildProcess | null = null
  let ready: Promise<void> = Promise.resolve()

  function start(): ChildProcess {
    const started = runInSandbox(root, 'worker.ts')
    ready = new Promise<void>((resolve, reject) => {
      started.once('message', () => resolve())
      started.once('exit', () => reject(new Error('the sandbox ended before it was ready')))
    })
    return started
  }

  function stop(): void {
    child?.kill('SIGKILL')
    child = null
  }

  return {
    async run(order, mostMs) {
      child ??= start()
      const running = child
      await ready
      return new Promise<Ran>(resolve => {
        const end = (ran: Ran) => {
          clearTimeout(timer)
          running.removeAllListeners('message').removeAllListeners('exit')
          if (ran.type !== 'done') stop()
          resolve(ran)
        }
        const timer = setTimeout(() => end({ type: 'hung' }), mostMs)
        running.once('message', report => end(report as Ran))
        running.once('exit', () => end({ type: 'died' }))
        running.send(order)
      })
    },
    stop,
  }
}
