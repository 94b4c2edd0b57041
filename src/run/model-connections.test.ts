// Detecting the connection of a silent program, with real processes and a real socket.
import { type ChildProcess, spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { waiting, withSigns } from './model-connections.ts'
import { isConnected } from './process-table.ts'

let started: ChildProcess[] = []
afterEach(() => {
  for (const child of started) child.kill('SIGKILL')
  started = []
})

const run = (...args: readonly string[]) => {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  started.push(child)
  return new Promise<number>(resolve => child.stdout?.once('data', () => resolve(child.pid ?? 0)))
}

test.skipIf(process.platform !== 'linux')('connections are detected, including those of a child', async () => {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : 0
  const calls = `require('net').connect(${port}, '127.0.0.1', () => console.log('up'))`
  const idle = await run('-e', `console.log('up'); setInterval(() => 0, 1000)`)
  const calling = await run('-e', calls)
  const parent = await run(
    '-e',
    `require('child_process').spawn(process.execPath, ['-e', ${JSON.stringify(calls)}], { stdio: 'inherit' })`,
  )
  expect([idle, calling, parent].map(isConnected)).toEqual([false, true, true])
  expect(isConnected(2 ** 30)).toBe(false)
  for (const child of started) child.kill('SIGKILL')
  server.close()
})

test('lines pass through unchanged, and between lines only a connected process gives a sign of life', async () => {
  async function* slowly() {
    yield 'one'
    await new Promise(resolve => setTimeout(resolve, 120))
    yield 'two'
  }
  const heard = async (pid: number | null) => {
    const all: (string | typeof waiting)[] = []
    for await (const line of withSigns({ lines: slowly(), pid }, 20)) all.push(line)
    return all
  }
  expect(await heard(null)).toEqual(['one', 'two'])
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : 0
  const calling = await run('-e', `require('net').connect(${port}, '127.0.0.1', () => console.log('up'))`)
  const signs = await heard(calling)
  expect(signs.filter(one => one !== waiting)).toEqual(['one', 'two'])
  expect(signs).toContain(waiting)
  for (const child of started) child.kill('SIGKILL')
  server.close()
})
