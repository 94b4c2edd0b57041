// Gemini CLI: `gemini --output-format stream-json` for one turn, `gemini --acp` for all sessions one turn after the other.
import { existsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Turn } from '../../base/agent.ts'
import type { Dialect } from '../cli.ts'
import { withoutCommands } from '../no-commands.ts'
import { withoutReferences } from '../plain.ts'
import { settingOf } from './gemini-mcp.ts'
import { narrowed, policyFor } from './gemini-policy.ts'
import { readStream } from './gemini-read.ts'

const approvals = { bypassPermissions: 'yolo', acceptEdits: 'auto_edit', plan: 'plan', default: 'default' } as const
const files = {
  system: 'gemini-system.md',
  policy: 'gemini-policy.toml',
  defaults: 'gemini-defaults.json',
  warmDefaults: 'gemini-warm-defaults.json',
}

type Environment = Readonly<Record<string, string>>

export const gemini: Dialect = {
  name: 'gemini',
  takesSessionIds: true,
  countsSteps: false,
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
    [files.policy]: policyFor(turn),
    [files.defaults]: JSON.stringify({ ...defaults, mcpServers: Object.fromEntries(turn.mcpServers.map(settingOf)) }),
    [files.warmDefaults]: JSON.stringify(defaults),
  }),
  environment: (_, dir, inherited) => environmentIn(dir, files.defaults, inherited),
  ownVariables: ['GEMINI_*', 'GOOGLE_*'],
  arguments: (turn, dir) => [
    ...['--output-format', 'stream-json', ...wishes(turn, dir)],
    ...(turn.session ? [turn.session.resume ? '--resume' : '--session-id', turn.session.id] : []),
  ],
  input: turn => withoutCommands(withoutReferences(turn.prompt)),
  read: readStream,
  ignores: turn => [
    ...(turn.mcpServers.length > 0 && !readsDefaultsIn(turn.workingDir)
      ? ['gemini has the servers of mcp.servers only while it stays up: a turn with a process of its own is without.']
      : []),
    ...narrowed(turn).map(
      tool => `gemini has this tool wholly or not at all, so ${tool} of ALLOWED_TOOLS is not there.`,
    ),
  ],
  warm: {
    serves: 'all-sessions',
    // Each session has MCP servers of its own; the policy looks at their names alone.
    fixed: ({ prompt, systemPrompt, session, maxTurns, mcpServers, ...rest }) => ({
      ...rest,
      servers: mcpServers.map(({ name }) => name),
    }),
    open: async (ground, turn) =>
      (await import('./gemini-warm.ts')).openAcp(
        {
          arguments: ['--acp', ...wishes(turn, ground.dir)],
          environment: environmentIn(ground.dir, files.warmDefaults, ground.inherited),
          systemFile: join(ground.dir, files.system),
          systemPromptOf,
          alone: gemini,
        },
        ground,
      ),
  },
}

const wishes = (turn: Turn, dir: string): readonly string[] => [
  ...['--approval-mode', approvals[turn.permissionMode], '--admin-policy', join(dir, files.policy)],
  ...(turn.model ? ['-m', turn.model] : []),
]

/** Ours takes the place of its own prompt, in which it would list the skills. */
const systemPromptOf = ({ systemPrompt }: Turn): string => `${systemPrompt}\n\n\${AgentSkills}\n`

const environmentIn = (dir: string, settings: string, inherited: Environment): Environment => ({
  GEMINI_SYSTEM_MD: join(dir, files.system),
  // In a folder it does not trust, gemini silently asks for every tool.
  GEMINI_CLI_TRUST_WORKSPACE: 'true',
  // Its launcher starts itself anew as a child and ignores SIGTERM.
  GEMINI_CLI_NO_RELAUNCH: 'true',
  ...(hasDefaults(inherited) || !readsDefaultsIn(dir) ? {} : { GEMINI_CLI_SYSTEM_DEFAULTS_PATH: join(dir, settings) }),
})

/** Its own ten attempts take minutes; ours decide, and tell the person. What the user has set goes before. */
const defaults = { general: { maxAttempts: 2, sessionRetention: { enabled: false } } }

/** Somebody else may have put his there already; there is room for one. */
const hasDefaults = (inherited: Environment): boolean =>
  [inherited.GEMINI_CLI_SYSTEM_DEFAULTS_PATH, inherited.GEMINI_CLI_SYSTEM_SETTINGS_PATH].some(Boolean) ||
  ['/etc/gemini-cli', '/Library/Application Support/GeminiCli'].some(place =>
    existsSync(join(place, 'system-defaults.json')),
  )

/** It reads them only from where nobody but root can write. */
function readsDefaultsIn(dir: string): boolean {
  try {
    const { uid, mode } = statSync(dir)
    if (uid !== 0 || (mode & 0o022) !== 0) return false
    return dirname(dir) === dir || readsDefaultsIn(dirname(dir))
  } catch {
    return false
  }
}
