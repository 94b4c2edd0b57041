// Pi coding agent: `pi -p --mode json` for one turn, `pi --mode rpc` for one after the other.
import { join } from 'node:path'
import type { ActionPhase, AgentEvent, Ended, Turn, Usage } from '../../base/agent.ts'
import { type Dialect, type Reader, systemPromptIn } from '../cli.ts'
import { failure, statusIn } from '../diagnosis.ts'
import { type Json, number, object, objects, string } from '../json.ts'
import { withoutCommands } from '../no-commands.ts'
import { readJsonLines } from '../reader.ts'
import { openTalk } from '../talk.ts'
import { toolName } from '../tools.ts'

/** Each of its many providers has one. */
const keys = [
  ...['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'ANTHROPIC_OAUTH_TOKEN', 'OPENAI_API_KEY', 'AZURE_OPENAI_API_KEY'],
  ...['GEMINI_API_KEY', 'GOOGLE_CLOUD_API_KEY', 'GOOGLE_APPLICATION_CREDENTIALS', 'OPENROUTER_API_KEY'],
  ...['AWS_PROFILE', 'AWS_ACCESS_KEY_ID', 'AWS_BEARER_TOKEN_BEDROCK', 'CLOUDFLARE_API_KEY', 'COPILOT_GITHUB_TOKEN'],
  ...['AI_GATEWAY_API_KEY', 'ANT_LING_API_KEY', 'BASETEN_API_KEY', 'CEREBRAS_API_KEY', 'DEEPSEEK_API_KEY'],
  ...['FIREWORKS_API_KEY', 'GROQ_API_KEY', 'HF_TOKEN', 'KIMI_API_KEY', 'META_API_KEY', 'MINIMAX_API_KEY'],
  ...['MINIMAX_CN_API_KEY', 'MISTRAL_API_KEY', 'MOONSHOT_API_KEY', 'NVIDIA_API_KEY', 'OPENCODE_API_KEY'],
  ...['QWEN_TOKEN_PLAN_API_KEY', 'QWEN_TOKEN_PLAN_CN_API_KEY', 'RADIUS_API_KEY', 'TOGETHER_API_KEY', 'XAI_API_KEY'],
  ...['XIAOMI_API_KEY', 'XIAOMI_TOKEN_PLAN_CN_API_KEY', 'XIAOMI_TOKEN_PLAN_AMS_API_KEY'],
  ...['XIAOMI_TOKEN_PLAN_SGP_API_KEY', 'ZAI_API_KEY', 'ZAI_CODING_CN_API_KEY'],
]

/** What it calls the tools; it has none for the web, nor for tasks. */
const tools: ReadonlyMap<string, readonly string[]> = new Map([
  ['Read', ['read', 'ls']],
  ['LS', ['ls']],
  ['Glob', ['find', 'ls']],
  ['Grep', ['grep']],
  ['Write', ['write']],
  ['Edit', ['edit']],
  ['MultiEdit', ['edit']],
  ['Bash', ['bash']],
])
/** It never asks: what would have to ask elsewhere is not there. */
const withoutAsking: Readonly<Record<Turn['permissionMode'], readonly string[]>> = {
  plan: ['read', 'ls', 'find', 'grep'],
  default: ['read', 'ls', 'find', 'grep'],
  acceptEdits: ['read', 'ls', 'find', 'grep', 'write', 'edit'],
  bypassPermissions: ['read', 'ls', 'find', 'grep', 'write', 'edit', 'bash'],
}

export const pi: Dialect = {
  name: 'pi',
  takesSessionIds: true,
  countsSteps: false,
  mcp: false,
  install: 'Install it with `npm install -g @earendil-works/pi-coding-agent` and log in once with `pi`.',
  credentials: { variables: keys, files: ['.pi/agent/auth.json', '.pi/agent/models.json'] },
  files: () => ({}),
  environment: () => ({ PI_OFFLINE: '1' }),
  ownVariables: [
    ...['PI_*', 'ANTHROPIC_*', 'OPENAI_*', 'AZURE_OPENAI_*', 'GEMINI_*', 'GOOGLE_*', 'OPENROUTER_*', 'AWS_*'],
    ...['CLOUDFLARE_*', ...keys],
  ],
  arguments: (turn, dir) => ['-p', '--mode', 'json', ...wishes(turn, dir)],
  input: turn => withoutCommands(turn.prompt),
  read: () => readEvents(null),
  ignores,
  warm: {
    serves: 'one-session',
    fixed: ({ prompt, session, maxTurns, mcpServers, ...rest }) => rest,
    async open(ground, turn) {
      let session: string | null = null
      const args = ['--mode', 'rpc', ...wishes(turn, ground.dir)]
      return openTalk(ground.start(args, pi.environment(turn, ground.dir, {})), {
        hello: said({ type: 'get_state' }),
        // Nothing else tells which session it is.
        isUp(line) {
          session = string(object(line.data).sessionId) || null
          return line.type === 'response'
        },
        begin: ({ prompt }) => said({ type: 'prompt', message: withoutCommands(prompt) }),
        interrupt: () => said({ type: 'abort' }),
        read: () => readEvents(session),
      })
    },
  },
}

const said = (line: Json) => `${JSON.stringify(line)}\n`

function wishes(turn: Turn, dir: string): readonly string[] {
  const allowed = toolsOf(turn)
  return [
    ...['--append-system-prompt', systemPromptIn(dir)],
    ...['--no-extensions', '--no-themes', '--no-prompt-templates'],
    // It finds those of the workspace by itself only where it trusts the whole folder, settings and all.
    ...['--skill', join(turn.workingDir, '.agents', 'skills')],
    ...(allowed.length > 0 ? ['--tools', allowed.join(',')] : ['--no-tools']),
    ...(turn.model ? ['--model', turn.model] : []),
    // --session-id would begin a new session where the old one is gone, without a word.
    ...(turn.session ? [turn.session.resume ? '--session' : '--session-id', turn.session.id] : []),
  ]
}

function toolsOf({ allowedTools, permissionMode }: Turn): readonly string[] {
  const named = new Set(allowedTools.flatMap(tool => tools.get(tool) ?? []))
  return [...named].filter(tool => withoutAsking[permissionMode].includes(tool))
}

function ignores({ allowedTools, mcpServers }: Turn): readonly string[] {
  const narrowed = allowedTools.filter(tool => tool.includes('(') && tools.has(toolName(tool)))
  return [
    ...(mcpServers.length > 0 ? ['pi has no MCP in this version, so the servers of mcp.servers are not there.'] : []),
    ...narrowed.map(tool => `pi has a tool wholly or not at all, so ${tool} of ALLOWED_TOOLS is not there.`),
  ]
}

/** `session`: which it is, where it does not tell. */
function readEvents(session: string | null): Reader {
  let begun = false
  let end: Ended | null = null
  let usage: Usage = { inputTokens: 0, outputTokens: 0, costUsd: 0 }
  let model: string | null = null
  let spoke = false

  /** Only rpc answers: whether it takes the prompt at all. */
  const answered = (line: Json): AgentEvent[] =>
    line.command === 'prompt' && line.success === false ? [refused(string(line.error))] : []

  const updated = (event: Json): AgentEvent[] => {
    if (event.type === 'text_start') return spoke ? [{ type: 'text', delta: '\n\n' }] : []
    if (event.type !== 'text_delta') return []
    spoke = true
    return [{ type: 'text', delta: string(event.delta) }]
  }

  /** The last message of the agent is the answer, or says why there is none. Exit codes are 0 either way. */
  const spoken = (message: Json): void => {
    if (message.role !== 'assistant') return
    const used = object(message.usage)
    usage = {
      inputTokens: usage.inputTokens + number(used.input) + number(used.cacheRead) + number(used.cacheWrite),
      outputTokens: usage.outputTokens + number(used.output),
      costUsd: (usage.costUsd ?? 0) + number(object(used.cost).total),
    }
    model = string(message.model) || model
    end = endOf(message)
  }

  const read = (line: Json): AgentEvent[] => {
    switch (line.type) {
      case 'session':
        begun = true
        return [{ type: 'started', session: string(line.id) || null }]
      case 'response':
        return answered(line)
      case 'agent_start': {
        // A retry begins once more; and in json mode `session` has told it.
        const first = !begun
        begun = true
        return first ? [{ type: 'started', session }] : []
      }
      case 'message_update':
        return updated(object(line.assistantMessageEvent))
      case 'message_end':
        spoken(object(line.message))
        return []
      case 'tool_execution_start':
        return [acted(line, 'started')]
      case 'tool_execution_end':
        return [acted(line, line.isError === true ? 'failed' : 'ended')]
      case 'agent_settled':
        return end ? [{ type: 'usage', usage, of: 'turn', model }, end] : []
      default:
        return []
    }
  }
  return readJsonLines(read, how =>
    ofLogin.test(how.stderr) || ofElsewhere.test(how.stderr) ? refused(how.stderr) : null,
  )
}

const acted = (line: Json, phase: ActionPhase): AgentEvent => ({
  type: 'action',
  id: string(line.toolCallId),
  label: string(line.toolName) || 'tool',
  phase,
})

function endOf(message: Json): Ended {
  const said = string(message.errorMessage) || 'the turn failed'
  if (message.stopReason === 'error') return failure(said, statusIn(said))
  if (message.stopReason === 'aborted') return { type: 'ended', ok: false, why: 'stopped', detail: said }
  const text = objects(message.content)
    .map(part => (part.type === 'text' ? string(part.text) : ''))
    .join('')
  return { type: 'ended', ok: true, text }
}

const ofLogin = /no api key found|no models? (?:available|selected)|authentication failed for/i
/** A session of another folder: it offers a copy, and there is nobody to say yes. */
const ofElsewhere = /session found in different project/i

function refused(said: string): Ended {
  const detail = said.trim() || 'the prompt was not accepted'
  if (ofLogin.test(said)) return { type: 'ended', ok: false, why: 'not-logged-in', detail }
  if (ofElsewhere.test(said)) return { type: 'ended', ok: false, why: 'session-lost', detail }
  return failure(detail, statusIn(said))
}
