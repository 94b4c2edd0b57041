// Times that stand-in.sh tells, as times of performance.now(): so that they can be compared with our own.
import { spawn } from 'node:child_process'
import { standIn } from './rig.ts'

/**
 * When performance.now() was 0, in milliseconds since the epoch. Date.now() has no fraction, so it is caught at the
 * moment it moves on; to be put aside in that moment makes the answer smaller, hence the largest of a few.
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

/** The CLI tells seconds since the epoch: when its first instruction ran, and when its last line left. */
export function momentsIn(text: string, epoch: number): { first: number; last: number } {
  const [first = Number.NaN, last = Number.NaN] = text.split(' ').map(seconds => Number(seconds) * 1000 - epoch)
  if (Number.isNaN(first) || Number.isNaN(last))
    throw new Error('bench/stand-in.sh needs bash 5 or later to tell the time')
  return { first, last }
}

/** From spawned (spawn returns once the program is loaded in place of the fork) to the first instruction. */
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
