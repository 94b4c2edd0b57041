// Bugs that occurred once, each under the same circumstances.
import { mkdirSync, openSync, readFileSync, statSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { smallDisk, whyNoSmallDisk } from '../fakes/small-disk.ts'
import { eventually, exitOf, pause, statusOf, temporaryHome } from '../fakes/temporary.ts'
import { connect } from '../harness/client.ts'
import { processesWith, runCommand, standIn, token } from '../harness/gateway.ts'

const isNotice = (frame: { type: string; phase?: string }) => frame.type === 'action' && frame.phase === 'notice'

const noDisk = whyNoSmallDisk()
const full = `on a full disk a change that cannot be stored is told, and the gateway lives${noDisk === null ? '' : ` (skipped: ${noDisk})`}`

test.skipIf(noDisk !== null)(full, async () => {
  using disk = smallDisk(8)
  await using home = await temporaryHome()
  const gateway = await home.start({ CONFIG_DIR: join(disk.dir, 'config') })
  const client = await connect(gateway.url)
  client.say('a', 'busy [[tool:1500]]')
  client.say('b', 'waits')
  await client.next(frame => frame.type === 'accepted' && frame.id === 'b')
  await client.next(frame => frame.type === 'action' && frame.id === 'a')
  disk.fill()
  client.send({ type: 'edit', id: 'b', text: 'z'.repeat(100_000) })
  const told = await client.next(frame => frame.type === 'action' && frame.phase === 'failed' && frame.id === 'b')
  expect(told.label).toMatch(/could not be stored/)
  disk.makeRoom()
  expect((await client.final('b')).text).toBe('turn 2: waits')
})

test('a message that is too long is refused with the real limit', async () => {
  await using home = await temporaryHome()
  const gateway = await home.start()
  const client = await connect(gateway.url)
  client.say('long', 'x'.repeat(250_000))
  expect((await client.next(frame => frame.type === 'refused')).reason).toContain('more than 200000 characters')
})

test('a limit that is reached twice is reported twice', async () => {
  await using home = await temporaryHome()
  const gateway = await home.start()
  const client = await connect(gateway.url)
  const inSeconds = (n: number) => Math.ceil(Date.now() / 1000) + n
  client.say('1', `work [[limit:${inSeconds(1)}]]`)
  await client.next(isNotice)
  client.send({ type: 'edit', id: '1', text: `work [[limit:${inSeconds(60)}]]` })
  await eventually('a second notice', () => client.frames.filter(isNotice).length === 2)
})

test('a request that the service will never accept is not retried', async () => {
  await using home = await temporaryHome()
  const gateway = await home.start()
  const client = await connect(gateway.url)
  client.say('1', 'too big [[api:400]]')
  expect(await client.final('1', 3000)).toMatchObject({ ok: false, text: expect.stringMatching(/^Refused: /) })
  expect(home.begun()).toHaveLength(1)
})

test('an id with characters that the database cannot distinguish is refused', async () => {
  await using home = await temporaryHome()
  const gateway = await home.start()
  const client = await connect(gateway.url)
  client.socket.send('{"type":"message","id":"\\ud800","text":"first"}')
  client.socket.send('{"type":"message","id":"a\\u0000b","text":"second"}')
  await eventually('two refusals', () => client.frames.filter(frame => frame.type === 'refused').length === 2, 2000)
})

test('the reason of a refusal does not repeat the frame', async () => {
  await using home = await temporaryHome()
  const gateway = await home.start()
  const client = await connect(gateway.url)
  client.send({ type: 'x'.repeat(500_000) })
  expect((await client.next(frame => frame.type === 'refused')).reason?.length).toBeLessThan(500)
})

test('stopped while it starts, it exits with 0', async () => {
  await using home = await temporaryHome()
  const slow = join(home.dir, 'slow.sh')
  writeFileSync(
    slow,
    `#!/bin/sh\necho checked > ${home.dir}/checked\nsleep 1\nexec ${process.execPath} ${standIn} "$@"\n`,
    { mode: 0o755 },
  )
  const run = runCommand(home, ['start'], { AGENT_BACKEND: 'claude', BACKEND_CLI_PATH: slow })
  await eventually('the check', () => statSync(join(home.dir, 'checked'), { throwIfNoEntry: false }) !== undefined)
  run.child.kill('SIGTERM')
  expect(await exitOf({ exit: run.exit, output: run.stderr })).toBe(0)
  expect(run.stderr()).not.toContain('does not run')
})

test('a database damaged inside is reported with what to do, and left as it is', async () => {
  await using home = await temporaryHome()
  const gateway = await home.start()
  const client = await connect(gateway.url, 'earlier')
  for (const id of ['1', '2', '3']) client.say(id, `keep ${'x'.repeat(10_000)}`)
  await client.final('3')
  await gateway.stop()
  const file = join(home.configDir, '.aetheel', 'aetheel.db')
  const { size } = statSync(file)
  writeSync(openSync(file, 'r+'), Buffer.alloc(size - 4096, 0x5a), 0, size - 4096, 4096)
  const before = readFileSync(file)
  const run = runCommand(home, ['start'], { AGENT_BACKEND: 'echo' })
  expect(await exitOf({ exit: run.exit, output: run.stderr })).toBe(1)
  expect(run.stderr()).toMatch(/^aetheel: .*aetheel\.db is damaged\. Restore it/m)
  expect(readFileSync(file).equals(before)).toBe(true)
})

test('a folder in place of the database is reported in plain words', async () => {
  await using home = await temporaryHome()
  mkdirSync(join(home.configDir, '.aetheel', 'aetheel.db'), { recursive: true })
  const run = runCommand(home, ['start'], { AGENT_BACKEND: 'echo' })
  expect(await exitOf({ exit: run.exit, output: run.stderr })).toBe(1)
  expect(run.stderr()).toMatch(/^aetheel: .*aetheel\.db is not a file\. Move it away/m)
})

test('a token file with garbage is replaced', async () => {
  for (const rubbish of [
    '\x01\x02 rubbish \0 with \n newlines and more',
    'ümlaut-token-that-is-long-enough',
    'x'.repeat(100_000),
  ]) {
    await using home = await temporaryHome()
    mkdirSync(join(home.configDir, '.aetheel'), { recursive: true })
    writeFileSync(join(home.configDir, '.aetheel', 'token'), rubbish)
    await home.start({ AGENT_BACKEND: 'echo', HTTP_TOKEN: '' })
    expect(readFileSync(join(home.configDir, '.aetheel', 'token'), 'utf8')).toMatch(/^[\w-]{32}\n$/)
  }
})

test('the printed link opens the chat whatever characters the token has', async () => {
  await using home = await temporaryHome()
  const gateway = await home.start({ HTTP_TOKEN: 'a&b#c+d%20e-long-enough', AGENT_BACKEND: 'echo' })
  const link = /WebChat\s+(\S+)/.exec(gateway.output())?.[1] ?? ''
  const answer = await fetch(link, { redirect: 'manual' })
  expect(answer.headers.get('set-cookie')).toMatch(/^aetheel_[0-9a-f]{8}=/)
})

test('what people wrote is not in the log, even if the CLI repeats it in its error', async () => {
  await using home = await temporaryHome()
  const leaky = join(home.dir, 'leaky.sh')
  writeFileSync(leaky, '#!/bin/sh\n[ "$1" = --version ] && exit 0\necho "cannot handle: $(cat)" >&2\nexit 2\n', {
    mode: 0o755,
  })
  // It reads all of its input before it says anything, which a CLI that asks could not.
  mkdirSync(home.configDir, { recursive: true })
  writeFileSync(join(home.configDir, 'config.json'), '{ "ask_tools": [] }')
  const gateway = await home.start({ BACKEND_CLI_PATH: leaky, BACKEND_WARM: 'false' })
  const client = await connect(gateway.url)
  client.say('1', 'my marmalade')
  await client.next(isNotice)
  await eventually('the line', () => gateway.output().includes('cannot handle'))
  expect(gateway.output()).not.toContain('marmalade')
})

test('an edit follows the same rules as a message', async () => {
  await using home = await temporaryHome()
  const gateway = await home.start()
  const client = await connect(gateway.url)
  client.say('a', 'busy [[tool:800]]')
  client.say('b', 'waits')
  await client.next(frame => frame.type === 'accepted' && frame.id === 'b')
  client.send({ type: 'edit', id: 'b', text: 'x'.repeat(250_000) })
  client.send({ type: 'edit', id: 'b', text: '  ' })
  await eventually('both told', () => client.frames.filter(frame => frame.phase === 'failed').length === 2, 3000)
  expect((await client.final('b')).text).toBe('turn 2: waits')
})

const ask = (url: string, query: string, body: object) =>
  fetch(`${url}/api/messages${query}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(10_000),
  })

test('a waiting request gets its final even behind deliveries that nobody has fetched', async () => {
  await using home = await temporaryHome()
  const gateway = await home.start()
  expect((await ask(gateway.url, '', { conversation: 'c', id: '1', text: 'nobody waits' })).status).toBe(202)
  await eventually('the answer', async () => (await statusOf(gateway)).events.answered === 1)
  const answer = await ask(gateway.url, '?wait=true', { conversation: 'c', id: '2', text: 'I wait' })
  expect(await answer.json()).toMatchObject({ id: '2', text: 'turn 2: I wait' })
  const client = await connect(gateway.url, 'c')
  await client.next(frame => frame.type === 'history')
  expect(client.frames.filter(frame => frame.type === 'final').map(frame => frame.id)).toEqual(['1'])
})

test('a request that waits for a cancelled message is notified, also when it is repeated', async () => {
  await using home = await temporaryHome()
  const gateway = await home.start()
  const client = await connect(gateway.url, 'c')
  client.say('busy', '[[tool:3000]]')
  await client.next(frame => frame.type === 'accepted')
  const answer = ask(gateway.url, '?wait=true', { conversation: 'c', id: 'mine', text: 'I wait' })
  await eventually('the request', async () => (await statusOf(gateway)).events.waiting === 1)
  client.send({ type: 'cancel', id: 'mine' })
  expect((await answer).status).toBe(410)
  expect((await ask(gateway.url, '?wait=true', { conversation: 'c', id: 'mine', text: 'I wait' })).status).toBe(410)
})

test('a background process of the agent does not keep the gateway from exiting', async () => {
  await using home = await temporaryHome()
  const server = join(home.dir, 'leaves-a-server.sh')
  writeFileSync(server, `#!/bin/sh\n[ "$1" = --version ] || sleep 30 &\nexec ${process.execPath} ${standIn} "$@"\n`, {
    mode: 0o755,
  })
  const gateway = await home.start({ BACKEND_CLI_PATH: server })
  const client = await connect(gateway.url)
  client.say('1', 'start a server')
  await client.final('1')
  await pause(1200)
  gateway.child.kill('SIGTERM')
  expect(await exitOf(gateway, 5000)).toBe(0)
})

