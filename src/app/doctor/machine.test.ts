// The machine checks of the doctor, passing and failing.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { smallDisk, whyNoSmallDisk } from '../../../test/fakes/small-disk.ts'
import { openDatabase } from '../../store/index.ts'
import {
  databaseChecks,
  diskCheck,
  diskChecks,
  gatewayChecks,
  nodeChecks,
  portChecks,
  workspaceChecks,
} from './machine.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'aetheel-machine-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

test('an older Node is a warning that says how to get the right one', () => {
  expect(nodeChecks()).toMatchObject([{ name: 'node', status: 'ok' }])
  expect(nodeChecks({ node: '22.18.0', sqlite: '3.50.4' })).toMatchObject([
    {
      status: 'warn',
      detail: '22.18.0 with SQLite 3.50.4; Aetheel is made for Node 24',
      fix: expect.stringMatching(/npm install/),
    },
  ])
})

test('a missing folder will be created; one that cannot be created is a failure', async () => {
  expect(await workspaceChecks(dir)).toEqual([{ name: 'workspace', status: 'ok', detail: `${dir} is writable` }])
  expect(await workspaceChecks(join(dir, 'a/b'))).toMatchObject([
    { status: 'ok', detail: `${join(dir, 'a/b')} will be created at the first start` },
  ])
  writeFileSync(join(dir, 'file'), '')
  expect(await workspaceChecks(join(dir, 'file'))).toMatchObject([
    { status: 'fail', detail: `${join(dir, 'file')} is not a folder`, fix: expect.stringMatching(/CONFIG_DIR/) },
  ])
  expect(await workspaceChecks(join(dir, 'file/inside'))).toMatchObject([{ status: 'fail' }])
})

const noSmallDisk = whyNoSmallDisk()
test.skipIf(noSmallDisk !== null)(
  `a small disk is warned of, a full and a read-only one fail${noSmallDisk ? ` (skipped: ${noSmallDisk})` : ''}`,
  async () => {
    using disk = smallDisk(8)
    expect(await diskChecks(disk.dir)).toMatchObject([
      { name: 'disk', status: 'warn', detail: expect.stringMatching(/^only 8\.\d MB free$/) },
    ])
    disk.fill()
    expect(await diskChecks(disk.dir)).toMatchObject([
      { status: 'fail', fix: expect.stringMatching(/Free some space/) },
    ])
    disk.makeRoom()
    disk.makeReadOnly()
    expect(await workspaceChecks(disk.dir)).toMatchObject([
      { status: 'fail', detail: expect.stringMatching(/is not writable \(EROFS/) },
    ])
  },
)

test('free space from 200 MB on is enough', () => {
  expect(diskCheck(200 * 1024 ** 2)).toEqual({ name: 'disk', status: 'ok', detail: '210 MB free' })
  expect(diskCheck(200 * 1024 ** 2 - 1).status).toBe('warn')
  expect(diskCheck(52e9).detail).toBe('52 GB free')
  expect(diskCheck(0)).toMatchObject({ status: 'fail', detail: 'only 0 bytes free' })
})

test('a database opens and is left as it was, a damaged one fails untouched, one in use is not waited for', async () => {
  const file = join(dir, '.aetheel', 'aetheel.db')
  mkdirSync(join(dir, '.aetheel'))
  expect(await databaseChecks(dir, null)).toMatchObject([{ status: 'ok', detail: expect.stringMatching(/^none yet/) }])
  await openDatabase(file).close()
  const before = readFileSync(file)
  expect(await databaseChecks(dir, null)).toMatchObject([{ status: 'ok', detail: expect.stringMatching(/^opens \(/) }])
  expect(readFileSync(file).equals(before)).toBe(true)

  const held = openDatabase(file)
  expect(await databaseChecks(dir, null)).toMatchObject([{ status: 'warn', detail: expect.stringMatching(/^in use/) }])
  const note = { pid: 1, url: 'http://127.0.0.1:9', token: 't' }
  expect(await databaseChecks(dir, note)).toMatchObject([{ status: 'ok', detail: 'in use by the running gateway' }])
  await held.close()

  writeFileSync(file, 'this is no database, but long enough to be looked at as one: '.repeat(4))
  expect(await databaseChecks(dir, null)).toMatchObject([
    { status: 'fail', detail: expect.stringMatching(/is damaged/) },
  ])
  expect(readFileSync(file, 'utf8')).toContain('this is no database')
})

test('a port is free, or the check names the process that has it', async () => {
  const taken = await listen()
  const { port } = taken.address() as AddressInfo
  const at = (where: { host?: string; port: number }, chosen = true) =>
    portChecks({ host: '127.0.0.1', ...where }, chosen, null)
  expect(await at({ port })).toMatchObject([
    {
      status: 'fail',
      detail: expect.stringMatching(
        new RegExp(`^${port} on 127\\.0\\.0\\.1 is in use by .+ \\(process ${process.pid}\\)$`),
      ),
    },
  ])
  expect(await at({ port }, false)).toMatchObject([
    { status: 'warn', detail: expect.stringMatching(/the next free port is used instead$/) },
  ])
  await new Promise(resolve => taken.close(resolve))
  expect(await at({ port })).toMatchObject([{ status: 'ok', detail: `${port} on 127.0.0.1 is free` }])
  expect(await at({ port: 0 })).toMatchObject([{ status: 'ok' }])
  expect(await at({ port, host: '192.0.2.1' })).toMatchObject([
    { status: 'fail', fix: expect.stringMatching(/HTTP_HOST/) },
  ])
})

test('a backend in cooldown is a warning that says how to ask it again', async () => {
  const events = { received: 0, answered: 0, waiting: 0, running: 0, refused: 0, failed: 0 }
  const resting = [{ backend: 'claude', why: 'not-logged-in', until: 1 }]
  const server = createHttpServer((_, response) =>
    response.end(JSON.stringify({ ready: true, version: '1', backend: 'claude', events, resting })),
  )
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  expect(await gatewayChecks({ pid: 77, url: `http://127.0.0.1:${port}`, token: 'secret' })).toMatchObject([
    {
      status: 'warn',
      detail: expect.stringMatching(/could not answer lately: claude \(not logged in\)$/),
      fix: expect.stringContaining('/backend NAME'),
    },
  ])
  await new Promise(resolve => server.close(resolve))
})

test('a gateway that does not answer is reported with its process id', async () => {
  expect(await gatewayChecks({ pid: 77, url: 'http://127.0.0.1:9', token: 'secret' })).toMatchObject([
    { status: 'warn', detail: /process 77\), but nothing answers at/, fix: expect.stringMatching(/^End process 77/) },
  ])
})

function listen(): Promise<Server> {
  const server = createServer()
  return new Promise(resolve => server.listen(0, '127.0.0.1', () => resolve(server)))
}
