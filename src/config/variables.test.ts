// Variables in config.json, and which of them the backend gets.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the notation of config.json
import { writeFile } from 'node:fs/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { configFixture } from './config.fixture.ts'

const { complaints, good, path, writeConfig } = configFixture({ beforeEach, afterEach })

test('env.vars act as environment variables, real ones override them, and the backend gets them', async () => {
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

test('secrets of the gateway never reach the backend; the API key, which the backend needs, may', async () => {
  await writeConfig({
    env: { vars: { DISCORD_BOT_TOKEN: 'abcdefgh', HTTP_TOKEN: 'abcdefghijklmnop', ANTHROPIC_API_KEY: 'sk-abcdef' } },
  })
  const { config } = await good()
  expect(config.discord.botToken).toBe('abcdefgh')
  expect(config.envVars).toEqual({ ANTHROPIC_API_KEY: 'sk-abcdef' })
  expect(await complaints({ BACKEND_ENV: 'PATH,DISCORD_BOT_TOKEN', PATH: '/bin' })).toEqual([
    'agent.env (BACKEND_ENV): names DISCORD_BOT_TOKEN, which must not be passed to the backend',
  ])
})

test('a variable that should be passed on but is not set causes a warning', async () => {
  expect((await good({ BACKEND_ENV: 'GH_TOKEN' })).warnings).toEqual(['agent.env names GH_TOKEN, which is not set'])
})

test('texts of config.json may refer to variables from every source', async () => {
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

test('substitution is not applied to substituted values', async () => {
  await writeConfig({ agent: { model: '${A}' }, env: { vars: { BACKEND_CLI_PATH: '$${NOT}' } } })
  const { config } = await good({ A: '${B}' })
  expect(config.agent).toMatchObject({ model: '${B}', cliPath: '${NOT}' })
})

test('an unset variable, or one that refers back to itself, is reported by name', async () => {
  await writeConfig({
    agent: { model: '${NOWHERE}' },
    allowed_tools: ['${EMPTY}'],
    env: { vars: { A: '${B}', B: '${A}', C: '${GONE}' } },
  })
  expect((await complaints({ EMPTY: '' })).sort()).toEqual([
    'agent.model (BACKEND_MODEL, --model): "${NOWHERE}" from config.json; names the variable NOWHERE, which is not set',
    'allowed_tools (ALLOWED_TOOLS): ["${EMPTY}"] from config.json; names the variable EMPTY, which is not set',
    'env.vars.A: refers back to itself: A, B, A',
    'env.vars.B: refers back to itself: A, B, A',
    'env.vars.C: names the variable GONE, which is not set',
  ])
})

test('variables are substituted inside objects and lists at any depth', async () => {
  await writeConfig({
    mcp: {
      servers: {
        notes: { command: '${BIN}/notes', args: ['--dir', '${HOME}/notes'], env: { NOTES_TOKEN: '${NOTES}' } },
        far: { url: 'https://${HOST}/mcp', headers: { Authorization: 'Bearer ${FAR}', Literal: '$${FAR}' } },
      },
    },
    models: { cron: { backend: '${BACKEND}', model: 'gpt-${VERSION}' } },
    budget: { source_usd: { cron: '${CRON_USD}' } },
    env: { vars: { NOTES: 'n-${FAR}' } },
  })
  const { config } = await good({
    ...{
      BIN: '/opt',
      HOME: '/home/me',
      HOST: 'example.org',
      FAR: 'far',
      BACKEND: 'codex',
      VERSION: '5',
      CRON_USD: '2.50',
    },
  })
  expect(config.mcp.servers).toEqual([
    { name: 'notes', command: '/opt/notes', args: ['--dir', '/home/me/notes'], env: { NOTES_TOKEN: 'n-far' } },
    { name: 'far', url: 'https://example.org/mcp', headers: { Authorization: 'Bearer far', Literal: '${FAR}' } },
  ])
  expect(config.views.models).toEqual({ cron: { backend: 'codex', model: 'gpt-5' } })
  expect(config.budget.sourceUsd).toEqual({ cron: 2.5 })
})

test('all unset variables inside an object are reported with their path', async () => {
  await writeConfig({
    mcp: { servers: { notes: { command: 'x', args: ['a', '${GONE}'], env: { TOKEN: '${LOST}' } } } },
    models: { cron: { model: '${NOWHERE}' } },
  })
  const [models = '', servers = ''] = await complaints()
  expect(models).toBe(
    'models.cron (MODELS_CRON): { … } from config.json; model names the variable NOWHERE, which is not set',
  )
  expect(servers).toBe(
    'mcp.servers (MCP_SERVERS): ******** from config.json; notes.args.1 names the variable GONE, which is not set, notes.env.TOKEN names the variable LOST, which is not set',
  )
})

test('keys of objects are not substituted, and a key called __proto__ is harmless', async () => {
  await writeConfig('{ "budget": { "source_usd": { "${A}": 1 } } }')
  expect(await complaints({ A: 'cron' })).toHaveLength(1)
  await writeConfig('{ "mcp": { "servers": { "__proto__": { "command": "${A}" } } } }')
  await good({ A: 'x' })
  expect(Object.hasOwn(Object.prototype, 'command')).toBe(false)
})