test('a client that connects during the start is not refused', async () => {
  await using home = await temporaryHome()
  const port = '18473'
  const starting = home.start({ HTTP_PORT: port, AGENT_BACKEND: 'echo' })
  const client = await eventuallyConnected(`http://127.0.0.1:${port}`)
  client.say('1', 'first')
  expect((await client.final('1')).ok).toBe(true)
  expect(client.frames.some(frame => frame.type === 'refused')).toBe(false)
  await starting
})

test('a start that fails half-way leaves nothing behind', async () => {
  await using home = await temporaryHome()
  mkdirSync(join(home.configDir, 'soul.md'), { recursive: true })
  const run = runCommand(home, ['start'], { AGENT_BACKEND: 'echo' })
  expect(await exitOf({ exit: run.exit, output: run.stderr }, 8000)).toBe(1)
  expect(run.stderr()).toMatch(/^aetheel: .*soul\.md/m)
})

test('closing the terminal ends the agent', async () => {
  await using home = await temporaryHome()
  const gateway = await home.start({ STOP_TIMEOUT_MS: '100' })
  const client = await connect(gateway.url)
  client.say('1', '[[hang]]')
  await eventually('the run', () => home.begun().length === 1)
  gateway.child.kill('SIGHUP')
  expect(await exitOf(gateway, 8000)).toBe(0)
  expect(processesWith(`HOME=${home.dir}`)).toEqual([])
})

test('batched messages fail together', async () => {
  await using home = await temporaryHome()
  const gateway = await home.start({ COLLECT: 'true' })
  const client = await connect(gateway.url)
  client.say('a', 'busy [[tool:600]]')
  await client.next(frame => frame.type === 'action')
  client.say('b', 'one')
  client.say('c', 'two [[login]]')
  expect([(await client.final('b')).ok, (await client.final('c')).ok]).toEqual([false, false])
})

async function eventuallyConnected(url: string) {
  for (;;) {
    try {
      return await connect(url, 'early')
    } catch {
      await pause(1)
    }
  }
}
