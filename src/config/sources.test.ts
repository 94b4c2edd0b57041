// The files and the environment that settings come from: missing, broken or misspelled.
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { worseThanLinear } from '../../test/harness/growth.ts'
import { configFixture } from './config.fixture.ts'

const { complaints, good, load, path, writeBotConfig, writeConfig } = configFixture({ beforeEach, afterEach })

test('unknown keys of config.json cause a warning with the closest known name', async () => {
  await writeConfig({
    http: { prot: 1 },
    agnet: { backend: 'echo' },
    port: 3,
    HTTP_HOST: 'x',
    mcps: { servers: {} },
    modules: { default: 'x' },
    stopTimeoutMs: 1,
    constructor: 1,
  })
  const { warnings, config } = await good()
  expect(warnings).toEqual([
    'config.json: unknown key "http.prot", ignored; did you mean "http.port"?',
    'config.json: unknown key "agnet", ignored; did you mean "agent"?',
    'config.json: unknown key "port", ignored; did you mean "http.port"?',
    'config.json: unknown key "HTTP_HOST", ignored; did you mean "http.host"?',
    'config.json: unknown key "mcps", ignored; did you mean "mcp"?',
    'config.json: unknown key "modules", ignored',
    'config.json: unknown key "stopTimeoutMs", ignored; did you mean "stop_timeout_ms"?',
    'config.json: unknown key "constructor", ignored',
  ])
  expect(config.http.port).toBe(8080)
})

test('variables with names close to ours cause a warning, others do not', async () => {
  const others = { PATH: '/bin', HTTP_PROXY: 'x', HOME: '/', LOG_PATH: 'x', BUS: '', GH_TOKEN: 'x' }
  await writeFile(path('.env'), 'QUERY_TIMEOUT_MSS=5')
  const { warnings } = await good({ ...others, AGENT_BACKND: 'echo', http_port: '5' })
  expect(warnings.toSorted()).toEqual([
    'environment: AGENT_BACKND is not an option, ignored; did you mean AGENT_BACKEND?',
    'environment: QUERY_TIMEOUT_MSS is not an option, ignored; did you mean QUERY_TIMEOUT_MS?',
    'environment: http_port is not an option, ignored; did you mean HTTP_PORT?',
  ])
  expect((await good({ HTTP_PORTS: '5', BACKEND_ENV: 'HTTP_PORTS', QUERY_TIMEOUT_MSS: '' })).warnings).toHaveLength(1)
})

test('the folder of config.json cannot be set inside it', async () => {
  await writeConfig({ config_dir: 'x', env: { vars: { CONFIG_DIR: 'y', 'bad name': 'z', LIST: [] } } })
  expect(await complaints()).toEqual([
    'config_dir: cannot be set in config.json, since it says where config.json is: use CONFIG_DIR or --config-dir',
    'env.vars.CONFIG_DIR: cannot be set in config.json, since it says where config.json is: use CONFIG_DIR or --config-dir',
    'env.vars.bad name: must have a name that consists of letters, digits and underscores',
    'env.vars.LIST: must be text, a number, true or false',
  ])
})

test('nulls and blanks in config.json count as not set', async () => {
  await writeConfig({ agent: { model: null, cli_path: ' ' }, http: null, env: { vars: null } })
  const { config, warnings } = await good()
  expect(config.agent).toMatchObject({ model: null, cliPath: null })
  expect(warnings).toEqual([])
})

test('setting an option in two notations is a mistake', async () => {
  await writeConfig({ 'http.port': 1, http: { port: 2 } })
  expect(await complaints()).toEqual(['http.port: is set twice'])
})

test('config.json may be missing or empty, but not broken', async () => {
  expect((await good({ CONFIG_DIR: 'nowhere' })).config.configDir).toBe(path('nowhere'))
  await writeConfig(' \n')
  expect((await load()).ok).toBe(true)
  await writeConfig('{\n  "http": { "port": 1 }\n  "x": 1 }')
  expect(await complaints()).toEqual(['config.json: line 3, column 3: expected "," or "}"'])
  await writeConfig('[]')
  expect(await complaints()).toEqual(['config.json: must be an object: { … }'])
  await rm(path('config/config.json'))
  await mkdir(path('config/config.json'))
  expect(await complaints()).toEqual(['config.json: cannot be read (is a folder)'])
  await writeFile(path('plain'), '')
  expect(await complaints({ CONFIG_DIR: 'plain' })).toEqual([
    'config.json: cannot be read (the folder it should be in is a file)',
  ])
})

