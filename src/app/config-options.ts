// The one table of options: what can be set, under which names, to what. `config show`, `config init` and the docs read it.
import { defaultMaxTurns, permissionModes } from '../base/agent.ts'
import { logLevels } from '../base/logs.ts'
import {
  address,
  age,
  amounts,
  backendList,
  backendName,
  credential,
  hostName,
  idList,
  type Kind,
  keptLevel,
  mcpServers,
  milliseconds,
  money,
  nameList,
  oneOf,
  type Route,
  route,
  systemTimezone,
  text,
  timezone,
  toolList,
  variableNames,
  wholeNumber,
  yesOrNo,
} from './config-kinds.ts'

export interface Option<T> {
  readonly env: string
  /** Without the dashes. */
  readonly flag?: string
  readonly kind: Kind<T>
  /** Null: not set. A function: the machine decides. */
  readonly default: NoInfer<T> | (() => NoInfer<T>)
  readonly description: string
  readonly secret?: true
  /** May not stand in config.json. */
  readonly outsideFile?: true
  /** A bad value is warned about and the default taken, instead of refusing to start. */
  readonly lenient?: true
  /** A change while the gateway runs counts from the next turn on. */
  readonly live?: true
}

const levels = [...logLevels, 'silent'] as const

/** By the path in config.json. */
export const options = {
  config_dir: option({
    env: 'CONFIG_DIR',
    flag: 'config-dir',
    kind: text,
    default: './config',
    outsideFile: true,
    description: 'The workspace folder: config.json, persona and memory files, state.',
  }),
  'agent.backend': optional({
    env: 'AGENT_BACKEND',
    flag: 'backend',
    kind: backendName,
    description:
      'The agent that answers. Not set: the first of claude, codex, gemini, opencode, pi that is installed, else echo.',
  }),
  'agent.cli_path': optional({
    env: 'BACKEND_CLI_PATH',
    kind: text,
    description:
      'Path of the program of the chosen backend (AGENT_BACKEND) only. Not set, and for all others: looked up on PATH.',
  }),
  'agent.model': optional({
    live: true,
    env: 'BACKEND_MODEL',
    flag: 'model',
    kind: text,
    description: "The model, by the backend's own name for it. Not set: the backend's default.",
  }),
  'agent.max_turns': option({
    live: true,
    env: 'BACKEND_MAX_TURNS',
    kind: wholeNumber(1, 10_000),
    default: defaultMaxTurns,
    lenient: true,
    description: 'How many steps the agent may take for one answer. A bad value is warned about and 25 taken.',
  }),
  'agent.env': option({
    env: 'BACKEND_ENV',
    kind: variableNames,
    default: [],
    description: "Names of environment variables that are passed on to the backend, besides the backend's own.",
  }),
  'agent.fallback': option({
    live: true,
    env: 'BACKEND_FALLBACK',
    kind: backendList,
    default: [],
    description:
      'Backends that take over, in this order, when the one that should answer is at its limit, not installed or not logged in.',
  }),
  'agent.warm': option({
    env: 'BACKEND_WARM',
    kind: yesOrNo,
    default: true,
    description: 'Backends stay up between turns, which answers faster. false: a process for each turn.',
  }),
  'agent.warm_max': option({
    env: 'BACKEND_WARM_MAX',
    kind: wholeNumber(1, 100),
    default: 4,
    description: 'How many backend processes stay up at most.',
  }),
  'agent.warm_memory_mb': option({
    env: 'BACKEND_WARM_MEMORY_MB',
    kind: wholeNumber(1, 1_000_000),
    default: 1500,
    description: 'How much memory the backend processes that stay up may take together.',
  }),
  'agent.warm_idle_ms': option({
    env: 'BACKEND_WARM_IDLE_MS',
    kind: milliseconds(1000),
    default: 600_000,
    description: 'A backend process that was not needed for this long leaves.',
  }),
  'agent.prewarm': option({
    env: 'BACKEND_PREWARM',
    kind: yesOrNo,
    default: false,
    description: 'Get the backend ready for the latest conversation when the gateway starts.',
  }),
  'agent.sdk_path': optional({
    env: 'AGENT_SDK_PATH',
    kind: text,
    description:
      'Folder in which the Claude Agent SDK is installed (claude-sdk). Not set: looked for here and among the global packages.',
  }),
  'models.default': routed('default', 'messages, and everything that has none of its own'),
  'models.heartbeat': routed('heartbeat', 'heartbeats'),
  'models.cron': routed('cron', 'cron jobs'),
  'models.subagent': routed('subagent', 'sub-agents'),
  'models.hook': routed('hook', 'hooks'),
  'models.webhook': routed('webhook', 'webhooks'),
  'mcp.servers': option({
    live: true,
    env: 'MCP_SERVERS',
    kind: mcpServers,
    default: () => [],
    secret: true,
    description: 'MCP servers for the agent, by name, handed to each backend in the form it reads.',
  }),
  'mcp.own': option({
    env: 'GATEWAY_TOOLS',
    kind: yesOrNo,
    default: true,
    description:
      'Offer the agent the tools of the gateway itself: sending messages, jobs, memory, facts, tasks, finds, sub-agents.',
  }),
  allowed_tools: option({
    live: true,
    env: 'ALLOWED_TOOLS',
    kind: toolList,
    default: ['Read', 'Write', 'Edit', 'Glob', 'Grep', 'WebSearch', 'WebFetch'],
    description: 'The only tools the agent may use.',
  }),
  permission_mode: option({
    live: true,
    env: 'PERMISSION_MODE',
    kind: oneOf(permissionModes),
    default: 'bypassPermissions',
    description: 'How the backend asks before it uses a tool.',
  }),
  'anthropic.api_key': optional({
    env: 'ANTHROPIC_API_KEY',
    kind: credential(1),
    secret: true,
    description: 'Key of the Anthropic API. Needed by the claude-sdk backend.',
  }),
  'query.timeout_ms': option({
    live: true,
    env: 'QUERY_TIMEOUT_MS',
    kind: milliseconds(1),
    default: 120_000,
    description: 'A turn that stays silent for this long is ended.',
  }),
  'query.max_ms': option({
    live: true,
    env: 'QUERY_MAX_MS',
    kind: milliseconds(1),
    default: 1_800_000,
    description: 'A turn that takes this long is ended even while it speaks.',
  }),
  'queue.max_concurrent': option({
    env: 'MAX_CONCURRENT_QUERIES',
    kind: wholeNumber(1, 1000),
    default: 5,
    description: 'How many conversations are answered side by side.',
  }),
  'queue.max_depth': option({
    env: 'MAX_QUEUE_DEPTH',
    kind: wholeNumber(1, 1_000_000),
    default: 100,
    description: 'How many events may wait; more are refused. What time and programs bring may take four fifths of it.',
  }),
  'queue.busy': option({
    env: 'BUSY',
    kind: oneOf(['reject', 'queue']),
    default: 'reject',
    description: 'A new conversation while all places are taken: refuse it, or let it wait.',
  }),
  'queue.collect': option({
    env: 'COLLECT',
    kind: yesOrNo,
    default: false,
    description: 'Messages that came in during a turn are answered together.',
  }),
  'discord.enabled': option({
    env: 'DISCORD',
    flag: 'discord',
    kind: yesOrNo,
    default: false,
    description: 'Connect to Discord.',
  }),
  'discord.bot_token': optional({
    env: 'DISCORD_BOT_TOKEN',
    kind: credential(1),
    secret: true,
    description: 'Token of the Discord bot. Needed when Discord is on.',
  }),
  'discord.message_content': option({
    env: 'DISCORD_MESSAGE_CONTENT',
    kind: yesOrNo,
    default: true,
    description:
      'Read messages in threads and replies also when they do not mention the bot. Needs the Message Content Intent of the portal. false: direct messages and mentions only.',
  }),
  'discord.threads': option({
    env: 'THREADS',
    kind: oneOf(['off', 'auto']),
    default: 'off',
    description: 'auto: a mention in a channel opens a thread, which is a conversation of its own.',
  }),
  'discord.file_over': option({
    env: 'DISCORD_FILE_OVER',
    kind: wholeNumber(2000, 1_000_000),
    default: 12_000,
    description: 'An answer with more characters is sent as a file, with its beginning as the message.',
  }),
  'discord.catchup_max_age': option({
    env: 'DISCORD_CATCHUP_MAX_AGE',
    kind: age(30 * 86_400_000),
    default: 86_400_000,
    description: 'What was said while the gateway was away is answered if it is not older than this.',
  }),
  'discord.api': option({
    env: 'DISCORD_API',
    kind: address,
    default: 'https://discord.com/api',
    description: 'Where the API of Discord is, without its version: for servers that are compatible.',
  }),
  'owner.users': option({
    live: true,
    env: 'OWNERS',
    kind: idList,
    default: [],
    description: 'Who owns this gateway, by user id: may do everything, without a limit.',
  }),
  'gate.users': option({
    live: true,
    env: 'ALLOWED_USERS',
    kind: idList,
    default: [],
    description: 'Users who may speak, anywhere.',
  }),
  'gate.roles': option({
    live: true,
    env: 'ALLOWED_ROLES',
    kind: idList,
    default: [],
    description: 'Roles whose members may speak.',
  }),
  'gate.channels': option({
    live: true,
    env: 'ALLOWED_CHANNELS',
    kind: idList,
    default: [],
    description: 'Channels in which everybody may speak, also in their threads.',
  }),
  'gate.guilds': option({
    live: true,
    env: 'ALLOWED_GUILDS',
    kind: idList,
    default: [],
    description: 'Servers (guilds) in which everybody may speak.',
  }),
  'gate.rate_limit': option({
    live: true,
    env: 'RATE_LIMIT',
    kind: wholeNumber(0, 100_000),
    default: 20,
    description: 'Messages per minute that one person may send; 0: no limit. The owner has none.',
  }),
  'heartbeat.default_channel': optional({
    live: true,
    env: 'OUTPUT_CHANNEL_ID',
    kind: text,
    description:
      'Where the answers of jobs, hooks and webhooks go that name no channel, and what the owner is told unasked, such as discord:123 or webchat:home. Not set: nowhere.',
  }),
  'budget.daily_usd': optional({
    live: true,
    env: 'BUDGET_DAILY_USD',
    kind: money,
    description:
      'What may be spent in a day. From four fifths of it on heartbeats and cron jobs pause; over it only the owner is answered. Not set: no limit.',
  }),
  'budget.daily_tokens': optional({
    live: true,
    env: 'BUDGET_DAILY_TOKENS',
    kind: wholeNumber(0, Number.MAX_SAFE_INTEGER),
    description: 'The same in tokens, for backends that do not tell what a turn costs.',
  }),
  'budget.person_usd': optional({
    live: true,
    env: 'BUDGET_PERSON_USD',
    kind: money,
    description: 'What one person other than the owner may spend in a day. Not set: no limit.',
  }),
  'budget.source_usd': option({
    live: true,
    env: 'BUDGET_SOURCE_USD',
    kind: amounts,
    default: () => ({}),
    description:
      'What may be spent in a day on what comes from one source: webchat, discord, heartbeat, cron, webhook, hook, agent.',
  }),
  'http.host': option({
    env: 'HTTP_HOST',
    kind: hostName,
    default: '127.0.0.1',
    description: 'Address the web server listens on. Anything but loopback needs a token of your own.',
  }),
  'http.names': option({
    env: 'HTTP_NAMES',
    kind: nameList,
    default: [],
    description: 'Other names under which the pages may be opened: that of a tunnel or proxy of yours in front of it.',
  }),
  'http.port': option({
    env: 'HTTP_PORT',
    flag: 'port',
    kind: wholeNumber(0, 65_535),
    default: 8080,
    description: 'Port of the web server. 0: any free one.',
  }),
  'http.token': optional({
    env: 'HTTP_TOKEN',
    kind: credential(16),
    secret: true,
    description: 'Token for the pages and the API. Not set: made at the first start and kept.',
  }),
  timezone: option({
    live: true,
    env: 'TIMEZONE',
    kind: timezone,
    default: systemTimezone,
    description: "Time zone of schedules, of the day of the budget and of the archives. Not set: the system's.",
  }),
  retention_days: option({
    live: true,
    env: 'RETENTION_DAYS',
    kind: wholeNumber(1, 36_500),
    default: 30,
    description: 'How many days finished events are kept.',
  }),
  stop_timeout_ms: option({
    live: true,
    env: 'STOP_TIMEOUT_MS',
    kind: milliseconds(0),
    default: 30_000,
    description: 'How long running turns may go on when the gateway stops.',
  }),
  'log.level': option({
    env: 'LOG_LEVEL',
    flag: 'log',
    kind: oneOf(levels),
    default: 'info',
    description: 'What is logged: this and worse.',
  }),
  'log.format': option({
    env: 'LOG_FORMAT',
    kind: oneOf(['auto', 'pretty', 'json']),
    default: 'auto',
    description: 'How it is logged. auto: pretty on a terminal, else json.',
  }),
  'log.file': option({
    env: 'LOG_FILE',
    kind: keptLevel,
    default: true,
    description:
      'Keep the log in files as well, for "aetheel logs" and Mission Control: four of at most 5 MB. A level: with that one instead of log.level.',
  }),
} as const

export type OptionKey = keyof typeof options
export type Values = { readonly [Key in OptionKey]: (typeof options)[Key] extends Option<infer T> ? T : never }

export function isOptionKey(key: string): key is OptionKey {
  return Object.hasOwn(options, key)
}

export const eachOption = (): readonly (readonly [OptionKey, Option<unknown>])[] =>
  Object.entries<Option<unknown>>(options).filter((entry): entry is [OptionKey, Option<unknown>] =>
    isOptionKey(entry[0]),
  )

/** Secrets of ours that the backend must never get. The API key is not one of them: it is the backend's own as well. */
export const isPrivate = (variable: string): boolean =>
  variable !== options['anthropic.api_key'].env && eachOption().some(([, row]) => row.secret && row.env === variable)

function routed(task: string, whose: string): Option<Route | null> {
  return optional({
    live: true,
    env: `MODELS_${task.toUpperCase()}`,
    kind: route,
    description: `Backend and model for ${whose}, such as codex/gpt-5. Not set: as otherwise.`,
  })
}

function option<T>(row: Option<T>): Option<T> {
  return row
}

function optional<T>(row: Omit<Option<T>, 'default'>): Option<T | null> {
  return { ...row, default: null }
}
