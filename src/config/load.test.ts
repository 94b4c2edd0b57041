// Loading the configuration: precedence, checks and mistakes.
import { writeFile } from 'node:fs/promises'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { permissionModes } from '../base/agent.ts'
import { configFixture, sampleFor } from './config.fixture.ts'
import type { Config } from './config.ts'
import { eachOption } from './options/index.ts'
import { showProblems } from './report.ts'

const { complaints, good, load, path, writeConfig } = configFixture({ beforeEach, afterEach })

test('without any settings the defaults are used', async () => {
  const { config, warnings, values } = await good()
  expect(config).toEqual({
    configDir: path('config'),
    agent: {
      backend: null,
      cliPath: null,
      model: null,
      maxTurns: 25,
      env: [],
      fallback: [],
      ...{ warm: true, warmMax: 4, warmMemoryMb: 1500, warmIdleMs: 600_000 },
      prewarm: false,
      sdkPath: null,
      turnsPerMessage: 100,
    },
    models: { default: null, heartbeat: null, cron: null, subagent: null, hook: null, webhook: null },
    mcp: { servers: [], own: true },
    allowedTools: ['Read', 'Write', 'Edit', 'Glob', 'Grep', 'WebSearch', 'WebFetch'],
    askTools: ['Bash'],
    permissionMode: 'bypassPermissions',
    verbosity: 'normal',
    anthropic: { apiKey: null },
    query: { timeoutMs: 120_000, maxMs: 1_800_000 },
    queue: { maxConcurrent: 5, maxDepth: 100, busy: 'reject', mode: 'wait', collect: false },
    discord: {
      ...{ enabled: false, botToken: null, messageContent: true, threads: 'off', fileOver: 12_000 },
      ...{ catchupMaxAge: 86_400_000, api: 'https://discord.com/api' },
    },
    telegram: { enabled: false, botToken: null, fileOver: 20_000, api: 'https://api.telegram.org' },
    slack: {
      ...{ enabled: false, botToken: null, appToken: null, threads: 'auto', fileOver: 12_000 },
      ...{ catchupMaxAge: 86_400_000, api: 'https://slack.com/api' },
    },
    owner: { users: [] },
    approvals: { users: [], timeout: 86_400_000, reminder: 1_800_000 },
    gate: { users: [], roles: [], channels: [], guilds: [], rateLimit: 20 },
    guest: {
      ...{ tools: ['Read', 'Glob', 'Grep', 'WebSearch'], memory: false, mcp: [], env: [], network: ['model'] },
      ...{ turnsPerMessage: 10, turnsPerHour: 60, subagents: 2, sendsPerMessage: 10 },
    },
    wall: 'auto',
    sandbox: 'off',
    heartbeat: { enabled: true, silent: false, defaultChannel: null },
    budget: { dailyUsd: null, dailyTokens: null, personUsd: null, sourceUsd: {} },
    http: { host: '127.0.0.1', names: [], port: 8080, token: null },
    timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    retentionDays: 30,
    stopTimeoutMs: 30_000,
    log: { level: 'info', format: 'auto', file: true },
    views: {
      gate: { owners: [], users: [], roles: [], channels: [], guilds: [], perMinute: 20 },
      profiles: {
        ...{ guestTools: ['Read', 'Glob', 'Grep', 'WebSearch'], guestMcp: [], guestEnv: [], sandbox: 'off' },
        ...{ guestNetwork: ['model'], guestUrls: [] },
        allowedTools: ['Read', 'Write', 'Edit', 'Glob', 'Grep', 'WebSearch', 'WebFetch'],
      },
      warm: { most: 4, memoryBytes: 1500 * 1024 * 1024, idleMs: 600_000 },
      models: {},
      descent: {
        owner: { turns: 100, messages: 200, hourly: null },
        guest: { turns: 10, messages: 10, hourly: 60 },
      },
      log: { level: 'info', format: 'auto', file: 'info' },
    },
    envVars: {},
  } satisfies Config)
  expect(warnings).toEqual([])
  expect(values.every(({ from }) => from === 'default')).toBe(true)
  expect(values.filter(({ value }) => value === '********')).toEqual([])
})

const credentials = fc.string({
  unit: fc.integer({ min: 33, max: 126 }).map(code => String.fromCharCode(code)),
  minLength: 1,
})
const toolName = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,20}$/)

