// Detecting a login by the names of variables and files.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { claudeSdk } from './backends/claude-sdk.ts'
import { dialects } from './backends/index.ts'
import { loginCommand, loginOf, loginWith, signOfLogin } from './login.ts'

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'aetheel-login-'))
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

const leave = (file: string) => {
  mkdirSync(dirname(join(home, file)), { recursive: true })
  writeFileSync(join(home, file), 'a secret')
  return join(home, file)
}

test.each(dialects.map(one => [one.name, one] as const))(
  '%s: each of its variables and files is a sign, and without any there is none',
  (name, { credentials }) => {
    expect(loginOf(name, {}, home)).toMatchObject({ sign: null, variables: credentials.variables })
    for (const variable of credentials.variables)
      expect(loginOf(name, { [variable]: 'a secret' }, home)?.sign).toEqual({ variable })
    for (const file of credentials.files) {
      const path = leave(file)
      expect(loginOf(name, {}, home)?.sign).toEqual({ file: path })
      rmSync(path)
    }
  },
)

test('a variable that is blank or switched off is no sign', () => {
  for (const value of ['', '  ', '0', 'false'])
    expect(
      signOfLogin({ variables: ['CLAUDE_CODE_USE_BEDROCK'], files: [] }, { CLAUDE_CODE_USE_BEDROCK: value }, home),
    ).toBe(null)
})

test('a folder moved by its variable is found', () => {
  const moves = [
    ['opencode', 'XDG_DATA_HOME', 'elsewhere/opencode/auth.json'],
    ['claude', 'CLAUDE_CONFIG_DIR', 'elsewhere/.credentials.json'],
    ['codex', 'CODEX_HOME', 'elsewhere/auth.json'],
    ['pi', 'PI_CODING_AGENT_DIR', 'elsewhere/auth.json'],
  ] as const
  for (const [name, variable, file] of moves) {
    const path = leave(file)
    expect(loginOf(name, { [variable]: join(home, 'elsewhere') }, home)?.sign).toEqual({ file: path })
    expect(loginOf(name, {}, home)?.sign).toBe(null)
    rmSync(path)
  }
})

test('the result never contains the value of a variable', () => {
  const names = dialects.flatMap(one => one.credentials.variables)
  const value = fc.stringMatching(/^[a-z0-9]{12,40}$/).map(text => `v4lue${text}`)
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...names), value), environment => {
      for (const { name } of dialects) {
        const told = JSON.stringify(loginOf(name, environment, home))
        for (const hidden of Object.values(environment)) expect(told).not.toContain(hidden)
      }
    }),
    { numRuns: 100 },
  )
})

test('every backend has a command to log in that begins with its own name', () => {
  for (const dialect of dialects) {
    expect(dialect.install).toContain(`log in once with \`${loginCommand(dialect)}\``)
    expect(loginCommand(dialect)).toMatch(new RegExp(`^${dialect.name}\\b`))
  }
  expect(loginCommand({ name: 'other', install: 'Buy it.' })).toBe('other')
})

test('the SDK uses the login of claude, and the advice never names something that is not a program', () => {
  expect(loginOf(claudeSdk, { ANTHROPIC_API_KEY: 'a secret' }, home)).toMatchObject({
    sign: { variable: 'ANTHROPIC_API_KEY' },
    command: 'claude',
  })
  expect([claudeSdk, 'codex', 'opencode'].map(loginWith)).toEqual(['claude', 'codex login', 'opencode auth login'])
})

test('a backend that is not a CLI needs no login', () => {
  expect(loginOf('echo', {}, home)).toBe(null)
})
