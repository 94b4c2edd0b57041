// Tools by files: written, answered, and nothing left behind.
import { spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ToolCalls } from '../base/tools.ts'
import { createCalls } from './call-files.ts'

let workspace: string
let asked: { key: string; tool: string; args: unknown }[]
let troubles: unknown[]
const leaving: (() => void)[] = []

const toolServer: ToolCalls = {
  list: () => [
    { name: 'echo', about: 'says it again', takes: { text: { type: 'string', about: 'it', required: true } } },
  ],
  async call(key, tool, args) {
    asked.push({ key, tool, args })
    return tool === 'echo'
      ? { ok: true, text: `you said ${JSON.stringify(args)}` }
      : { ok: false, text: 'no such tool' }
  },
}

const open = (key = 'k1') => {
  const calls = createCalls({ workspace, toolServer, trouble: error => void troubles.push(error) })
  const visit = calls.open(key)
  leaving.push(visit.leave)
  const dir = join(workspace, 'ipc', 'calls', key)
  const answer = (name: string) => {
    const file = join(dir, `${name}.result.md`)
    return existsSync(file) ? readFileSync(file, 'utf8') : null
  }
  return { ...visit, dir, answer, wordsFor: calls.wordsFor }
}

beforeEach(() => {
  workspace = mkdtempSync(join(tmpdir(), 'aetheel-calls-'))
  asked = []
  troubles = []
})
afterEach(() => {
  for (const leave of leaving.splice(0)) leave()
  rmSync(workspace, { recursive: true, force: true })
  expect(troubles).toEqual([])
})

test('a call file gets its result file, once', async () => {
  const { dir, answer } = open()
  writeFileSync(join(dir, 'first.json'), '{"tool":"echo","arguments":{"text":"hi"}}')
  await expect.poll(() => answer('first')).toBe('you said {"text":"hi"}\n')
  writeFileSync(join(dir, 'second.json'), '{"tool":"other"}')
  await expect.poll(() => answer('second')).toBe('NOT DONE: no such tool\n')
  await sleep(400)
  expect(asked).toEqual([
    { key: 'k1', tool: 'echo', args: { text: 'hi' } },
    { key: 'k1', tool: 'other', args: undefined },
  ])
  expect(readdirSync(dir).sort()).toEqual(['first.result.md', 'second.result.md'])
})

test('a half-written call gets more time, and one that stays unreadable gets an error', async () => {
  const { dir, answer } = open()
  writeFileSync(join(dir, 'slow.json'), '{"tool":"ec')
  await sleep(100)
  writeFileSync(join(dir, 'slow.json'), '{"tool":"echo","arguments":{}}')
  await expect.poll(() => answer('slow')).toBe('you said {}\n')
  writeFileSync(join(dir, 'bad.json'), '{"tool":')
  await expect.poll(() => answer('bad')).toMatch(/^NOT DONE: The file must hold/)
})

test('links are not followed, pipes not waited for, long files not read, and no result is written through a link', async () => {
  const { dir, answer } = open()
  writeFileSync(join(workspace, 'elsewhere.json'), '{"tool":"echo"}')
  symlinkSync(join(workspace, 'elsewhere.json'), join(dir, 'link.json'))
  spawnSync('mkfifo', [join(dir, 'pipe.json')])
  mkdirSync(join(dir, 'folder.json'))
  writeFileSync(join(dir, 'long.json'), `{"tool":"echo","arguments":"${'x'.repeat(300_000)}"}`)
  await expect.poll(() => answer('link')).toMatch(/^NOT DONE: This is not a file/)
  await expect.poll(() => answer('folder')).toMatch(/^NOT DONE: This is not a file/)
  await expect.poll(() => answer('pipe')).toMatch(/^NOT DONE: This is not a file/)
  await expect.poll(() => answer('long')).toMatch(/^NOT DONE: The file is longer/)
  expect(asked).toEqual([])
  writeFileSync(join(workspace, 'victim.md'), 'untouched')
  symlinkSync(join(workspace, 'victim.md'), join(dir, 'trick.result.md'))
  writeFileSync(join(dir, 'trick.json'), '{"tool":"echo"}')
  await expect.poll(() => readFileSync(join(dir, 'trick.result.md'), 'utf8')).toMatch(/you said/)
  expect(readFileSync(join(workspace, 'victim.md'), 'utf8')).toBe('untouched')
})

test('many simultaneous calls are all answered', async () => {
  const { dir } = open()
  for (let i = 0; i < 100; i++) writeFileSync(join(dir, `n${i}.json`), `{"tool":"echo","arguments":{"n":${i}}}`)
  await expect.poll(() => readdirSync(dir).filter(name => name.endsWith('.result.md')).length).toBe(100)
  expect(asked).toHaveLength(100)
})

test('after the turn the folder is removed and no longer watched; folders of a killed gateway are removed', async () => {
  mkdirSync(join(workspace, 'ipc', 'calls', 'old'), { recursive: true })
  const { dir, leave } = open('k2')
  expect(readdirSync(join(workspace, 'ipc', 'calls'))).toEqual(['k2'])
  leave()
  expect(existsSync(dir)).toBe(false)
  mkdirSync(dir, { recursive: true })
  writeFileSync(join(dir, 'late.json'), '{"tool":"echo"}')
  await sleep(400)
  expect(asked).toEqual([])
})

test('a call written in time is carried out, even if the turn ends before it is noticed', () => {
  const { dir, leave } = open()
  writeFileSync(join(dir, 'last.json'), '{"tool":"echo","arguments":{"text":"bye"}}')
  leave()
  expect(asked).toEqual([{ key: 'k1', tool: 'echo', args: { text: 'bye' } }])
  expect(existsSync(dir)).toBe(false)
})

test('the prompt names the folder, the format and the tools', () => {
  const { wordsFor } = open('k3')
  expect(wordsFor('k3')).toContain('ipc/calls/k3/NAME.json')
  expect(wordsFor('k3')).toContain('- echo(text): says it again')
})