test('existing files that cannot be read are mistakes', async () => {
  await symlink('config.json', path('config/config.json'))
  await symlink('.env', path('.env'))
  expect(await complaints()).toEqual(['.env: cannot be read (ELOOP)', 'config.json: cannot be read (ELOOP)'])
})

test('a folder called .env is ignored', async () => {
  await mkdir(path('.env'))
  expect((await good()).warnings).toEqual(['.env is a folder, ignored'])
})

test('invalid lines of .env are reported by number, without their text', async () => {
  await writeFile(path('.env'), '# mine\n\n export A=1\nB="two\nlines, and = more"\r\nC.d-e = \'x\'\nF=`\n`\n')
  expect((await good()).warnings).toEqual([])
  await writeFile(path('.env'), 'A=1\nB="two\nlines"\nMTIzNDU2.secret.words\nHTTP_PORT=81\n\0\ufffd\n')
  const { warnings, config } = await good()
  expect(warnings).toEqual(['.env: line 4 is neither NAME=value nor a # comment, ignored, and 1 more'])
  expect(config.http.port).toBe(81)
  // Nor does it take long.
  for (const text of ['\n', ' ', 'A="', "A='\n", 'A=\n"', '\0']) {
    const look = (size: number) => writeFile(path('.env'), text.repeat(size / text.length)).then(() => load())
    expect(await worseThanLinear(look, 1_000_000)).toBeNull()
  }
})

test('bot-config.json overrides config.json and its env.vars; everything else overrides bot-config.json', async () => {
  await writeConfig({ agent: { model: 'a', max_turns: 1 }, http: { port: 1 }, env: { vars: { RATE_LIMIT: '1' } } })
  await writeBotConfig({ 'agent.model': 'b', 'http.port': 2, 'gate.rate_limit': 2, allowed_tools: ['Read'] })
  const { config, values } = await good({ HTTP_PORT: '3' })
  expect([config.agent.model, config.agent.maxTurns, config.http.port, config.gate.rateLimit]).toEqual(['b', 1, 3, 2])
  expect(config.allowedTools).toEqual(['Read'])
  const from = Object.fromEntries(values.map(row => [row.key, row.from]))
  expect(from).toMatchObject({ 'agent.model': 'bot-config.json', 'agent.max_turns': 'config.json' })
  expect(from).toMatchObject({ 'http.port': 'environment', 'gate.rate_limit': 'bot-config.json' })
  expect((await good({}, { model: 'flag' })).config.agent.model).toBe('flag')
})

test('variables are not substituted in bot-config.json', async () => {
  await writeBotConfig({ 'agent.model': '${HOME}' })
  expect((await good({ HOME: '/x' })).config.agent.model).toBe('${HOME}')
})

test('all mistakes in both files are reported at once, with their file', async () => {
  await writeConfig({ http: { port: 'x' } })
  await writeBotConfig({
    'query.max_ms': -1,
    http: { port: 1 },
    config_dir: 'x',
    'agent.modle': 'x',
    retention_days: null,
  })
  expect(await complaints()).toEqual([
    'http: cannot be set in bot-config.json: use full keys such as "http.port"',
    'config_dir: cannot be set in bot-config.json, since it says where that file is: use CONFIG_DIR or --config-dir',
    expect.stringMatching(/^query\.max_ms \(QUERY_MAX_MS\): -1 from bot-config\.json; must be/),
    expect.stringMatching(/^http\.port .*"x" from config\.json/),
  ])
  expect((await load()).warnings).toEqual([
    'bot-config.json: unknown key "agent.modle", ignored; did you mean "agent.model"?',
  ])
  await writeConfig('')
  await writeBotConfig('{ "agent.model": ')
  expect(await complaints()).toEqual([
    'bot-config.json: line 1, column 18: expected a value: text in double quotes, a number, true, false, null, [ or {',
  ])
})

test('a secret in bot-config.json is refused and not shown', async () => {
  await writeBotConfig({
    'http.token': 'hunter2hunter2hunter2',
    'agent.model': 'hunter2hunter2hunter2',
    'query.max_ms': 'hunter2hunter2hunter2',
  })
  const reported = (await complaints()).join('\n')
  expect(reported).toContain('http.token: cannot be set in bot-config.json: put secrets into .env or config.json')
  expect(reported).toContain('query.max_ms')
  expect(reported).not.toContain('hunter2')
})