// Feature: discord-claude-gateway, Property 1: Config loading round-trip
test('variables of the environment arrive in the configuration', async () => {
  const settings = fc.record({
    token: credentials,
    key: credentials,
    tools: fc.array(toolName, { minLength: 1 }),
    mode: fc.constantFrom(...permissionModes),
    timeout: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
    folder: fc.stringMatching(/^[a-z][a-z0-9 ._-]{0,15}[a-z0-9]$/),
    depth: fc.integer({ min: 1, max: 1_000_000 }),
  })
  await fc.assert(
    fc.asyncProperty(settings, async ({ token, key, tools, mode, timeout, folder, depth }) => {
      const env = {
        DISCORD_BOT_TOKEN: token,
        ANTHROPIC_API_KEY: key,
        ALLOWED_TOOLS: tools.join(','),
        PERMISSION_MODE: mode,
        QUERY_TIMEOUT_MS: String(timeout),
        CONFIG_DIR: folder,
        MAX_QUEUE_DEPTH: String(depth),
      }
      const { config } = await good(env)
      expect(config).toMatchObject({
        discord: { botToken: token },
        anthropic: { apiKey: key },
        allowedTools: tools,
        permissionMode: mode,
        query: { timeoutMs: timeout },
        configDir: path(folder),
        queue: { maxDepth: depth },
      })
    }),
    { numRuns: 150 },
  )
})

// Feature: discord-claude-gateway, Property 2: Missing required config reports all missing values
test('all missing required options are reported at once, and only if they are required', async () => {
  const unset = fc.constantFrom(undefined, '', '  ')
  const variable = fc.oneof(unset, fc.constant('abcdefgh'))
  await fc.assert(
    fc.asyncProperty(variable, variable, fc.boolean(), fc.boolean(), async (token, key, discord, sdk) => {
      const env = { DISCORD_BOT_TOKEN: token, ANTHROPIC_API_KEY: key, AGENT_BACKEND: sdk ? 'claude-sdk' : 'claude' }
      const loaded = await load(env, { discord })
      const missing = [
        ...(discord && !token?.trim() ? ['DISCORD_BOT_TOKEN'] : []),
        ...(sdk && !key?.trim() ? ['ANTHROPIC_API_KEY'] : []),
      ]
      expect(loaded.ok).toBe(missing.length === 0)
      if (loaded.ok) return
      expect(loaded.problems.map(problem => problem.env)).toEqual(expect.arrayContaining(missing))
      expect(loaded.problems).toHaveLength(missing.length)
      for (const name of missing) expect(showProblems(loaded.problems)).toContain(name)
    }),
    { numRuns: 100 },
  )
})

test('precedence: flags, environment, .env, env.vars, config.json, defaults', async () => {
  await writeFile(path('.env'), 'BACKEND_MODEL=dotenv\nMAX_QUEUE_DEPTH=3\nHTTP_PORT=3\nLOG_LEVEL=warn')
  await writeConfig({
    agent: { model: 'file' },
    queue: { max_depth: 4, max_concurrent: 4 },
    http: { port: 4 },
    retention_days: 4,
    env: { vars: { HTTP_PORT: '5', MAX_CONCURRENT_QUERIES: '5' } },
  })
  const { config, values } = await good(
    { BACKEND_MODEL: 'env', MAX_QUEUE_DEPTH: '2', LOG_LEVEL: '' },
    { model: 'flag', port: '' },
  )
  expect(config).toMatchObject({
    agent: { model: 'flag' },
    queue: { maxDepth: 2, maxConcurrent: 5 },
    http: { port: 3 },
    log: { level: 'warn' },
    retentionDays: 4,
    stopTimeoutMs: 30_000,
  })
  const from = Object.fromEntries(values.map(value => [value.key, value.from]))
  expect(from).toMatchObject({
    'agent.model': 'flag',
    'queue.max_depth': 'environment',
    'http.port': '.env',
    'log.level': '.env',
    'queue.max_concurrent': 'config.json',
    retention_days: 'config.json',
    stop_timeout_ms: 'default',
  })
})

test('every option can be set by its variable, and those in config.json by their key', async () => {
  for (const [key, { env, outsideFile }] of eachOption()) {
    const sample = sampleFor(key)
    const fromEnv = await good({ [env]: sample })
    expect(fromEnv.values.find(value => value.key === key)?.from).toBe('environment')
    if (outsideFile) continue
    await writeConfig({ [key]: sample })
    const fromFile = await good()
    expect(fromFile.values.find(value => value.key === key)?.from).toBe('config.json')
    expect(fromFile.config).toEqual(fromEnv.config)
    await writeConfig({})
  }
})

