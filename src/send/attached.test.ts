// Which files may be sent from the workspace, and which may not.
import { once } from 'node:events'
import { linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { afterEach, expect, test } from 'vitest'
import { worseThanLinear } from '../../test/harness/growth.ts'
import type { FileScope } from '../base/chat.ts'
import { createAttached } from './attached.ts'
import { filesLinkedIn } from './deliveries.ts'

/** Copies of settings files that init, a refused edit and editors leave behind. */
const copies = ['config.json.old', 'config.json.old-2', 'bot-config.json.refused', 'config.json~', 'config.json.1.tmp']

const dirs: string[] = []
afterEach(() => {
  for (const dir of dirs.splice(0)) rmSync(dir, { recursive: true })
})

function setup() {
  const dir = mkdtempSync(join(tmpdir(), 'aetheel-attached-'))
  dirs.push(dir)
  const workspace = join(dir, 'config')
  for (const folder of ['files', '.aetheel']) mkdirSync(join(workspace, folder), { recursive: true })
  const files = ['files/a b.txt', 'files/pic.png', '.aetheel/token', '.env', 'files/.hidden', 'config.json']
  for (const file of files) writeFileSync(join(workspace, file), file)
  for (const file of copies) writeFileSync(join(workspace, file), file)
  writeFileSync(join(workspace, 'files/empty'), '')
  writeFileSync(join(dir, 'outside.txt'), 'secret')
  const attached = createAttached(workspace)
  const linkedIn = (text: string, scope?: FileScope) => filesLinkedIn(text, path => attached.find(path, scope))
  return { dir, workspace, attached: { ...attached, linkedIn } }
}

test('finds links and images that lead to workspace files', async () => {
  const { attached } = setup()
  const text = 'See [a](files/a%20b.txt), ![p](./files/pic.png), [again](<files/a b.txt>) and [none](files/none.txt).'
  expect(attached.linkedIn(text)).toEqual(['files/a b.txt', 'files/pic.png'])
  expect(String(await attached.read('files/pic.png'))).toBe('files/pic.png')
})

test('no private file and no file outside the workspace is sent, however it is linked', async () => {
  const { dir, workspace, attached } = setup()
  symlinkSync(join(dir, 'outside.txt'), join(workspace, 'files/way-out'))
  symlinkSync(join(workspace, '.aetheel/token'), join(workspace, 'files/way-in'))
  symlinkSync(dir, join(workspace, 'files/folder'))
  const targets = [
    ...copies,
    ...[
      '.env',
      'config.json',
      './config.json',
      '.aetheel/token',
      'files/.hidden',
      'files/empty',
      'files',
      'files/way-out',
      'files/way-in',
    ],
    ...['../outside.txt', 'files/../../outside.txt', 'files/folder/outside.txt', '/etc/passwd', '%2e%2e/outside.txt'],
    ...[join(dir, 'outside.txt'), 'file:///etc/passwd', 'https://example.org/a', '~/x', 'C:\\x', '\\\\host\\x'],
  ]
  for (const target of targets) {
    expect(attached.linkedIn(`[x](${target})`), target).toEqual([])
    expect(await attached.read(target), target).toBe(null)
  }
})

test('at most ten files, none over the size limit', () => {
  const { workspace, attached } = setup()
  const names = Array.from({ length: 12 }, (_, i) => `files/${i}.txt`)
  for (const name of names) writeFileSync(join(workspace, name), 'x')
  writeFileSync(join(workspace, 'files/large'), Buffer.alloc(10 * 1024 * 1024 + 1))
  expect(attached.linkedIn(`[l](files/large) ${names.map(name => `[x](${name})`).join(' ')}`)).toEqual(
    names.slice(0, 10),
  )
})

test.each(['[x](', ' ', '>', '[', '[x](<'])('any text is searched in linear time: %j', async part => {
  const { attached } = setup()
  const look = (size: number) => {
    for (const start of ['', '[x](', '[x](<']) attached.linkedIn(`${start}${part.repeat(size / part.length)}x`)
  }
  expect(await worseThanLinear(look, 200_000)).toBeNull()
})

const guest = { folder: 'guests/eve', files: ['files/in/7/photo.png'] }

function withGuests() {
  const rig = setup()
  for (const folder of ['guests/eve/out', 'guests/bob', 'messages', 'files/in/7', 'files/in/8'])
    mkdirSync(join(rig.workspace, folder), { recursive: true })
  const files = ['guests/eve/chart.png', 'guests/eve/out/b.txt', 'guests/bob/plan.txt', 'messages/webchat-home.jsonl']
  for (const file of [...files, 'files/in/7/photo.png', 'files/in/8/photo.png', 'memory.md', 'guests/eve/.env'])
    writeFileSync(join(rig.workspace, file), file)
  return rig
}

test('a guest gets what is in their own folder and what was given in their conversation, named from either folder', async () => {
  const { attached } = withGuests()
  const text =
    '[a](chart.png) [b](guests/eve/chart.png) [c](./out/b.txt) [d](files/in/7/photo.png) [e](out/../chart.png)'
  const files = ['guests/eve/chart.png', 'guests/eve/out/b.txt', 'files/in/7/photo.png']
  expect(attached.linkedIn(text, guest)).toEqual(files)
  for (const file of files) expect(String(await attached.read(file, guest))).toBe(file)
})

test("a guest gets nothing of the owner's and nothing of another guest's, however it is named", async () => {
  const { workspace, attached } = withGuests()
  symlinkSync(join(workspace, 'messages'), join(workspace, 'guests/eve/folder'))
  symlinkSync(join(workspace, 'memory.md'), join(workspace, 'guests/eve/link.md'))
  linkSync(join(workspace, 'memory.md'), join(workspace, 'guests/eve/second-name.md'))
  writeFileSync(join(workspace, 'guests/eve-not'), 'x')
  const targets = [
    ...[
      'messages/webchat-home.jsonl',
      '../../messages/webchat-home.jsonl',
      'guests/eve/../../messages/webchat-home.jsonl',
    ],
    ...[
      'memory.md',
      'guests/bob/plan.txt',
      '../bob/plan.txt',
      'files/in/8/photo.png',
      'files/pic.png',
      'guests/eve-not',
    ],
    ...[
      'folder/webchat-home.jsonl',
      'guests/eve/folder/webchat-home.jsonl',
      'link.md',
      'second-name.md',
      '.env',
      'config.json',
    ],
  ]
  for (const target of targets) {
    expect(attached.linkedIn(`[x](${target})`, guest), target).toEqual([])
    expect(attached.find(target, guest), target).toBe(null)
    expect(await attached.read(target, guest), target).toBe(null)
    expect(await attached.read(join(guest.folder, target), guest), target).toBe(null)
  }
})

test('a file with a second name is not sent to the owner either, as the other name may be a private one', async () => {
  const { workspace, attached } = setup()
  linkSync(join(workspace, '.aetheel/token'), join(workspace, 'files/notes.txt'))
  expect(attached.linkedIn('[x](files/notes.txt)')).toEqual([])
  expect(await attached.read('files/notes.txt')).toBe(null)
})

/** In a thread of its own, so that it can come between any two steps. */
const swapper = `
  const { workerData: { at, stop }, parentPort } = require('node:worker_threads')
  const { renameSync } = require('node:fs')
  parentPort.postMessage('begun')
  while (Atomics.load(stop, 0) === 0) {
    renameSync(at + '/out', at + '/aside')
    renameSync(at + '/trap', at + '/out')
    renameSync(at + '/out', at + '/trap')
    renameSync(at + '/aside', at + '/out')
  }`

test('while a folder is swapped for a link again and again, only the file that was checked is read', async () => {
  const { workspace, attached } = withGuests()
  const at = join(workspace, 'guests/eve')
  writeFileSync(join(at, 'out/webchat-home.jsonl'), 'mine')
  symlinkSync(join(workspace, 'messages'), join(at, 'trap'))
  const stop = new Int32Array(new SharedArrayBuffer(4))
  const worker = new Worker(swapper, { eval: true, workerData: { at, stop } })
  await once(worker, 'message')
  const read = new Set<string>()
  const path = 'guests/eve/out/webchat-home.jsonl'
  for (let i = 0; i < 2000; i++) read.add(String(await attached.read(path, guest)))
  Atomics.store(stop, 0, 1)
  await once(worker, 'exit')
  read.delete('null')
  read.add(String(await attached.read(path, guest)))
  expect([...read]).toEqual(['mine'])
})
