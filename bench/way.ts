// The way of one message: which files and functions of src/ run for it. Usage: npx node bench/way.ts [--functions]
//
// Counted by V8 in a gateway on the loopback Discord with the stand-in CLI, warm: from the moment a person writes the second and later messages of a
// conversation until the final is posted. A function counts if it was called more often than in an idle stretch of at least the same length
// just before, which leaves out what merely polls. Three messages are taken together, as chance decides what still fits in before the final.
// Modules that are only types, and functions called only at the start, do not count.
import { parseArgs } from 'node:util'
import { openStage, type Stage } from '../test/harness/discord.ts'
import { type RunningGateway, startGateway } from '../test/harness/gateway.ts'
import { pause } from './rig.ts'

interface Coverage {
  readonly result: readonly {
    readonly url: string
    readonly functions: readonly {
      readonly functionName: string
      readonly ranges: readonly { readonly startOffset: number; readonly count: number }[]
    }[]
  }[]
}
/** How often each function was called, by its name and offset, by file. */
type Calls = ReadonlyMap<string, ReadonlyMap<string, number>>

const messages = 3
const idleMs = 2000

const { values } = parseArgs({ options: { functions: { type: 'boolean' } } })
const way = await measure()
const functions = [...way.values()].reduce((sum, names) => sum + names.size, 0)
for (const [folder, files] of Map.groupBy([...way.keys()].sort(), file => file.slice(0, file.lastIndexOf('/')))) {
  console.log(`${folder} (${files.length})`)
  for (const file of files) {
    const called = [...(way.get(file) ?? [])].map(name => name.split('@')[0] || '(anonymous)')
    console.log(`  ${file.slice(folder.length + 1)} ${called.length}${values.functions ? `  ${called.join(' ')}` : ''}`)
  }
}
console.log(`${way.size} files, ${functions} functions`)

async function measure(): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  await using stage = await openStage()
  const gateway = await startGateway(stage.home, stage.settings(), undefined, ['--inspect=127.0.0.1:0'])
  // Closed before the gateway is: a process that ends waits for its debugger.
  const profiler = await openProfiler(gateway)
  try {
    const { take } = profiler
    const channel = await firstMessage(stage)
    const found = new Map<string, Set<string>>()
    for (let i = 1; i <= messages; i++) {
      await pause(idleMs)
      await take()
      await pause(idleMs)
      const idle = await take()
      stage.discord.say(stage.discord.ada, channel, `message ${i}`, { mention: true })
      await stage.answer(channel, `message ${i}`)
      for (const [file, calls] of await take())
        for (const [name, count] of calls)
          if (count > (idle.get(file)?.get(name) ?? 0)) found.set(file, (found.get(file) ?? new Set()).add(name))
    }
    return found
  } finally {
    profiler.close()
    await gateway.stop()
  }
}

async function firstMessage(stage: Stage) {
  await stage.discord.ready()
  const channel = stage.discord.channel(stage.discord.home, 'talk')
  stage.discord.say(stage.discord.ada, channel, 'message 0', { mention: true })
  await stage.answer(channel, 'message 0')
  return channel
}

interface Profiler {
  /** What was called since the last time. */
  take(): Promise<Calls>
  close(): void
}

async function openProfiler(gateway: RunningGateway): Promise<Profiler> {
  const address = /ws:\/\/127\.0\.0\.1:\S+/.exec(gateway.output())?.[0]
  if (!address) throw new Error('the gateway does not say where its inspector listens')
  const socket = new WebSocket(address)
  const answers = new Map<number, (answer: unknown) => void>()
  socket.addEventListener('message', ({ data }) => {
    const { id, result } = JSON.parse(String(data)) as { id?: number; result?: unknown }
    if (id !== undefined) answers.get(id)?.(result)
  })
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve)
    socket.addEventListener('error', reject)
  })
  let last = 0
  const ask = (method: string, params = {}) =>
    new Promise<unknown>(resolve => {
      answers.set(++last, resolve)
      socket.send(JSON.stringify({ id: last, method, params }))
    })
  await ask('Profiler.enable')
  await ask('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  return {
    take: async () => callsIn((await ask('Profiler.takePreciseCoverage')) as Coverage),
    close: () => socket.close(),
  }
}

function callsIn(coverage: Coverage): Calls {
  const calls = new Map<string, Map<string, number>>()
  for (const { url, functions } of coverage.result) {
    const file = /\/(src\/.*)$/.exec(url)?.[1]
    if (!file || url.includes('/node_modules/')) continue
    for (const { functionName, ranges } of functions) {
      const [whole] = ranges
      if (!whole || whole.count === 0 || (functionName === '' && whole.startOffset === 0)) continue
      calls.set(file, (calls.get(file) ?? new Map()).set(`${functionName}@${whole.startOffset}`, whole.count))
    }
  }
  return calls
}