test('flags are passed by their names in camelCase', async () => {
  const flags = {
    configDir: 'other',
    backend: 'codex',
    model: 'm',
    discord: false,
    port: '0',
    log: 'debug',
    json: true,
  }
  const { config } = await good({ DISCORD: 'true' }, flags)
  expect(config).toMatchObject({
    configDir: path('other'),
    agent: { backend: 'codex', model: 'm' },
    discord: { enabled: false },
    http: { port: 0 },
    log: { level: 'debug' },
  })
})

test('values may be written in JSON or as text', async () => {
  await writeConfig({
    http: { port: '81' },
    queue: { collect: 'yes' },
    allowed_tools: 'Read,Grep',
    agent: { env: ['A'] },
  })
  const { config } = await good({ A: '1' })
  expect(config).toMatchObject({
    http: { port: 81 },
    queue: { collect: true },
    allowedTools: ['Read', 'Grep'],
    agent: { env: ['A'] },
  })
})

test('a token of a chat that was never switched on causes a warning; one that was switched off does not', async () => {
  const warnings = async (env: Record<string, string>) => (await good({ DISCORD_BOT_TOKEN: 'abc', ...env })).warnings
  expect(await warnings({})).toEqual([expect.stringContaining('DISCORD=true')])
  expect(await warnings({ DISCORD: 'false' })).toEqual([])
  expect(await warnings({ DISCORD: 'true' })).toEqual([])
})

test('spaces around a value are ignored', async () => {
  expect((await good({ HTTP_PORT: ' 81 ', DISCORD_BOT_TOKEN: 'abc\n' })).config).toMatchObject({
    http: { port: 81 },
    discord: { botToken: 'abc' },
  })
})

test('the configuration is frozen all the way down', async () => {
  await writeConfig({ env: { vars: { A: 'a' } } })
  const { config, environment } = await good()
  const everyPart = (part: object): boolean =>
    Object.isFrozen(part) &&
    Object.values(part).every(inner => typeof inner !== 'object' || inner === null || everyPart(inner))
  expect(everyPart(config)).toBe(true)
  expect(Object.isFrozen(environment)).toBe(true)
})

test('all mistakes are reported at once, each with key, variable, value, source and what is allowed', async () => {
  await writeConfig({ queue: { busy: 'maybe' }, log: 5 })
  await writeFile(path('.env'), 'TIMEZONE=Mars/Base')
  const reported = await complaints({ HTTP_PORT: '12x', AGENT_BACKEND: 'cloud' }, { log: 'loud' })
  expect(reported.sort()).toEqual([
    'agent.backend (AGENT_BACKEND, --backend): "cloud" from environment; must be one of claude, codex, gemini, opencode, pi, claude-sdk, echo',
    'http.port (HTTP_PORT, --port): "12x" from environment; must be a whole number from 0 to 65535',
    'log.level (LOG_LEVEL, --log): "loud" from flag; must be one of trace, debug, info, warn, error, fatal, silent',
    'log: must be an object: { … }',
    'queue.busy (BUSY): "maybe" from config.json; must be one of reject, queue',
    'timezone (TIMEZONE): "Mars/Base" from .env; must be the IANA name of a time zone, such as Europe/Berlin',
  ])
})

test.each(['many', '0', '-3', '2.5'])('BACKEND_MAX_TURNS=%s causes a warning, and 25 is used', async turns => {
  const { config, warnings, values } = await good({ BACKEND_MAX_TURNS: turns })
  expect(config.agent.maxTurns).toBe(25)
  expect(warnings).toEqual([expect.stringMatching(/BACKEND_MAX_TURNS.*must be a whole number.*using 25 instead/)])
  expect(values.find(({ key }) => key === 'agent.max_turns')?.from).toBe('default')
})

test('listening beyond this machine requires a token', async () => {
  expect(await complaints({ HTTP_HOST: '0.0.0.0' })).toEqual([
    expect.stringMatching(/^http\.token \(HTTP_TOKEN\): is not set/),
  ])
  expect((await good({ HTTP_HOST: '0.0.0.0', HTTP_TOKEN: 'abcdefghijklmnop' })).config.http.host).toBe('0.0.0.0')
  expect(await complaints({ HTTP_HOST: '0.0.0.0', HTTP_TOKEN: 'short' })).toEqual([
    expect.stringContaining('at least 16'),
  ])
  expect((await good({ HTTP_HOST: '127.0.0.2' })).config.http.token).toBeNull()
})

test('a silence limit longer than the turn limit causes a warning', async () => {
  expect((await good({ QUERY_TIMEOUT_MS: '2000000' })).warnings).toEqual([expect.stringContaining('query.max_ms')])
})
