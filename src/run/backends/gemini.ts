// Gemini CLI: `gemini --output-format stream-json` in cold mode, `gemini --acp` for all sessions in warm mode.
import { existsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Turn } from '../../base/agent.ts'
import type { Dialect } from '../cli.ts'
import { geminiServices } from '../network/services.ts'
import { object, parseLine, withoutCommands, withoutReferences } from '../stdio.ts'
import { settingOf } from './gemini-mcp.ts'
import { isAsking, narrowed, policyFor } from './gemini-policy.ts'
import { readStream } from './gemini-read.ts'

const approvals = { bypassPermissions: 'yolo', acceptEdits: 'auto_edit', plan: 'plan', default: 'default' } as const
const files = {
  system: 'gemini-system.md',
  policy: 'gemini-policy.toml',
  askingPolicy: 'gemini-asking-policy.toml',
  defaults: 'gemini-defaults.json',
  warmDefaults: 'gemini-warm-defaults.json',
}

type Environment = Readonly<Record<string, string>>

export const gemini: Dialect = {
  name: 'gemini',
  takesSessionIds: true,
  countsSteps: false,
  quiet: true,
  install: 'Install it with `npm install -g @google/gemini-cli` and log in once with `gemini`.',
  credentials: {
    variables: [
      ...['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_APPLICATION_CREDENTIALS'],
      ...['GOOGLE_GENAI_USE_VERTEXAI', 'GOOGLE_GENAI_USE_GCA', 'GEMINI_CLI_USE_COMPUTE_ADC'],
    ],
    files: ['.gemini/oauth_creds.json', '.gemini/gemini-credentials.json'],
  },
  files: turn => ({
    [files.system]: systemPromptOf(turn),
    [files.policy]: policyFor({ ...turn, askTools: [] }),
    ...(isAsking(turn) ? { [files.askingPolicy]: policyFor(turn) } : {}),
    [files.defaults]: JSON.stringify({ ...defaults, mcpServers: Object.fromEntries(turn.mcpServers.map(settingOf)) }),
    [files.warmDefaults]: JSON.stringify(defaults),
  }),
  environment: (_, dir, inherited) => environmentIn(dir, files.defaults, inherited),
  ownVariables: ['GEMINI_*', 'GOOGLE_*'],
  arguments: (turn, dir) => [
    ...['--output-format', 'stream-json', ...optionsFor(turn, dir)],
    ...(turn.session ? [turn.session.resume ? '--resume' : '--session-id', turn.session.id] : []),
  ],
  input: turn => withoutCommands(withoutReferences(turn.prompt)),
  read: readStream,
  ignores: turn => [
    ...narrowed(turn).map(
      tool => `gemini can only allow or deny a whole tool, so ${tool} in ALLOWED_TOOLS is not available.`,
    ),
    ...turn.askTools
      .filter(tool => !isAsking({ ...turn, permissionMode: 'default', askTools: [tool] }))
      .map(tool => `gemini has no tool ${tool}, so ${tool} in ASK_TOOLS has no effect.`),
  ],
  confined: {
    logins: [
      ...['.gemini/oauth_creds.json', '.gemini/gemini-credentials.json', '.gemini/google_accounts.json'],
      '.config/gcloud/application_default_credentials.json',
    ],
    settings: [{ file: '.gemini/settings.json', keep: onlyLogin }],
    state: ['.gemini'],
    staysInFolder: true,
    heldByFlags: false,
    services: geminiServices,
  },
  // There is no flag for MCP servers, and gemini accepts settings only from certain folders. Over ACP it accepts MCP servers.
  // Only there it asks, too.
  hosted: (turn, inherited) =>
    isAsking(turn) || (turn.mcpServers.length > 0 && (hasDefaults(inherited) || !readsDefaultsIn(turn.workingDir))),
  warm: {
    serves: 'all-sessions',
    // Each session has its own MCP servers; the policy uses only their names.
    fixed: ({ prompt, systemPrompt, session, maxTurns, mcpServers, ...rest }) => ({
      ...rest,
      servers: mcpServers.map(({ name }) => name),
    }),
    open: async (host, turn) =>
      (await import('./gemini-warm.ts')).openAcp(
        {
          arguments: ['--acp', ...optionsFor(turn, host.dir)],
          environment: environmentIn(host.dir, files.warmDefaults, host.inherited),
          systemFile: join(host.dir, files.system),
          systemPromptOf,
          alone: gemini,
        },
        host,
      ),
  },
}

/** Of its settings: how it logs in. */
function onlyLogin(text: string): string {
  const { security } = parseLine(text) ?? {}
  return JSON.stringify({ security: { auth: object(object(security).auth) } })
}

const optionsFor = (turn: Turn, dir: string): readonly string[] => [
  ...(isAsking(turn)
    ? ['--approval-mode', approvals.default, '--admin-policy', join(dir, files.askingPolicy)]
    : ['--approval-mode', approvals[turn.permissionMode], '--admin-policy', join(dir, files.policy)]),
  ...(turn.model ? ['-m', turn.model] : []),
]

/** Our prompt replaces its own, which would list the skills. */
const systemPromptOf = ({ systemPrompt }: Turn): string => `${systemPrompt}\n\n\${AgentSkills}\n`

const environmentIn = (dir: string, settings: string, inherited: Environment): Environment => ({
  GEMINI_SYSTEM_MD: join(dir, files.system),
  // In an untrusted folder gemini silently asks for every tool.
  GEMINI_CLI_TRUST_WORKSPACE: 'true',
  // Its launcher restarts itself as a child and ignores SIGTERM.
  GEMINI_CLI_NO_RELAUNCH: 'true',
  ...(hasDefaults(inherited) || !readsDefaultsIn(dir) ? {} : { GEMINI_CLI_SYSTEM_DEFAULTS_PATH: join(dir, settings) }),
})

/** Its own ten attempts take minutes. The gateway retries instead, and notifies the user. The user's own settings take precedence. */
const defaults = { general: { maxAttempts: 2, sessionRetention: { enabled: false } } }

/** There can be only one defaults file, and the administrator may have set one already. */
const hasDefaults = (inherited: Environment): boolean =>
  [inherited.GEMINI_CLI_SYSTEM_DEFAULTS_PATH, inherited.GEMINI_CLI_SYSTEM_SETTINGS_PATH].some(Boolean) ||
  ['/etc/gemini-cli', '/Library/Application Support/GeminiCli'].some(place =>
    existsSync(join(place, 'system-defaults.json')),
  )

/** Gemini reads them only from a path where nobody but root can write. */
function readsDefaultsIn(dir: string): boolean {
  try {
    const { uid, mode } = statSync(dir)
    if (uid !== 0 || (mode & 0o022) !== 0) return false
    return dirname(dir) === dir || readsDefaultsIn(dirname(dir))
  } catch {
    return false
  }
}
