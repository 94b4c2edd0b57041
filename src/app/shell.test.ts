// The command of a pre-check: its output, and nothing left running.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { processesWith } from '../../test/harness/gateway.ts'
import { runShell } from './shell.ts'

let dir: string
const never = new AbortController().signal
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'aetheel-shell-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

test('the output is returned; a command that fails, prints too much or cannot be run is not ok', async () => {
  expect(await runShell('pwd; cat', dir, never)).toEqual({ ok: true, output: `${dir}\n` })
  expect(await runShell('echo no >&2; exit 3', dir, never)).toEqual({ ok: false, output: 'no\n' })
  expect(await runShell('yes | head -c 3000000', dir, never)).toMatchObject({ ok: false })
  expect(await runShell('echo', join(dir, 'gone'), never)).toMatchObject({ ok: false })
  expect(await runShell('echo "$SECRET_OF_TESTS"', dir, never)).toEqual({ ok: true, output: '\n' })
})

test('when aborted it ends immediately, with all its child processes', async () => {
  const stop = new AbortController()
  const running = runShell(`sh -c 'sleep 300; echo ${dir}'; sleep 300`, dir, stop.signal)
  await expect.poll(() => processesWith(dir).length).toBeGreaterThan(1)
  stop.abort()
  expect(await running).toMatchObject({ ok: false })
  await expect.poll(() => processesWith(dir)).toEqual([])
  expect(await runShell('echo', dir, stop.signal)).toMatchObject({ ok: false })
})
