// The configuration: flags over environment over `.env` over bot-config.json over config.json over defaults, checked as a whole, then frozen.
import { resolve } from 'node:path'
import type { BackendName, McpServer, PermissionMode } from '../base/agent.ts'
import type { BudgetRules } from '../base/budget.ts'
import type { ConfigTexts } from '../base/config-files.ts'
import { type Task, tasks } from '../base/event.ts'
import type { GateRules } from '../base/pairing.ts'
import type { JsonValue } from './config-json.ts'
import { isLoopback, type Route } from './config-kinds.ts'
import { eachOption, isPrivate, type OptionKey, options, type Values } from './config-options.ts'
import { mask, plain, type ShownValue, secretHider, secretsIn } from './config-report.ts'
import { pick, type Settled, type Sources, settle } from './config-settle.ts'
import {
  type From,
  type Problem,
  type Remarks,
  readBotConfig,
  readConfigFile,
  readDotEnv,
  setVariables,
  type Variables,
  warnOfMisspelledVariables,
} from './config-sources.ts'
import { resolveVariables, substitute } from './config-variables.ts'

export { showProblems } from './config-report.ts'

/** Every field is the option of the same path in config.json. Null: not set. */
export interface Config {
  /** Absolute. */
  readonly configDir: string
  readonly agent: {
    /** Null: choose one that is installed. */
    readonly backend: BackendName | null
    readonly cliPath: string | null
    readonly model: string | null
    readonly maxTurns: number
    /** Names of variables to pass on to the backend. */
    readonly env: readonly string[]
    readonly fallback: readonly BackendName[]
    /** Null: a process for each turn. */
    readonly warm: { readonly most: number; readonly memoryBytes: number; readonly idleMs: number } | null
    readonly prewarm: boolean
    readonly sdkPath: string | null
  }
  readonly models: Readonly<Partial<Record<Task, Route>>>
  readonly mcpServers: readonly McpServer[]
  /** Whether agents get the tools of the gateway itself. */
  readonly gatewayTools: boolean
  readonly allowedTools: readonly string[]
  readonly permissionMode: PermissionMode
  readonly anthropic: { readonly apiKey: string | null }
  readonly query: { readonly timeoutMs: number; readonly maxMs: number }
  readonly queue: {
    readonly maxConcurrent: number
    readonly maxDepth: number
    readonly busy: 'reject' | 'queue'
    readonly collect: boolean
  }
  readonly discord: {
    readonly enabled: boolean
    readonly botToken: string | null
    readonly messageContent: boolean
    readonly threads: 'off' | 'auto'
    readonly fileOver: number
    readonly catchUpMs: number
    readonly api: string
  }
  readonly gate: GateRules
  readonly heartbeat: { readonly defaultChannel: string | null }
  readonly budget: BudgetRules
  readonly http: {
    readonly host: string
    readonly names: readonly string[]
    readonly port: number
    readonly token: string | null
  }
  readonly timezone: string
  readonly retentionDays: number
  readonly stopTimeoutMs: number
  readonly log: {
    readonly level: Values['log.level']
    readonly format: Values['log.format']
    /** From which level on it is kept in files; null: it is not. */
    readonly file: Values['log.level'] | null
  }
  /** `env.vars`, for the backend; what configures ourselves is left out. */
  readonly envVars: Variables
}

export type Loaded =
  | {
      readonly ok: true
      readonly config: Config
      readonly warnings: readonly string[]
      readonly values: readonly ShownValue[]
      /** Whether somebody chose it. Cheaper than `values`, which asks the machine for every default. */
      isSet(key: OptionKey): boolean
      /** Each value as it is, with where it comes from, and the keys that stand in bot-config.json. */
      readonly settled: Settled
      readonly inBotConfig: ReadonlySet<OptionKey>
      /** Takes secrets out of a value that is to be shown. */
      hide(text: string): string
      /** The environment with `.env` and `env.vars` underneath: what `config.agent.env` picks from. */
      readonly environment: Variables
    }
  | { readonly ok: false; readonly problems: readonly Problem[]; readonly warnings: readonly string[] }

export interface LoadFrom {
  /** By the flag's name in camelCase: `configDir`. Others than ours are ignored. */
  readonly flags: Readonly<Record<string, string | boolean | undefined>>
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly instead?: ConfigTexts | undefined
}

