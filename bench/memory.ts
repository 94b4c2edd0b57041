// The memory of an idle gateway, compared with an idle Node.
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { type Figure, times } from './figures.ts'
import { echo, node, pause, talk, withGateway, withHome } from './rig.ts'

export const settleMs = 4000
const budget = 2

export async function memoryFigures(): Promise<readonly Figure[]> {
  const bare = idleNode()
  try {
    return await withHome(home =>
      withGateway(home, echo, async gateway => {
        await pause(settleMs)
        const nothing = residentMb(bare.pid)
        const fresh = residentMb(gateway.pid)
        const chat = await talk(gateway, 'memory')
        await chat.say('hello')
        await chat.close()
        await pause(settleMs)
        const spoken = residentMb(gateway.pid)
        const row = (name: string, value: number): Figure => ({
          name,
          value: `${value.toFixed(1)} MB = ${times(value / nothing)}`,
          baseline: `idle node: ${nothing.toFixed(1)} MB`,
          budget: `≤ ${budget}×`,
          ok: value / nothing <= budget,
        })
        return [row('idle RSS, no messages yet', fresh), row('idle RSS, after one answer', spoken)]
      }),
    )
  } finally {
    bare.kill()
  }
}

/** The minimum for a program on Node. */
export const idleNode = (): ChildProcess => spawn(node, ['-e', 'setInterval(() => {}, 1e6)'], { stdio: 'ignore' })

export function residentMb(pid = 0): number {
  const kb = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kb) / 1024
}
