// Cleaning up after a killed gateway, without touching anything else.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { runTag } from './end-processes.ts'
import { endOrphans } from './orphans.ts'

const dirs: string[] = []
const children: ChildProcess[] = []
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  for (const dir of dirs.splice(0)) rmSync(dir, { recursive: true, force: true })
})

function folder() {
  const dir = mkdtempSync(join(tmpdir(), 'aetheel-orphans-'))
  dirs.push(dir)
  return dir
}

/** A process of a run. */
async function leave(mark: string) {
  const child = spawn('/bin/sh', ['-c', 'echo up; exec sleep 600'], { env: { [runTag]: mark }, detached: true })
  children.push(child)
  const ended = new Promise<NodeJS.Signals | null>(resolve => child.on('exit', (_, signal) => resolve(signal)))
  await new Promise(resolve => child.stdout.once('data', resolve))
  return { child, ended }
}

test('processes of its runs are ended and their folders removed, those of others are left alone', async () => {
  const [mine, other] = [folder(), folder()]
  for (const run of ['a', 'b']) {
    mkdirSync(join(mine, run))
    writeFileSync(join(mine, run, 'file'), '')
  }
  const first = await leave(join(mine, 'a'))
  const second = await leave(join(mine, 'without-a-folder'))
  const stranger = await leave(join(other, 'a'))
  const namesake = await leave(`${mine}-too/a`)
  expect(await endOrphans(mine)).toBe(2)
  expect(await Promise.all([first.ended, second.ended])).toEqual(['SIGKILL', 'SIGKILL'])
  expect(readdirSync(mine)).toEqual([])
  for (const { child } of [stranger, namesake]) expect([child.exitCode, child.signalCode]).toEqual([null, null])
  expect(await endOrphans(mine)).toBe(0)
})

test('where nothing is left, nothing is done, also without a folder', async () => {
  expect(await endOrphans(join(folder(), 'none'))).toBe(0)
})