/** Mistakes are values: never throws over what somebody wrote, and tells all of it at once. */
export async function loadConfig(from: LoadFrom): Promise<Loaded> {
  const remarks: Remarks = { problems: [], warnings: [] }
  const { folder, sources } = await readSources(from, remarks)
  const { environment, vars } = sources.variables
  const scrub = secretHider(secretsIn(secretSettings(sources), environment, sources.dotEnv, vars))
  const settled = settle(sources, scrub, remarks)
  checkTogether(settled, remarks)
  warnOfVariables(settled, environment, remarks)

  const warnings = remarks.warnings.map(scrub)
  if (remarks.problems.length > 0) {
    return { ok: false, problems: remarks.problems.map(problem => ({ ...problem, why: scrub(problem.why) })), warnings }
  }
  return {
    ok: true,
    config: configFrom(settled.values, folder, vars),
    warnings,
    get values() {
      return shownValues(settled, folder, sources, scrub)
    },
    isSet: key => settled.from.get(key) !== 'default',
    settled,
    inBotConfig: new Set(sources.bot.settings.keys()),
    hide: scrub,
    environment: Object.freeze(environment),
  }
}

/** Everything that must not be seen, for the log: our secrets, and the variables whose name says that they are one. */
export function secretsOf(config: Config, environment: Variables = {}): string[] {
  const own = [config.discord.botToken, config.anthropic.apiKey, config.http.token]
  const ofServers = config.mcpServers.flatMap(server => Object.values('url' in server ? server.headers : server.env))
  return secretsIn([...own, ...ofServers], environment, config.envVars)
}

async function readSources(from: LoadFrom, remarks: Remarks): Promise<{ folder: string; sources: Sources }> {
  const process = setVariables(from.env)
  const dotEnv = await readDotEnv(from.cwd, remarks)
  const outer = { ...dotEnv, ...process }
  const early = {
    ...{ flags: from.flags, process, dotEnv, variables: resolveVariables(new Map(), outer) },
    ...{ bot: { settings: new Map(), misplaced: [] }, file: { settings: new Map(), vars: new Map() } },
  }
  const chosen = pick('config_dir', options.config_dir, early)?.raw ?? options.config_dir.default
  const folder = resolve(from.cwd, String(chosen).trim())
  const file = await readConfigFile(folder, remarks, from.instead?.['config.json'])
  const bot = await readBotConfig(folder, remarks, from.instead?.['bot-config.json'])
  const variables = resolveVariables(file.vars, outer)
  for (const { name, why } of variables.mistakes) {
    remarks.problems.push({ key: `env.vars.${name}`, env: null, flag: null, from: 'config.json', value: null, why })
  }
  return { folder, sources: { ...early, bot, file, variables } }
}

function secretSettings({ bot, file, variables }: Sources): string[] {
  const misplaced = bot.misplaced.flatMap(textsIn)
  const inFile = eachOption().flatMap(([key, { secret }]) => {
    const written = secret ? file.settings.get(key) : undefined
    const filled = written === undefined ? null : substitute(written, variables.environment)
    return filled?.ok ? textsIn(filled.value) : []
  })
  return [...misplaced, ...inFile]
}

/** Also a secret of the wrong shape is one. */
function textsIn(value: JsonValue): string[] {
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [String(value)]
}

/** Rules between options. A credential is needed by the part that uses it. */
function checkTogether({ values, from, bad }: Settled, { problems, warnings }: Remarks): void {
  const report = (key: OptionKey, why: string): void => {
    if (bad.has(key)) return
    problems.push({ key, env: options[key].env, flag: null, from: null, value: null, why })
  }
  if (values['discord.enabled'] && values['discord.bot_token'] === null) {
    report(
      'discord.bot_token',
      'is not set; must be set while Discord is on (discord.enabled): https://discord.com/developers/applications, your application, Bot, Reset Token',
    )
  }
  if (from.get('discord.enabled') === 'default' && values['discord.bot_token'] !== null) {
    warnings.push(
      'DISCORD_BOT_TOKEN is set, but Discord is off: set DISCORD=true to connect, or DISCORD=false to keep it off',
    )
  }
  if (values['agent.backend'] === 'claude-sdk' && values['anthropic.api_key'] === null) {
    report('anthropic.api_key', 'is not set; must be set for the backend claude-sdk (agent.backend)')
  }
  if (!isLoopback(values['http.host']) && values['http.token'] === null) {
    report('http.token', 'is not set; must be set while http.host is not a loopback address such as 127.0.0.1')
  }
  for (const name of values['agent.env'].filter(isPrivate)) {
    report('agent.env', `names ${name}, which must not be passed on to the backend`)
  }
  if (values['query.timeout_ms'] > values['query.max_ms']) {
    warnings.push('query.timeout_ms is longer than query.max_ms, which ends the turn first')
  }
}

