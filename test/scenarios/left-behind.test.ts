// Processes that turns have started end with the turn, with the gateway, or at the latest with the next start.
import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { descendants } from '../../src/run/process-table.ts'
import { isAlive } from '../fakes/temporary.ts'
import { type Client, connect } from '../harness/client.ts'
import { type Home, makeHome, processesWith, type RunningGateway, startGateway } from '../harness/gateway.ts'

let home: Home
let gateway: RunningGateway | null = null
let client: Client

beforeEach(async () => {
  home = await makeHome()
})
afterEach(async () => {
  await gateway?.stop()
  gateway = null
  for (const pid of processesWith(`HOME=${home.dir}`)) process.kill(pid, 'SIGKILL')
  await home.remove()
})

/** The fake CLI under its real name. */
async function open(backend: string, env: Record<string, string>) {
  const bin = join(home.dir, 'bin')
  mkdirSync(bin, { recursive: true })
  symlinkSync(resolve(import.meta.dirname, `../fakes/${backend}.mjs`), join(bin, backend))
  const PATH = [bin, dirname(process.execPath), '/usr/bin', '/bin'].join(':')
  gateway = await startGateway(home, { AGENT_BACKEND: backend, BACKEND_CLI_PATH: '', PATH, ...env })
  client = await connect(gateway.url, 'room')
}

/** All processes in this home except the gateway. */
const others = () => processesWith(`HOME=${home.dir}`).filter(pid => pid !== gateway?.pid && isAlive(pid))
const begun = () => home.journal().filter(entry => entry.what === 'begin')
/** The CLI, a process in its own session, and a daemon. */
const leaves = '[[grandchild]] [[daemon]]'

async function hangs() {
  client.say('long', `${leaves} [[hang]]`)
  await expect.poll(() => begun().length).toBe(1)
  await expect.poll(() => others().length).toBeGreaterThanOrEqual(3)
}

async function killed() {
  await gateway?.stop('SIGKILL')
  gateway = null
}

describe.each(['claude', 'codex', 'gemini', 'opencode', 'pi'])('a process of %s for one turn', backend => {
  test('ends with all its child processes when the gateway is killed, even without a next start', async () => {
    await open(backend, { BACKEND_WARM: 'false' })
    await hangs()
    await killed()
    await expect.poll(others).toEqual([])
  })
})

describe.each(['true', 'false'])('a process of claude (BACKEND_WARM=%s)', warm => {
  test('leaves nothing behind when the turn is stopped', async () => {
    await open('claude', { BACKEND_WARM: warm, BACKEND_WARM_IDLE_MS: '1000' })
    await hangs()
    client.send({ type: 'stop' })
    await client.final('long')
    await expect.poll(others).toEqual([])
  })

  test('leaves nothing behind when the turn takes too long', async () => {
    await open('claude', { BACKEND_WARM: warm, QUERY_TIMEOUT_MS: '2000' })
    await hangs()
    expect((await client.final('long')).text).toMatch(/^Timed out/)
    await expect.poll(others).toEqual([])
  })

  test('leaves nothing behind when the gateway is stopped', async () => {
    await open('claude', { BACKEND_WARM: warm, STOP_TIMEOUT_MS: '100' })
    await hangs()
    await gateway?.stop()
    gateway = null
    expect(others()).toEqual([])
  })

  test('leaves nothing behind when the gateway is stopped twice', async () => {
    await open('claude', { BACKEND_WARM: warm, STOP_TIMEOUT_MS: '20000' })
    await hangs()
    gateway?.child.kill()
    await expect.poll(() => gateway?.output()).toContain('stopping')
    await gateway?.stop()
    gateway = null
    await expect.poll(others).toEqual([])
  })
})

test('processes left by a successful turn end with their CLI process', async () => {
  await open('claude', { BACKEND_WARM: 'false' })
  client.say('m', leaves)
  expect((await client.final('m')).ok).toBe(true)
  await expect.poll(others).toEqual([])
  expect(begun()).toHaveLength(1)
})

test('a watchdog that has died is replaced', async () => {
  await open('claude', { BACKEND_WARM: 'false' })
  client.say('m', 'hello')
  await client.final('m')
  const isWatchdog = (pid: number) => isAlive(pid) && commandOf(pid).includes('reap.ts')
  const [watchdog = 0] = descendants(gateway?.pid ?? 0).filter(isWatchdog)
  expect(watchdog).toBeGreaterThan(0)
  process.kill(watchdog, 'SIGKILL')
  await expect.poll(() => isAlive(watchdog)).toBe(false)
  client.say('long', `${leaves} [[hang]]`)
  await expect.poll(() => begun().length).toBe(2)
  await killed()
  await expect.poll(others).toEqual([])
})

test('an orphan is ended by the next start, even if no folder of its run is left', async () => {
  const mark = join(home.configDir, '.aetheel', 'runs', 'run-a1b2c3')
  const orphan = spawn('sleep', ['600'], { env: { HOME: home.dir, AETHEEL_RUN: mark }, stdio: 'ignore' })
  await open('claude', {})
  await expect.poll(() => isAlive(orphan.pid ?? 0)).toBe(false)
  expect(gateway?.output()).toContain('ended processes left by a killed gateway')
})

/** Empty: it has exited. */
function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}
