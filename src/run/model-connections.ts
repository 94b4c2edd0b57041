// Detects by its connections that a program is waiting for its model, if it prints nothing while the model thinks.
import type { AgentEvent } from '../base/agent.ts'
import type { RunningProcess } from './process.ts'
import { isConnected } from './process-table.ts'

/** In place of a line: it printed nothing, but holds a connection. */
export const waiting = Symbol('waiting')

/** The event for it. `quietly` where connections cannot be checked, because then it may be thinking at any time. */
export const thinking: AgentEvent = { type: 'thinking', quietly: process.platform !== 'linux' }

const checkEveryMs = 1000

export async function* withSigns(
  child: Pick<RunningProcess, 'lines' | 'pid'>,
  everyMs = checkEveryMs,
): AsyncGenerator<string | typeof waiting> {
  const lines = child.lines[Symbol.asyncIterator]()
  let next = lines.next()
  for (;;) {
    const line = await atMost(next, everyMs)
    if (line === waiting) {
      if (child.pid !== null && isConnected(child.pid)) yield waiting
      continue
    }
    if (line.done) return
    next = lines.next()
    yield line.value
  }
}

async function atMost<T>(work: Promise<T>, ms: number): Promise<T | typeof waiting> {
  let patience: NodeJS.Timeout | undefined
  const late = new Promise<typeof waiting>(resolve => {
    patience = setTimeout(() => resolve(waiting), ms)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(patience)
  }
}
