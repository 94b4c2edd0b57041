// Options of the agent: backend, model, tools, permissions and time limits.
import { defaultMaxTurns, permissionModes, verbosities } from '../../base/agent.ts'
import type { Task } from '../../base/event.ts'
import type { WrittenModelOverride } from '../../base/model-override.ts'
import {
  backendList,
  backendName,
  credential,
  mcpServers,
  milliseconds,
  oneOf,
  route,
  text,
  toolList,
  variableNames,
  wholeNumber,
  yesOrNo,
} from '../kinds.ts'
import { block, type Option, option, optional } from './option.ts'

export const agent = block(
  {
    'agent.backend': optional({
      env: 'AGENT_BACKEND',
      flag: 'backend',
      kind: backendName,
      description:
        'The agent that answers. If unset, the first installed one of claude, codex, gemini, opencode, pi is used, or echo if there is none.',
    }),
    'agent.cli_path': optional({
      env: 'BACKEND_CLI_PATH',
      kind: text,
      description:
        'Path of the backend program. Applies to the chosen backend (AGENT_BACKEND) only. If unset, the program is looked up on PATH.',
    }),
    'agent.model': optional({
      live: true,
      env: 'BACKEND_MODEL',
      flag: 'model',
      kind: text,
      description: "The model, by the name the backend uses. If unset, the backend's default is used.",
    }),
    'agent.max_turns': option({
      live: true,
      env: 'BACKEND_MAX_TURNS',
      kind: wholeNumber(1, 10_000),
      default: defaultMaxTurns,
      lenient: true,
      description:
        'Maximum number of steps the agent may take for one answer. An invalid value logs a warning, and 25 is used.',
    }),
    'agent.env': option({
      env: 'BACKEND_ENV',
      kind: variableNames,
      default: [],
      description: 'Names of additional environment variables to pass to the backend.',
    }),
    'agent.fallback': option({
      live: true,
      env: 'BACKEND_FALLBACK',
      kind: backendList,
      default: [],
      description:
        'Fallback backends, tried in this order when the chosen backend has reached its limit, is not installed or is not logged in.',
    }),
    'agent.warm': option({
      env: 'BACKEND_WARM',
      kind: yesOrNo,
      default: true,
      description:
        'Keep backend processes running between turns, for faster answers. If false, each turn starts a new process.',
    }),
    'agent.warm_max': option({
      env: 'BACKEND_WARM_MAX',
      kind: wholeNumber(1, 100),
      default: 4,
      description: 'Maximum number of backend processes to keep running.',
    }),
    'agent.warm_memory_mb': option({
      env: 'BACKEND_WARM_MEMORY_MB',
      kind: wholeNumber(1, 1_000_000),
      default: 1500,
      description: 'Maximum total memory of the backend processes that are kept running, in megabytes.',
    }),
    'agent.warm_idle_ms': option({
      env: 'BACKEND_WARM_IDLE_MS',
      kind: milliseconds(1000),
      default: 600_000,
      description: 'A backend process that has been idle for this long is ended.',
    }),
    'agent.prewarm': option({
      env: 'BACKEND_PREWARM',
      kind: yesOrNo,
      default: false,
      description: 'Start the backend for the latest conversation when the gateway starts.',
    }),
    'agent.sdk_path': optional({
      env: 'AGENT_SDK_PATH',
      kind: text,
      description:
        'Folder in which the Claude Agent SDK is installed (for claude-sdk). If unset, it is looked up here and in the global packages.',
    }),
    'models.default': modelFor('default', 'messages, and for everything without a setting of its own'),
    'models.heartbeat': modelFor('heartbeat', 'heartbeats'),
    'models.cron': modelFor('cron', 'cron jobs'),
    'models.subagent': modelFor('subagent', 'sub-agents'),
    'models.hook': modelFor('hook', 'hooks'),
    'models.webhook': modelFor('webhook', 'webhooks'),
    'mcp.servers': option({
      live: true,
      env: 'MCP_SERVERS',
      kind: mcpServers,
      default: () => [],
      secret: true,
      description: 'MCP servers for the agent, by name. Each backend gets them in its own format.',
    }),
    'mcp.own': option({
      env: 'GATEWAY_TOOLS',
      kind: yesOrNo,
      default: true,
      description:
        "Give the agent the gateway's own tools: sending messages, jobs, memory, facts, tasks, content items, sub-agents.",
    }),
    allowed_tools: option({
      live: true,
      env: 'ALLOWED_TOOLS',
      kind: toolList,
      default: ['Read', 'Write', 'Edit', 'Glob', 'Grep', 'WebSearch', 'WebFetch'],
      description: 'The only tools the agent may use.',
    }),
    ask_tools: option({
      live: true,
      env: 'ASK_TOOLS',
      kind: toolList,
      default: ['Bash'],
      description:
        "Tools that the agent may use in the owner's turns after asking for each use, in addition to allowed_tools. Guests are never offered these.",
    }),
    permission_mode: option({
      live: true,
      env: 'PERMISSION_MODE',
      kind: oneOf(permissionModes),
      default: 'bypassPermissions',
      description:
        'What the agent asks for: bypassPermissions asks for ask_tools only; acceptEdits for everything but reading and editing files; default for everything but reading; plan changes nothing before you have approved its plan.',
    }),
    verbosity: option({
      live: true,
      env: 'VERBOSITY',
      kind: oneOf(verbosities),
      default: 'normal',
      description:
        'How much of its work the agent shows: normal has a line for each action while it works; quiet has none; full also ends the answer with a list of what was done. /verbosity changes it for a conversation.',
    }),
    'anthropic.api_key': optional({
      env: 'ANTHROPIC_API_KEY',
      kind: credential(1),
      secret: true,
      description: 'Anthropic API key. Required by the claude-sdk backend.',
    }),
    'query.timeout_ms': option({
      live: true,
      env: 'QUERY_TIMEOUT_MS',
      kind: milliseconds(1),
      default: 120_000,
      description: 'A turn that is silent for this long is ended. Thinking and running tools do not count as silence.',
    }),
    'query.max_ms': option({
      live: true,
      env: 'QUERY_MAX_MS',
      kind: milliseconds(1),
      default: 1_800_000,
      description: 'Maximum duration of a turn. A longer turn is ended even while it is active.',
    }),
  },
  (values, { isPrivate }) => [
    ...(values['agent.backend'] === 'claude-sdk' && values['anthropic.api_key'] === null
      ? [
          {
            key: 'anthropic.api_key' as const,
            why: 'is not set; it is required for the backend claude-sdk (agent.backend)',
          },
        ]
      : []),
    ...values['agent.env'].filter(isPrivate).map(name => ({
      key: 'agent.env' as const,
      why: `names ${name}, which must not be passed to the backend`,
    })),
    ...(values['query.timeout_ms'] > values['query.max_ms']
      ? [{ warning: 'query.timeout_ms is longer than query.max_ms, so query.max_ms always ends the turn first' }]
      : []),
  ],
)

function modelFor(task: Task, what: string): Option<WrittenModelOverride | null> {
  return optional({
    live: true,
    env: `MODELS_${task.toUpperCase()}`,
    kind: route,
    description: `Backend and model for ${what}, such as codex/gpt-5. If unset, the usual ones are used.`,
  })
}
