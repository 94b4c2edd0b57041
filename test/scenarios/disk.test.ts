// Disk problems: damage, no space, no permission. Nothing counts as accepted that is not stored, and nothing is made worse.
import { mkdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { smallDisk, whyNoSmallDisk } from '../fakes/small-disk.ts'
import { eventually, exitOf, type TemporaryHome, temporaryHome, unaccounted } from '../fakes/temporary.ts'
import { connect } from '../harness/client.ts'
import { runCommand, startGateway } from '../harness/gateway.ts'

const stateOf = (home: TemporaryHome, file: string) => join(home.configDir, '.aetheel', file)

/** Starts a gateway that must fail; returns its output, without a stack trace. */
async function refusal(home: TemporaryHome, env: Record<string, string> = {}): Promise<string> {
  const run = runCommand(home, ['start'], { AGENT_BACKEND: 'echo', ...env })
  const code = await exitOf({ exit: run.exit, output: () => run.stdout() + run.stderr() })
  if (code !== 1 || run.stdout() !== '' || /^\s+at |node:internal/m.test(run.stderr()))
    throw new Error(`expected exit 1 and plain words, got ${code}:\n${run.stdout()}${run.stderr()}`)
  return run.stderr()
}

/** A folder with a conversation. */
async function usedHome(): Promise<TemporaryHome> {
  const home = await temporaryHome()
  const gateway = await home.start()
  const client = await connect(gateway.url, 'earlier')
  for (const id of ['1', '2', '3']) client.say(id, `something worth keeping ${'x'.repeat(10_000)}`)
  await client.final('3')
  await gateway.stop()
  return home
}

describe.concurrent('a damaged database', () => {
  const damages: Record<string, (file: string) => void> = {
    'cut in half': file => truncateSync(file, Math.floor(statSync(file).size / 2)),
    'cut short by one page': file => truncateSync(file, statSync(file).size - 4096),
    'cut to a few bytes': file => truncateSync(file, 50),
    'overwritten with something else': file => writeFileSync(file, 'this is not a database at all\n'.repeat(1000)),
  }
  for (const [how, damage] of Object.entries(damages))
    test(`that was ${how} is reported with what to do, and left as it is`, async ({ expect }) => {
      await using home = await usedHome()
      const file = stateOf(home, 'aetheel.db')
      damage(file)
      const before = readFileSync(file)
      expect(await refusal(home)).toMatch(/^aetheel: .*aetheel\.db is damaged\. Restore it from a backup, or move it/m)
      expect(readFileSync(file).equals(before)).toBe(true)
      rmSync(file)
      const gateway = await home.start({ AGENT_BACKEND: 'echo' })
      const client = await connect(gateway.url)
      client.say('1', 'a new beginning')
      expect((await client.final('1')).ok).toBe(true)
    })
})

test.concurrent('a token file that is too short is replaced', async ({ expect }) => {
  await using home = await temporaryHome()
  mkdirSync(stateOf(home, ''), { recursive: true })
  writeFileSync(stateOf(home, 'token'), '\0\x01 \n')
  await home.start({ AGENT_BACKEND: 'echo', HTTP_TOKEN: '' })
  const token = readFileSync(stateOf(home, 'token'), 'utf8')
  expect(token).toMatch(/^[\w-]{32}\n$/)
  expect(statSync(stateOf(home, 'token')).mode & 0o777).toBe(0o600)
})

const noDisk = whyNoSmallDisk()
const skipReason = noDisk === null ? '' : ` (skipped: ${noDisk})`

describe.skipIf(noDisk !== null)(`on a small disk${skipReason}`, { concurrent: true }, () => {
  test('that is full, the start says what to do, and works once there is room', async ({ expect }) => {
    using disk = smallDisk(2)
    await using home = await temporaryHome()
    const env = { CONFIG_DIR: join(disk.dir, 'config'), AGENT_BACKEND: 'echo' }
    mkdirSync(env.CONFIG_DIR)
    disk.fill()
    expect(await refusal(home, env)).toMatch(/^aetheel: .* cannot be written .*Check free space and permissions/m)
    disk.makeRoom()
    await startGateway(home, env)
  })

  test('that is read-only, the start says what to do', async ({ expect }) => {
    using disk = smallDisk(2)
    await using home = await temporaryHome()
    disk.makeReadOnly()
    const words = await refusal(home, { CONFIG_DIR: join(disk.dir, 'config') })
    expect(words).toMatch(/^aetheel: .* cannot be written .*choose another folder with CONFIG_DIR/m)
  })

  test('that fills up, nothing is acknowledged that is not stored, and it continues when there is room', async ({
    expect,
  }) => {
    using disk = smallDisk(8)
    await using home = await temporaryHome()
    const env = { CONFIG_DIR: join(disk.dir, 'config') }
    const first = await home.start(env)
    const client = await connect(first.url, 'talk')
    client.say('before', 'while there is room')
    await client.final('before')
    const other = await connect(first.url, 'other')
    other.say('running', 'in the middle of it [[tool:300]]')
    await other.next(frame => frame.type === 'action')

    disk.fill()
    const ids = Array.from({ length: 30 }, (_, i) => `full-${i}`)
    for (const id of ids) client.say(id, `no room for this ${'x'.repeat(20_000)}`)
    const answers = () =>
      client.frames.filter(frame => ids.includes(frame.id ?? '') && /accepted|refused/.test(frame.type))
    await eventually('an answer to each', () => answers().length === ids.length)
    const refused = answers().filter(frame => frame.type === 'refused')
    expect(refused.length).toBeGreaterThan(0)
    for (const { reason } of refused) expect(reason).toMatch(/^Not stored: .*send it again/)
    expect((await fetch(`${first.url}/healthz`)).status).toBe(503)

    disk.makeRoom()
    client.say('after', 'room again')
    expect((await client.final('after')).ok).toBe(true)
    const accepted = answers().filter(frame => frame.type === 'accepted')
    for (const { id = '' } of accepted) await client.final(id)
    expect((await other.final('running')).text).toBe('turn 1: in the middle of it [[tool:300]]')
    expect(home.begun().filter(run => run.prompt.includes('in the middle of it'))).toHaveLength(1)
    expect(await unaccounted(first)).toBe(0)

    await first.stop('SIGKILL')
    const second = await home.start(env)
    const back = await connect(second.url, 'talk')
    const { messages = [] } = await back.next(frame => frame.type === 'history')
    const kept = messages.filter(message => message.role === 'user').map(message => message.id)
    expect(kept).toEqual(['before', ...accepted.map(frame => frame.id), 'after'])
  })
  test('that is full, it still stops in order, and the next start finishes what could not be stored', async ({
    expect,
  }) => {
    using disk = smallDisk(8)
    await using home = await temporaryHome()
    const env = { CONFIG_DIR: join(disk.dir, 'config') }
    const first = await home.start(env)
    const client = await connect(first.url, 'talk')
    client.say('running', 'in the middle of it [[tool:500]]')
    client.say('waiting', 'and then this')
    await client.next(frame => frame.type === 'action')
    disk.fill()
    await eventually('the end of the turn', () => first.output().includes('"msg":"turn ended"'))
    first.child.kill('SIGTERM')
    expect(await exitOf(first)).toBe(0)

    disk.makeRoom()
    const second = await home.start(env)
    const back = await connect(second.url, 'talk')
    await back.final('waiting')
    const finals = [...client.frames, ...back.frames].filter(frame => frame.type === 'final')
    expect(finals.map(frame => frame.id)).toEqual(['running', 'waiting'])
    expect(await unaccounted(second)).toBe(0)
  })
})
