// ipc/outbound with real files and real time: sent once and in order, refused with a reason, nothing followed, nothing lost.
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { link, lstat, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import type { Signal } from '../base/signal.ts'
import type { Clock } from '../base/time.ts'
import { createOutbound, type OutboundDelivery, type OutboundParts } from './outbound.ts'

const clock: Clock = {
  now: () => performance.timeOrigin + performance.now(),
  sleep: (ms, signal) => pause(Math.max(0, ms), undefined, { signal }).catch(() => undefined),
}
const ends: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

async function makeWorkspace() {
  const workspace = await mkdtemp(join(tmpdir(), 'outbound-'))
  ends.push(() => rm(workspace, { recursive: true, force: true }))
  const dir = join(workspace, 'ipc/outbound')
  await mkdir(dir, { recursive: true })
  const drop = (name: string, content: string | object) =>
    writeFile(join(dir, name), typeof content === 'string' ? content : JSON.stringify(content))
  const inside = async (folder: string) => (await readdir(join(dir, folder))).sort()
  const reason = (name: string) => readFile(join(dir, 'failed', `${name}.reason.txt`), 'utf8')
  return { workspace, dir, drop, inside, reason }
}

/** Like the real outbox: accepts each key once. */
function makeOutbox() {
  const deliveries = new Map<string, OutboundDelivery>()
  const put = async (key: string, delivery: OutboundDelivery) => {
    if (!deliveries.has(key)) deliveries.set(key, delivery)
  }
  return { deliveries, put, texts: () => [...deliveries.values()].map(({ text }) => text) }
}

function start(workspace: string, changes: Partial<OutboundParts>) {
  const signals: Signal[] = []
  const stopping = new AbortController()
  const outbound = createOutbound({
    workspace,
    put: async () => undefined,
    placeOf: channel => (channel === 'none' ? null : { chat: 'webchat', conversation: channel ?? 'default' }),
    split: (_, text) => text.match(/[\s\S]{1,1000}/g) ?? [''],
    emit: signal => void signals.push(signal),
    clock,
    ...changes,
  })
  const ended = outbound.run(stopping.signal)
  const stop = async () => {
    stopping.abort()
    await ended
  }
  ends.push(stop)
  const troubles = () => signals.map(signal => (signal.type === 'workspace-trouble' ? [signal.file, signal.why] : []))
  return { stop, troubles }
}

test('JSON and markdown are sent to their channels and move to sent/', async () => {
  const { workspace, dir, drop, inside } = await makeWorkspace()
  const { deliveries, put } = makeOutbox()
  await mkdir(join(workspace, 'notes'))
  await writeFile(join(workspace, 'notes/a.txt'), 'x')
  await drop('1.json', { channel: 'c1', text: 'One', files: ['./notes/a.txt', 'notes/a.txt'] })
  await drop('2.json', { text: 'Two' })
  await drop('3.md', 'Channel: C\n\nThree\nlines: 3\n')
  await drop('4.md', '---\r\nchannel: "c4"\r\n---\r\n\r\nFour')
  await drop('5.md', '---\n\nA rule above.')
  await drop('6.JSON', { channel: 'c6', text: 'x'.repeat(2500), files: ['notes/a.txt'] })
  start(workspace, { put })
  await expect.poll(() => inside('sent')).toEqual(['1.json', '2.json', '3.md', '4.md', '5.md', '6.JSON'])
  const place = (conversation: string) => ({ chat: 'webchat', conversation })
  expect([...deliveries.values()]).toEqual([
    { place: place('c1'), text: 'One', files: ['notes/a.txt'] },
    { place: place('default'), text: 'Two', files: [] },
    { place: place('C'), text: 'Three\nlines: 3', files: [] },
    { place: place('c4'), text: 'Four', files: [] },
    { place: place('default'), text: '---\n\nA rule above.', files: [] },
    { place: place('c6'), text: 'x'.repeat(1000), files: [] },
    { place: place('c6'), text: 'x'.repeat(1000), files: [] },
    { place: place('c6'), text: 'x'.repeat(500), files: ['notes/a.txt'] },
  ])
  expect([...deliveries.keys()][0]).toMatch(/^outbound:1.json:[0-9a-f]{32}$/)
  expect(((await lstat(join(dir, 'sent'))).mode & 0o777).toString(8)).toBe('700')
})

test('a new file is noticed at once, and the same name with the same words is a new message', async () => {
  const { workspace, drop, inside } = await makeWorkspace()
  const { put, texts } = makeOutbox()
  start(workspace, { put })
  await pause(300)
  for (let times = 1; times <= 3; times += 1) {
    await drop('water.md', 'Drink water.')
    await expect.poll(() => texts().length, { interval: 20 }).toBe(times)
    await expect.poll(async () => (await inside('sent')).length).toBe(times)
  }
  expect(texts()).toEqual(Array(3).fill('Drink water.'))
})

test('what cannot be sent moves to failed/ with the reason beside it, and the rest is sent', async () => {
  const { workspace, drop, inside, reason } = await makeWorkspace()
  const { put, texts } = makeOutbox()
  await drop('array.json', '[1]')
  await drop('channel.json', { channel: 'none', text: 'x' })
  await drop('typo.json', { chanel: 'c', text: 'secret words' })
  await drop('number.json', { text: 7 })
  await drop('matter.md', '---\nchannel: c\ntitle: x\n---\ntext')
  await drop('large.md', 'x'.repeat(1024 * 1024 + 1))
  await drop('note.txt', 'x')
  await drop('same.json', '{"text":0}')
  await drop('same.md', '---\nx: y\n---\n')
  await drop('z.json', { text: 'good' })
  await drop('\u0007bell.md', 'x')
  await drop(`${'long'.repeat(60)}.json`, '[]')
  const { troubles } = start(workspace, { put })
  await expect.poll(texts).toEqual(['good'])
  expect(await reason('array')).toContain('not an object')
  expect(await reason('channel')).toContain('There is no channel "none"')
  expect(await reason('typo')).toContain('unknown field, "chanel"')
  expect(await reason('number')).toContain('"text" is not a string')
  expect(await reason('matter')).toContain('front matter')
  expect(await reason('large')).toContain('larger than')
  expect(await reason('note')).toContain('neither .json nor .md')
  expect(await reason('_bell')).toContain('control characters')
  expect((await inside('failed')).filter(name => name.startsWith('same'))).toHaveLength(4)
  expect((await inside('failed')).length).toBe(22)
  expect(troubles()).toHaveLength(11)
  expect(JSON.stringify(troubles())).not.toContain('secret words')
})

test('without a channel and a default the reason says what to set', async () => {
  const { workspace, drop, reason } = await makeWorkspace()
  await drop('x.md', 'Hello')
  const { troubles } = start(workspace, { placeOf: () => null })
  await expect.poll(troubles).toEqual([['ipc/outbound/x.md', expect.stringContaining('OUTPUT_CHANNEL_ID')]])
  expect(await reason('x')).toContain('OUTPUT_CHANNEL_ID')
})

test('links, folders, pipes and files with two names are moved to failed/, never followed, never sent', async () => {
  const { workspace, dir, drop, inside, reason } = await makeWorkspace()
  const { put, texts } = makeOutbox()
  const secret = join(workspace, 'secret.json')
  await writeFile(secret, '{"text":"the secret"}')
  await symlink(secret, join(dir, 'a-link.json'))
  await symlink('/nowhere', join(dir, 'b-broken.md'))
  await symlink(workspace, join(dir, 'c-folder-link'))
  await mkdir(join(dir, 'd-folder'))
  await writeFile(join(dir, 'd-folder/in.json'), '{"text":"inside"}')
  execFileSync('mkfifo', [join(dir, 'e-pipe.json')])
  await link(secret, join(dir, 'f-hard.json'))
  await drop('g.json', { text: 'good' })
  const { troubles } = start(workspace, { put })
  await expect.poll(texts).toEqual(['good'])
  const kinds = { 'a-link': 'a link', 'b-broken': 'a link', 'c-folder-link': 'a link', 'd-folder': 'a folder' }
  for (const [name, why] of Object.entries({ ...kinds, 'e-pipe': 'not a file', 'f-hard': 'more than one name' }))
    expect(await reason(name), name).toContain(why)
  expect((await inside('failed')).filter(name => !name.endsWith('.reason.txt'))).toEqual([
    ...['a-link.json', 'b-broken.md', 'c-folder-link', 'd-folder', 'e-pipe.json', 'f-hard.json'],
  ])
  expect(existsSync(join(dir, 'failed/d-folder/in.json'))).toBe(true)
  expect(await readFile(secret, 'utf8')).toBe('{"text":"the secret"}')
  expect(troubles()).toHaveLength(6)
})

test('only files inside the workspace can be attached, and no hidden ones', async () => {
  const { workspace, drop, reason } = await makeWorkspace()
  const { deliveries, put } = makeOutbox()
  await mkdir(join(workspace, '.aetheel'))
  for (const name of ['.aetheel/token', 'config.json', '.env', 'ok.txt']) await writeFile(join(workspace, name), 'x')
  await writeFile(join(workspace, 'empty.txt'), '')
  await symlink('/etc/hostname', join(workspace, 'out.txt'))
  await symlink('.aetheel', join(workspace, 'state'))
  await symlink('ok.txt', join(workspace, 'alias.txt'))
  const bad = [
    '.aetheel/token',
    'x/../.aetheel/token',
    'config.json',
    './config.json',
    '.env',
    '/etc/hostname',
    'out.txt',
  ]
  bad.push('../x', 'state/token', 'missing.txt', 'ipc', 'empty.txt', '', '..\\x', 'a\0b')
  for (const [i, file] of bad.entries()) await drop(`bad-${i}.json`, { text: 'x', files: [file] })
  await drop('many.json', { text: 'x', files: Array(11).fill('ok.txt') })
  await drop('odd.json', { text: 'x', files: 'ok.txt' })
  await drop('z.json', { files: ['alias.txt', 'ok.txt'] })
  start(workspace, { put })
  await expect
    .poll(() => [...deliveries.values()].map(({ text, files }) => [text, files]))
    .toEqual([['', ['alias.txt', 'ok.txt']]])
  for (const [i, file] of bad.entries()) expect(await reason(`bad-${i}`), file).toContain('cannot be sent')
  expect(await reason('many')).toContain('more than 10')
  expect(await reason('odd')).toContain('not a list')
})

test('a file that is still being written is sent whole; what stays half is refused after a while', async () => {
  const { workspace, dir, drop, inside, reason } = await makeWorkspace()
  const { put, texts } = makeOutbox()
  start(workspace, { put })
  await drop('slow.json', '{"text":')
  await drop('half.json', '{"text":"')
  await drop('empty.md', '')
  await writeFile(join(dir, 'cut.md'), Buffer.from([0x68, 0xc3]))
  for (const name of ['.hidden.md', 'x.md.tmp', 'y.part', 'z.md~']) await drop(name, 'not yet')
  await pause(700)
  expect([texts(), await inside('failed')]).toEqual([[], []])
  await drop('slow.json', '{"text":"all of it"}')
  await rename(join(dir, 'x.md.tmp'), join(dir, 'x.md'))
  await expect.poll(texts).toEqual(['all of it', 'not yet'])
  await expect.poll(async () => (await inside('failed')).length).toBe(6)
  expect(await reason('half')).toContain('not JSON')
  expect(await reason('empty')).toContain('no text')
  expect(await reason('cut')).toContain('not UTF-8')
  expect(await inside('')).toEqual(['.hidden.md', 'failed', 'sent', 'y.part', 'z.md~'])
})

test('a growing file is not sent before it stops changing', async () => {
  const { workspace, drop } = await makeWorkspace()
  const { put, texts } = makeOutbox()
  start(workspace, { put })
  let text = ''
  for (let i = 0; i < 15; i += 1) {
    text += `line ${i}\n`
    await drop('log.md', text)
    await pause(60)
  }
  await expect.poll(texts).toEqual([text.trim()])
})

test('a kill between the outbox and the move sends once', async () => {
  const { workspace, drop, inside } = await makeWorkspace()
  const { put, texts } = makeOutbox()
  await drop('x.json', { text: 'once' })
  let dead = false
  const first = start(workspace, {
    put: async (key, delivery) => {
      await put(key, delivery)
      dead = true
      await new Promise(() => undefined) // and nothing after it happens
    },
  })
  await expect.poll(() => dead).toBe(true)
  ends.splice(ends.indexOf(first.stop), 1)
  expect(await inside('')).toContain('x.json')
  start(workspace, { put })
  await expect.poll(() => inside('sent')).toEqual(['x.json'])
  expect(texts()).toEqual(['once'])
})

test('while the outbox refuses, the files wait, one problem is reported, and other places are served', async () => {
  const { workspace, drop, inside } = await makeWorkspace()
  const { put, texts } = makeOutbox()
  await drop('1.json', { channel: 'stuck', text: 'one' })
  await drop('2.json', { channel: 'stuck', text: 'two' })
  await drop('3.json', { channel: 'free', text: 'three' })
  let stuck = true
  const { troubles } = start(workspace, {
    put: (key, delivery) => (stuck && delivery.text === 'one' ? Promise.reject(new Error('full')) : put(key, delivery)),
  })
  await expect.poll(() => inside('sent')).toEqual(['3.json'])
  expect(texts()).toEqual(['three'])
  expect(troubles()).toEqual([['ipc/outbound', 'Outgoing messages wait: full']])
  stuck = false
  await drop('4.json', { channel: 'stuck', text: 'four' })
  await expect.poll(texts).toEqual(['three', 'one', 'two', 'four'])
})

test('a file rewritten while it is being sent is the next message', async () => {
  const { workspace, drop } = await makeWorkspace()
  const { put, texts } = makeOutbox()
  await drop('x.md', 'first')
  let again = true
  start(workspace, {
    put: async (key, delivery) => {
      await put(key, delivery)
      if (again) await drop('x.md', 'second')
      again = false
    },
  })
  await expect.poll(texts).toEqual(['first', 'second'])
})

test('a thousand files are sent once each, in order of name; sent/ keeps the newest five hundred', async () => {
  const { workspace, drop, inside } = await makeWorkspace()
  const { deliveries, texts, put } = makeOutbox()
  const names = Array.from({ length: 1000 }, (_, i) => `m-${String(i).padStart(4, '0')}`)
  for (const name of names.toReversed()) await drop(`${name}.json`, { text: name })
  let puts = 0
  start(workspace, {
    put: async (key, delivery) => {
      puts += 1
      await put(key, delivery)
    },
  })
  await expect.poll(() => deliveries.size, { timeout: 20_000 }).toBe(1000)
  expect(texts()).toEqual(names)
  await expect.poll(() => inside('sent')).toEqual(names.slice(500).map(name => `${name}.json`))
  expect([puts, await inside('')]).toEqual([1000, ['failed', 'sent']])
})

test('many files while it runs: each is sent once', async () => {
  const { workspace, drop, inside } = await makeWorkspace()
  const { texts, put } = makeOutbox()
  start(workspace, { put })
  const names = Array.from({ length: 1000 }, (_, i) => `m-${String(i).padStart(4, '0')}`)
  for (const name of names) {
    await drop(`${name}.tmp`, { text: name })
    await rename(join(workspace, 'ipc/outbound', `${name}.tmp`), join(workspace, 'ipc/outbound', `${name}.json`))
  }
  await expect.poll(() => texts().length, { timeout: 20_000 }).toBe(1000)
  expect(texts()).toEqual(names)
  await expect.poll(() => inside('')).toEqual(['failed', 'sent'])
})

test('a folder that is a link is not used, and one that was taken away is made again', async () => {
  const { workspace, dir, drop, inside } = await makeWorkspace()
  const { put, texts } = makeOutbox()
  const elsewhere = join(workspace, 'elsewhere')
  await mkdir(elsewhere)
  await symlink(elsewhere, join(dir, 'sent'))
  await drop('x.md', 'hello')
  const linked = start(workspace, { put })
  await expect
    .poll(linked.troubles)
    .toEqual([['ipc/outbound', expect.stringContaining('ipc/outbound/sent is not a folder')]])
  await linked.stop()
  expect([texts(), await readdir(elsewhere)]).toEqual([[], []])

  await rm(join(workspace, 'ipc'), { recursive: true, maxRetries: 5 })
  await mkdir(join(elsewhere, 'outbound'))
  await writeFile(join(elsewhere, 'outbound/private.md'), 'not for you')
  await symlink(elsewhere, join(workspace, 'ipc'))
  const outer = start(workspace, { put })
  await expect.poll(() => outer.troubles().length).toBe(1)
  await outer.stop()
  expect([texts(), await readdir(join(elsewhere, 'outbound'))]).toEqual([[], ['private.md']])

  await rm(join(workspace, 'ipc'))
  start(workspace, { put })
  await expect.poll(() => existsSync(join(dir, 'failed'))).toBe(true)
  await rm(join(workspace, 'ipc'), { recursive: true, maxRetries: 5 })
  await expect.poll(() => existsSync(join(dir, 'failed'))).toBe(true)
  await drop('x.md', 'hello')
  await expect.poll(() => inside('sent')).toEqual(['x.md'])
  expect(texts()).toEqual(['hello'])
})