function warnOfVariables({ values }: Settled, environment: Variables, { warnings }: Remarks): void {
  const passedOn = values['agent.env']
  for (const name of passedOn.filter(name => !Object.hasOwn(environment, name))) {
    warnings.push(`agent.env names ${name}, which is not set`)
  }
  warnOfMisspelledVariables(environment, passedOn, warnings)
}

function configFrom(values: Values, configDir: string, vars: Variables): Config {
  return frozen({
    configDir,
    agent: {
      backend: values['agent.backend'],
      cliPath: values['agent.cli_path'],
      model: values['agent.model'],
      maxTurns: values['agent.max_turns'],
      env: values['agent.env'],
      fallback: values['agent.fallback'],
      warm: values['agent.warm']
        ? {
            most: values['agent.warm_max'],
            memoryBytes: values['agent.warm_memory_mb'] * 1024 * 1024,
            idleMs: values['agent.warm_idle_ms'],
          }
        : null,
      prewarm: values['agent.prewarm'],
      sdkPath: values['agent.sdk_path'],
    },
    models: routesIn(values),
    mcpServers: values['mcp.servers'],
    gatewayTools: values['mcp.own'],
    allowedTools: values.allowed_tools,
    permissionMode: values.permission_mode,
    anthropic: { apiKey: values['anthropic.api_key'] },
    query: { timeoutMs: values['query.timeout_ms'], maxMs: values['query.max_ms'] },
    queue: {
      maxConcurrent: values['queue.max_concurrent'],
      maxDepth: values['queue.max_depth'],
      busy: values['queue.busy'],
      collect: values['queue.collect'],
    },
    discord: {
      enabled: values['discord.enabled'],
      botToken: values['discord.bot_token'],
      messageContent: values['discord.message_content'],
      threads: values['discord.threads'],
      fileOver: values['discord.file_over'],
      catchUpMs: values['discord.catchup_max_age'],
      api: values['discord.api'],
    },
    gate: {
      owners: values['owner.users'],
      users: values['gate.users'],
      roles: values['gate.roles'],
      channels: values['gate.channels'],
      guilds: values['gate.guilds'],
      perMinute: values['gate.rate_limit'],
    },
    heartbeat: { defaultChannel: values['heartbeat.default_channel'] },
    budget: {
      dailyUsd: values['budget.daily_usd'],
      dailyTokens: values['budget.daily_tokens'],
      personUsd: values['budget.person_usd'],
      sourceUsd: values['budget.source_usd'],
    },
    http: {
      host: values['http.host'],
      names: values['http.names'],
      port: values['http.port'],
      token: values['http.token'],
    },
    get timezone() {
      return values.timezone
    },
    retentionDays: values.retention_days,
    stopTimeoutMs: values.stop_timeout_ms,
    log: { level: values['log.level'], format: values['log.format'], file: keptLevelIn(values) },
    envVars: Object.fromEntries(Object.entries(vars).filter(([name]) => !isPrivate(name))),
  })
}

function keptLevelIn(values: Values): Config['log']['file'] {
  const { 'log.file': kept, 'log.level': level } = values
  return kept === true ? level : kept === false ? null : kept
}

function routesIn(values: Values): Config['models'] {
  return Object.fromEntries(
    tasks.flatMap(task => {
      const route = values[`models.${task}`]
      return route ? [[task, route]] : []
    }),
  )
}

function frozen<T extends object>(object: T): T {
  for (const { value } of Object.values(Object.getOwnPropertyDescriptors(object))) {
    if (typeof value === 'object' && value !== null) frozen(value)
  }
  return Object.freeze(object)
}

function shownValues(
  { values, from }: Settled,
  folder: string,
  { process, dotEnv, variables }: Sources,
  scrub: (line: string) => string,
): ShownValue[] {
  const rows = eachOption().map(([key, { env, secret, description }]): ShownValue => {
    const value = plain(key === 'config_dir' ? folder : values[key])
    const safe = value === null ? null : !secret ? scrub(value) : value === '' ? '' : mask
    return { key, env, value: safe, from: from.get(key) ?? 'default', description }
  })
  const origin = (name: string): From =>
    Object.hasOwn(process, name) ? 'environment' : Object.hasOwn(dotEnv, name) ? '.env' : 'config.json'
  // Any of these may be a secret, whatever its name.
  const vars = Object.keys(variables.vars).map(
    (name): ShownValue => ({
      key: `env.vars.${name}`,
      env: name,
      value: mask,
      from: origin(name),
      description: 'A variable for the backend.',
    }),
  )
  return [...rows, ...vars]
}
