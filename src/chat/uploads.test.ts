// Files that people attach in WebChat, on a real disk.
import { mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, symlink, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, expect, test } from 'vitest'
import { mostAttachmentBytes, type Uploaded } from '../base/attachments.ts'
import { safeName } from './file-name.ts'
import { createUploads } from './uploads.ts'

const dirs: string[] = []
afterEach(async () => {
  for (const dir of dirs.splice(0)) await rm(dir, { recursive: true })
})

async function rig() {
  const workspace = await mkdtemp(join(tmpdir(), 'aetheel-uploads-'))
  dirs.push(workspace)
  const rows = new Map<string, Uploaded & { conversation: string; event: string | null }>()
  const gone: string[] = []
  let now = Date.now()
  let ids = 0
  const uploads = createUploads({
    workspace,
    clock: { now: () => now, sleep: async () => undefined },
    newId: () => `id-${++ids}`,
    store: {
      add: async (conversation, upload) => void rows.set(upload.id, { ...upload, conversation, event: null }),
      find(conversation, id) {
        const { conversation: of, event: _, ...upload } = rows.get(id) ?? { conversation: null }
        return of === conversation ? (upload as Uploaded) : null
      },
      knows: id => rows.has(id),
      claim: async (given, event) => {
        for (const id of given) {
          const row = rows.get(id)
          if (row) rows.set(id, { ...row, event })
        }
      },
      forgotten: () => gone,
      remove: async id => void rows.delete(id),
    },
  })
  const put = (name: string, text = 'hello', conversation = 'a') =>
    uploads.take({ conversation, name, type: 'text/plain', body: pieces(text) }) as Promise<Uploaded>
  const files = async () => (await readdir(join(workspace, 'files/in'), { recursive: true }).catch(() => [])).sort()
  const later = (ms: number) => {
    now += ms
  }
  return { workspace, uploads, put, files, rows, gone, later }
}

async function* pieces(...texts: string[]) {
  for (const text of texts) yield Buffer.from(text)
}
const textOf = async (content: AsyncIterable<Uint8Array> | undefined) => {
  const chunks: Uint8Array[] = []
  for await (const chunk of content ?? []) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

test('a file is stored with private permissions under a safe name, and can be fetched in its conversation', async () => {
  const { workspace, uploads, put, files, rows } = await rig()
  expect(await put('plan.txt', 'the plan')).toEqual({ id: 'id-1', name: 'plan.txt', bytes: 8, type: 'text/plain' })
  const path = join(workspace, 'files/in/web-id-1/plan.txt')
  expect(await readFile(path, 'utf8')).toBe('the plan')
  expect([(await stat(path)).mode & 0o777, (await stat(join(path, '..'))).mode & 0o777]).toEqual([0o600, 0o700])
  const found = await uploads.uploaded('a', 'id-1')
  expect([found?.name, found?.bytes, await textOf(found?.content())]).toEqual(['plan.txt', 8, 'the plan'])
  expect(await uploads.uploaded('b', 'id-1')).toBe(null)
  expect(await uploads.uploaded('a', 'id-2')).toBe(null)
  expect(await uploads.attach('a', ['id-1'], 'webchat:a:1')).toEqual([
    { id: 'id-1', name: 'plan.txt', bytes: 8, type: 'text/plain', path: 'files/in/web-id-1/plan.txt' },
  ])
  expect(rows.get('id-1')?.event).toBe('webchat:a:1')
  expect(await uploads.attach('b', ['id-1'], 'webchat:b:1')).toBe(null)
  expect(await files()).toEqual(['web-id-1', 'web-id-1/plan.txt'])
})

test('whatever a file is called, it stays in its folder', async () => {
  const { put, files } = await rig()
  const hostile = [
    '../../../etc/passwd',
    '..\\..\\boot.ini',
    '.bashrc',
    '/etc/shadow',
    'a\0b',
    '..',
    '.',
    '-rf',
    'con.',
    '\u202Egpj.exe',
  ]
  for (const name of hostile) await put(name)
  fc.assert(
    fc.property(fc.string({ unit: 'binary', minLength: 1, maxLength: 300 }), name => {
      const stored = safeName(name)
      expect(stored).not.toMatch(/[/\\\0]|^\./)
      expect(Buffer.byteLength(stored)).toBeLessThan(255)
    }),
    { numRuns: 100 },
  )
  for (const file of await files()) expect(file).toMatch(/^web-id-\d+(\/[^/.][^/]*)?$/)
})

test('an upload that is too large or breaks off leaves nothing', async () => {
  const { uploads, files } = await rig()
  const piece = 'x'.repeat(1024 * 1024)
  const large = uploads.take({
    ...{ conversation: 'a', name: 'large', type: 'text/plain' },
    body: pieces(...Array.from({ length: mostAttachmentBytes / piece.length }, () => piece), 'y'),
  })
  expect(await large).toBe('too-large')
  const broken = uploads.take({
    ...{ conversation: 'a', name: 'broken', type: 'text/plain' },
    body: (async function* () {
      yield Buffer.from('half')
      throw new Error('gone')
    })(),
  })
  await expect(broken).rejects.toThrow('gone')
  expect(await files()).toEqual([])
})

test('a removed file is not attached, and a link in its place is not followed', async () => {
  const { workspace, uploads, put } = await rig()
  await put('a.txt')
  const path = join(workspace, 'files/in/web-id-1/a.txt')
  await unlink(path)
  expect(await uploads.attach('a', ['id-1'], 'k')).toBe(null)
  expect(await uploads.uploaded('a', 'id-1')).toBe(null)
  await writeFile(join(workspace, 'secret'), 'secret')
  await symlink(join(workspace, 'secret'), path)
  expect(await uploads.uploaded('a', 'id-1')).toBe(null)
})

test('a file that is not read, or only partly, leaves no descriptor open', async () => {
  const { workspace, uploads, put } = await rig()
  await put('a.txt', 'x'.repeat(300_000))
  expect((await uploads.uploaded('a', 'id-1'))?.bytes).toBe(300_000)
  for await (const chunk of (await uploads.uploaded('a', 'id-1'))?.content() ?? []) {
    expect(chunk.length).toBeLessThan(300_000)
    break
  }
  const open = async () => {
    const all = await readdir('/proc/self/fd')
    const paths = await Promise.all(all.map(fd => readlink(`/proc/self/fd/${fd}`).catch(() => '')))
    return paths.filter(path => path.startsWith(workspace))
  }
  // Soon, and not only on garbage collection.
  await expect.poll(open, { timeout: 1000 }).toEqual([])
})

test('unneeded files are removed, also those of uploads interrupted by a kill', async () => {
  const { workspace, uploads, put, files, rows, gone, later } = await rig()
  await put('kept.txt')
  await put('unsent.txt')
  await put('halved.txt')
  rows.delete('id-3') // a kill between file and row
  await mkdir(join(workspace, 'files/in/1234'))
  gone.push('id-2')
  await uploads.tidy()
  expect(await files()).toEqual(['1234', 'web-id-1', 'web-id-1/kept.txt', 'web-id-3', 'web-id-3/halved.txt'])
  expect(rows.has('id-2')).toBe(false)
  later(25 * 3_600_000)
  await uploads.tidy()
  expect(await files()).toEqual(['1234', 'web-id-1', 'web-id-1/kept.txt'])
})
