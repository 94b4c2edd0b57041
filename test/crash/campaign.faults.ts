// Shows that the tests can fail: each inserted fault must be noticed by the campaign or by the test it names.
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { createCompiler } from '../mutants/compiles.ts'
import { runCampaign } from './campaign.ts'
import { faults, withFault } from './faults.ts'

const all = Object.entries(faults)
const root = resolve(import.meta.dirname, '../..')

// A fault with a name that no longer exists would throw, and any test would notice that.
test('each fault compiles', () => {
  const compiler = createCompiler(root)
  const errors = all.map(([name, fault]) => {
    const file = `src/${fault.file}`
    return [name, compiler.errorIn(file, withFault(name, `/${file}`, readFileSync(join(root, file), 'utf8')))]
  })
  expect(errors.filter(([, error]) => error !== null)).toEqual([])
})

// One after the other: a gateway without room to answer in time would be taken for one with a fault.
test.each(all.filter(([, { noticedBy }]) => !noticedBy))('the campaign notices: %s', async fault => {
  const { broken, notStarted } = await runCampaign({ kills: 12, seed: 42, fault, patienceMs: 8000 })
  expect(notStarted).toBeNull()
  expect(broken.length).toBeGreaterThan(0)
  console.log(`${fault}: ${broken.length} promises broken, such as: ${broken[0]}`)
})

test.concurrent.each(all.flatMap(([name, { noticedBy }]) => (noticedBy ? [{ fault: name, ...noticedBy }] : [])))(
  'a test notices: $fault',
  async ({ fault, test: file, name }) => {
    const { failed, passed, messages } = await runTests(file, name, fault)
    expect(failed + passed, `no test of ${file} is called ${name}`).toBeGreaterThan(0)
    expect(failed, `all tests of ${file} passed in spite of the fault`).toBeGreaterThan(0)
    expect(messages.filter(message => message.includes('the gateway ended before it was ready'))).toEqual([])
    console.log(`${fault}: ${messages[0]?.split('\n')[0]}`)
  },
)

/** Runs the tests with the fault, also in the gateways that they start. */
async function runTests(file: string, name: string, fault: string) {
  const dir = mkdtempSync(join(tmpdir(), 'aetheel-faults-'))
  try {
    const outputFile = join(dir, 'result.json')
    const options = ['--reporter=json', `--outputFile=${outputFile}`, '--config', 'test/crash/fault.config.ts']
    const escaped = name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
    const run = ['node_modules/vitest/vitest.mjs', 'run', file, '-t', escaped, ...options]
    const env = { ...process.env, AETHEEL_TEST_FAULT: fault }
    // It fails when it notices the fault.
    const { stderr } = await promisify(execFile)(process.execPath, run, { cwd: root, env, maxBuffer: 1e8 }).catch(
      (error: { stderr: string }) => error,
    )
    const result = JSON.parse(readFileSync(outputFile, 'utf8')) as {
      numFailedTests: number
      numPassedTests: number
      testResults: { message: string; assertionResults: { failureMessages: string[] }[] }[]
    }
    const messages = result.testResults.flatMap(one =>
      one.assertionResults.flatMap(({ failureMessages }) => failureMessages),
    )
    if (messages.length === 0 && result.testResults.some(({ message }) => message)) throw new Error(stderr.slice(-1000))
    return { failed: result.numFailedTests, passed: result.numPassedTests, messages }
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}
