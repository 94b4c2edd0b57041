// What the gateway keeps in memory while nobody speaks, against a Node that only waits.
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { type Figure, times } from './figures.ts'
import { echo, node, pause, talk, withGateway, withHome } from './rig.ts'

const settleMs = 4000
const budget = 2

export async function memoryFigures(): Promise<readonly Figure[]> {
  const bare = spawn(node, ['-e', 'setInterval(() => {}, 1e6)'], { stdio: 'ignore' })
  try {
    return await withHome(home =>
      withGateway(home, echo, async gateway => {
        await pause(settleMs)
        const nothing = residentMb(bare.pid ?? 0)
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
        return [row('idle RSS, nothing said yet', fresh), row('idle RSS, after one answer', spoken)]
      }),
    )
  } finally {
    bare.kill()
  }
}

function residentMb(pid: number): number {
  const kb = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kb) / 1024
}
