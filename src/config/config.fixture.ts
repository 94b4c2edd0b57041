// For tests: a fresh working directory with a config folder, and functions that load the configuration from it.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Loaded, type LoadFrom, loadConfig } from './load.ts'
import { showProblems } from './report.ts'

type Env = LoadFrom['env']
type Flags = LoadFrom['flags']

export interface ConfigFixture {
  path(...parts: string[]): string
  writeConfig(content: unknown): Promise<void>
  writeBotConfig(content: unknown): Promise<void>
  load(env?: Env, flags?: Flags, instead?: LoadFrom['instead']): Promise<Loaded>
  /** Loads a configuration that must have no mistakes. */
  good(env?: Env, flags?: Flags): Promise<Loaded & { ok: true }>
  /** The mistakes, as people read them. */
  complaints(env?: Env, flags?: Flags): Promise<string[]>
}

interface Hooks {
  beforeEach(before: () => Promise<void>): void
  afterEach(after: () => Promise<void>): void
}

/** The test runner's hooks are passed in, because only tests may import it. */
export function configFixture({ beforeEach, afterEach }: Hooks): ConfigFixture {
  let cwd = ''
  beforeEach(async () => {
    cwd = await mkdtemp(join(tmpdir(), 'aetheel-config-'))
    await mkdir(join(cwd, 'config'))
  })
  afterEach(() => rm(cwd, { recursive: true }))

  const write = (file: string, content: unknown) =>
    writeFile(join(cwd, 'config', file), typeof content === 'string' ? content : JSON.stringify(content))
  const load = (env: Env = {}, flags: Flags = {}, instead?: LoadFrom['instead']): Promise<Loaded> =>
    loadConfig({ flags, env, cwd, instead })
  return {
    path: (...parts) => join(cwd, ...parts),
    writeConfig: content => write('config.json', content),
    writeBotConfig: content => write('bot-config.json', content),
    load,
    async good(env, flags) {
      const loaded = await load(env, flags)
      if (!loaded.ok) throw new Error(showProblems(loaded.problems))
      return loaded
    },
    async complaints(env, flags) {
      const loaded = await load(env, flags)
      return loaded.ok ? [] : showProblems(loaded.problems).split('\n')
    },
  }
}

/** A valid text for this option that differs from its default; except for the chats, which would need a token. */
export const sampleFor = (key: string): string => samples[key] ?? '7'

const samples: Readonly<Record<string, string>> = {
  'guest.env': 'SOME_NAME',
  'guest.memory': 'yes',
  wall: 'bwrap',
  sandbox: 'workspace',
  'agent.backend': 'echo',
  'http.token': 'abcdefghijklmnopqrst',
  'http.host': '::1',
  timezone: 'Asia/Tokyo',
  permission_mode: 'plan',
  verbosity: 'full',
  'queue.busy': 'queue',
  'queue.mode': 'steer',
  'log.level': 'trace',
  'log.format': 'json',
  'log.file': 'warn',
  'discord.enabled': 'no',
  'discord.message_content': 'off',
  'discord.threads': 'auto',
  'discord.file_over': '5000',
  'discord.catchup_max_age': '12h',
  'discord.api': 'http://127.0.0.1:9/api',
  'telegram.enabled': 'no',
  'telegram.file_over': '5000',
  'telegram.api': 'http://127.0.0.1:9',
  'slack.enabled': 'no',
  'slack.threads': 'off',
  'slack.file_over': '5000',
  'slack.catchup_max_age': '12h',
  'slack.api': 'http://127.0.0.1:9/api',
  'queue.collect': 'on',
  'agent.env': 'PATH',
  'agent.fallback': 'codex,gemini',
  'agent.warm': 'false',
  'agent.warm_idle_ms': '5000',
  'agent.prewarm': 'true',
  'models.default': 'codex/gpt-5',
  'models.heartbeat': '/haiku',
  'models.cron': 'pi',
  'models.subagent': 'opencode/x/m',
  'models.hook': 'echo',
  'models.webhook': 'gemini/flash',
  'budget.source_usd': 'heartbeat=1, cron=2.50',
  'mcp.own': 'no',
  'heartbeat.enabled': 'no',
  'heartbeat.silent': 'yes',
  'mcp.servers': '{"notes":{"command":"notes-server"}}',
}
