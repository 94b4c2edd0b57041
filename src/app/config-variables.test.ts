// Variables in config.json, and which of them the backend gets.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the notation of config.json
import { writeFile } from 'node:fs/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { configFixture } from './config.fixture.ts'

const { complaints, good, path, writeConfig } = configFixture({ beforeEach, afterEach })

test('env.vars are variables as if set, the real ones win, and the backend gets them', async () => {
  await writeFile(path('.env'), 'FROM_FILE=dotenv')
  await writeConfig({
    env: { vars: { MINE: 'mine', FROM_FILE: 'vars', REAL: 'vars', EMPTY: 'vars', NUMBER: 5, RETENTION_DAYS: '9' } },
  })
  const { config, environment, values } = await good({ REAL: 'real', EMPTY: '', OTHER: 'other' })
  const vars = { MINE: 'mine', FROM_FILE: 'dotenv', REAL: 'real', EMPTY: 'vars', NUMBER: '5', RETENTION_DAYS: '9' }
  expect(config.envVars).toEqual(vars)
  expect(environment).toEqual({ ...vars, OTHER: 'other' })
  expect(config.retentionDays).toBe(9)
  expect(values.find(({ key }) => key === 'env.vars.MINE')).toMatchObject({ value: '********', from: 'config.json' })
  expect(values.find(({ key }) => key === 'env.vars.REAL')?.from).toBe('environment')
})

test('secrets of our own never reach the backend; the API key, which is also its own, may', async () => {
  await writeConfig({
    env: { vars: { DISCORD_BOT_TOKEN: 'abcdefgh', HTTP_TOKEN: 'abcdefghijklmnop', ANTHROPIC_API_KEY: 'sk-abcdef' } },
  })
  const { config } = await good()
  expect(config.discord.botToken).toBe('abcdefgh')
  expect(config.envVars).toEqual({ ANTHROPIC_API_KEY: 'sk-abcdef' })
  expect(await complaints({ BACKEND_ENV: 'PATH,DISCORD_BOT_TOKEN', PATH: '/bin' })).toEqual([
    'agent.env (BACKEND_ENV): names DISCORD_BOT_TOKEN, which must not be passed on to the backend',
  ])
})

test('a variable that should be passed on but is not set is warned about', async () => {
  expect((await good({ BACKEND_ENV: 'GH_TOKEN' })).warnings).toEqual(['agent.env names GH_TOKEN, which is not set'])
})

test('texts of config.json may name variables from everywhere', async () => {
  await writeFile(path('.env'), 'PORT=99\nTOOL=Grep')
  await writeConfig({
    http: { port: '${PORT}' },
    agent: { model: 'a-${X}-${Y}', cli_path: '/$${X}/$X' },
    allowed_tools: ['Read', '${TOOL}'],
    env: { vars: { Y: '${Z}!', Z: 'z${X}' } },
  })
  const { config } = await good({ X: 'x' })
  expect(config).toMatchObject({
    http: { port: 99 },
    agent: { model: 'a-x-zx!', cliPath: '/${X}/$X' },
    allowedTools: ['Read', 'Grep'],
    envVars: { Y: 'zx!', Z: 'zx' },
  })
})

test('a value that is filled in is not filled in again', async () => {
  await writeConfig({ agent: { model: '${A}' }, env: { vars: { BACKEND_CLI_PATH: '$${NOT}' } } })
  const { config } = await good({ A: '${B}' })
  expect(config.agent).toMatchObject({ model: '${B}', cliPath: '${NOT}' })
})

test('a variable that is not set, or that leads back to itself, is a mistake with its name', async () => {
  await writeConfig({
    agent: { model: '${NOWHERE}' },
    allowed_tools: ['${EMPTY}'],
    env: { vars: { A: '${B}', B: '${A}', C: '${GONE}' } },
  })
  expect((await complaints({ EMPTY: '' })).sort()).toEqual([
    'agent.model (BACKEND_MODEL, --model): "${NOWHERE}" from config.json; names the variable NOWHERE, which is not set',
    'allowed_tools (ALLOWED_TOOLS): ["${EMPTY}"] from config.json; names the variable EMPTY, which is not set',
    'env.vars.A: goes round in a circle: A, B, A',
    'env.vars.B: goes round in a circle: A, B, A',
    'env.vars.C: names the variable GONE, which is not set',
  ])
})
