// OpenAI Codex: `codex exec --json`.
import type { AgentEvent, Ended, Turn } from '../../base/agent.ts'
import { type Dialect, type Reader, systemPromptIn } from '../cli.ts'
import { failure, statusIn } from '../diagnosis.ts'
import { type Json, number, object, string } from '../json.ts'
import { readJsonLines } from '../reader.ts'

export const codex: Dialect = {
  name: 'codex',
  takesSessionIds: false,
  install:
    'Install it with `npm install -g @openai/codex` and log in once with `codex login`, or name its path in BACKEND_CLI_PATH.',
  credentials: { variables: ['OPENAI_API_KEY', 'CODEX_API_KEY'], files: ['.codex/auth.json'] },
  files: () => ({}),
  environment: () => ({}),
  ownVariables: ['OPENAI_*', 'CODEX_*'],
  arguments: (turn, dir) => [
    'exec',
    // Before `resume`: behind it codex does not take it.
    ...['--cd', turn.workingDir, '--json'],
    ...(turn.permissionMode === 'bypassPermissions'
      ? ['--dangerously-bypass-approvals-and-sandbox']
      : [
          '--skip-git-repo-check',
          '-c',
          `sandbox_mode="${turn.permissionMode === 'plan' ? 'read-only' : 'workspace-write'}"`,
        ]),
    // The one form of instructions that also counts for a resumed session.
    ...['-c', `model_instructions_file=${JSON.stringify(systemPromptIn(dir))}`],
    ...(turn.model ? ['-m', turn.model] : []),
    ...(turn.session?.resume ? ['resume', turn.session.id] : []),
    '-',
  ],
  input: turn => turn.prompt,
  read: readEvents,
  ignores: () => [],
  warm: null,
}

function readEvents(turn: Turn): Reader {
  let last = ''

  const item = (line: Json): AgentEvent[] => {
    const one = object(line.item)
    const id = string(one.id)
    if (one.type === 'agent_message' && line.type === 'item.completed') {
      const delta = last === '' ? string(one.text) : `\n\n${string(one.text)}`
      last = string(one.text)
      return [{ type: 'text', delta }]
    }
    const label = labelOf(one)
    if (label === null) return []
    if (line.type === 'item.started') return [{ type: 'action', id, label, phase: 'started' }]
    return [{ type: 'action', id, label, phase: one.status === 'failed' || one.error ? 'failed' : 'ended' }]
  }

  return readJsonLines(line => {
    switch (line.type) {
      case 'thread.started':
        // An id that codex does not know makes it begin a new thread without a word.
        if (turn.session?.resume && line.thread_id !== turn.session.id) return [lost]
        return [{ type: 'started', session: string(line.thread_id) || null }]
      case 'item.started':
      case 'item.completed':
        return item(line)
      case 'turn.completed':
        return [{ type: 'ended', ok: true, text: last }]
      case 'turn.failed':
        return [ofError(object(line.error))]
      default:
        return []
    }
  })
}

const lost: Ended = {
  type: 'ended',
  ok: false,
  why: 'session-lost',
  detail: 'codex began a new thread instead of the one asked for',
}

function ofError(error: Json): Ended {
  const said = string(error.message) || 'the turn failed'
  return failure(said, number(error.status) || statusIn(said))
}

function labelOf(item: Json): string | null {
  switch (item.type) {
    case 'command_execution':
      return `Shell: ${string(item.command).replace(/\s+/g, ' ').slice(0, 80)}`
    case 'mcp_tool_call':
      return `${string(item.server)}: ${string(item.tool)}`
    case 'file_change':
      return 'Edit'
    case 'web_search':
      return `WebSearch: ${string(item.query).slice(0, 80)}`
    default:
      return null
  }
}
