// Converts the times that stand-in.sh reports to times of performance.now(), so that they can be compared with our own.
import { spawn } from 'node:child_process'
import { standIn } from './rig.ts'

/**
 * When performance.now() was 0, in milliseconds since the epoch. Date.now() has no fraction, so it is read at the
 * moment it changes. Being preempted at that moment makes the result smaller, so the largest of a few is used.
 */
export function epochNow(): number {
  let best = 0
  for (let i = 0; i < 3; i++) {
    const before = Date.now()
    let now = before
    while (now === before) now = Date.now()
    best = Math.max(best, now - performance.now())
  }
  return best
}

/** The CLI reports seconds since the epoch: when its first instruction ran, and when it wrote its last line. */
export function momentsIn(text: string, epoch: number): { first: number; last: number } {
  const [first = Number.NaN, last = Number.NaN] = text.split(' ').map(seconds => Number(seconds) * 1000 - epoch)
  if (Number.isNaN(first) || Number.isNaN(last))
    throw new Error('bench/stand-in.sh needs bash 5 or later to tell the time')
  return { first, last }
}

/** From the return of spawn (the program is loaded by then) to its first instruction. */
export async function startDirectly(epoch: number): Promise<number> {
  const child = spawn(standIn, [], { env: { PATH: process.env.PATH ?? '' }, detached: true })
  const spawned = performance.now()
  let output = ''
  child.stdout.on('data', chunk => {
    output += chunk
  })
  child.stdin.end('at once')
  await new Promise(done => child.on('close', done))
  const line = JSON.parse(output.trim().split('\n').at(-1) ?? '') as { result: string }
  return momentsIn(line.result, epoch).first - spawned
}
