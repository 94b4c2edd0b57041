// The pre-check of a job: a file, a URL, a command.
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { Precheck } from '../base/jobs.ts'
import { type Checked, type PrecheckParts, unchanged } from './precheck.ts'

const endings: (() => unknown)[] = []
afterEach(async () => {
  for (const end of endings.splice(0)) await end()
})

async function workspace(run: PrecheckParts['run'] = async () => ({ ok: true, output: '' })) {
  const home = await mkdtemp(join(tmpdir(), 'aetheel-precheck-'))
  endings.push(() => rm(home, { recursive: true }))
  const dir = join(home, 'workspace')
  await mkdir(dir)
  const look = (check: Precheck, before: string | null = null, timeoutMs = 5000) =>
    unchanged(check, before, { dir, run, timeoutMs }, new AbortController().signal)
  return { home, dir, look }
}

async function site(answer: RequestListener): Promise<string> {
  const server: Server = createServer(answer)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  endings.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/feed`
}

const fingerprintOf = (checked: Checked): string => {
  expect(checked.type).toBe('changed')
  return checked.type === 'changed' ? checked.fingerprint : ''
}
const whyOf = (checked: Checked) => (checked.type === 'unclear' ? checked.why : checked.type)

test('a file counts as changed when its content differs', async () => {
  const { dir, look } = await workspace()
  const check = { type: 'file', path: 'notes/inbox.md' } as const
  await mkdir(join(dir, 'notes'))
  await writeFile(join(dir, 'notes/inbox.md'), 'one')
  const first = fingerprintOf(await look(check))
  expect(await look(check, first)).toEqual({ type: 'unchanged' })
  await writeFile(join(dir, 'notes/inbox.md'), 'two')
  const second = fingerprintOf(await look(check, first))
  expect(second).not.toBe(first)
  await writeFile(join(dir, 'notes/copy.md'), 'two')
  fingerprintOf(await look({ type: 'file', path: 'notes/copy.md' }, second))
})

test('a missing file, a folder, or a file outside the workspace is reported and never read', async () => {
  const { home, dir, look } = await workspace()
  await writeFile(join(home, 'secret'), 'x')
  await symlink(join(home, 'secret'), join(dir, 'link'))
  await mkdir(join(dir, 'folder'))
  expect(whyOf(await look({ type: 'file', path: 'gone.md' }))).toMatch(/missing/)
  expect(whyOf(await look({ type: 'file', path: 'folder' }))).toMatch(/not a file/)
  for (const path of ['../secret', join(home, 'secret'), 'link'])
    expect(whyOf(await look({ type: 'file', path }))).toMatch(/not in the workspace/)
})

test('a URL counts as changed when its response differs', async () => {
  let content = 'one'
  const url = await site((_, answer) => answer.end(content))
  const { look } = await workspace()
  const first = fingerprintOf(await look({ type: 'url', url }))
  expect(await look({ type: 'url', url }, first)).toEqual({ type: 'unchanged' })
  content = 'two'
  fingerprintOf(await look({ type: 'url', url }, first))
})

test('a URL that fails, hangs, never ends or is not http is reported', async () => {
  const { look } = await workspace()
  const failing = await site((_, answer) => answer.writeHead(503).end('busy'))
  expect(whyOf(await look({ type: 'url', url: failing }))).toMatch(/503/)
  const hanging = await site(() => undefined)
  expect(whyOf(await look({ type: 'url', url: hanging }, null, 200))).toMatch(/in time/)
  const endless = await site((_, answer) => {
    const more = () => answer.write(Buffer.alloc(64 * 1024), () => answer.destroyed || more())
    more()
  })
  expect(whyOf(await look({ type: 'url', url: endless }))).toMatch(/1 MB/)
  expect(whyOf(await look({ type: 'url', url: 'http://127.0.0.1:1/' }))).toMatch(/reached/)
  for (const url of ['file:///etc/hostname', 'nonsense'])
    expect(whyOf(await look({ type: 'url', url }))).toMatch(/http/)
})

test('a command counts as changed when its output differs; a failing one is reported', async () => {
  let ended: { ok: boolean; output: string } | Error = { ok: true, output: 'one' }
  const { look } = await workspace(async () => {
    if (ended instanceof Error) throw ended
    return ended
  })
  const check = { type: 'command', command: 'git rev-parse HEAD' } as const
  const first = fingerprintOf(await look(check))
  expect(await look(check, first)).toEqual({ type: 'unchanged' })
  ended = { ok: true, output: 'two' }
  fingerprintOf(await look(check, first))
  ended = { ok: false, output: 'one' }
  expect(whyOf(await look(check, first))).toMatch(/failed/)
  ended = new Error('no shell')
  expect(whyOf(await look(check, first))).toMatch(/failed/)
})
