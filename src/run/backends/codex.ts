// OpenAI Codex: `codex exec --json` for one turn, `codex app-server` for many.
import type { AgentEvent, Ended, Turn } from '../../base/agent.ts'
import { type Dialect, type Reader, systemPromptIn } from '../cli.ts'
import { type Json, number, object, string } from '../json.ts'
import { readJsonLines } from '../reader.ts'
import { actionOf, ofError } from './codex-items.ts'
import {
  asArguments,
  ignores,
  keyFrom,
  mcpFiles,
  mcpSettings,
  mcpVariables,
  sandboxFor,
  settingsFor,
} from './codex-settings.ts'

export const codex: Dialect = {
  name: 'codex',
  takesSessionIds: false,
  countsSteps: false,
  install: 'Install it with `npm install -g @openai/codex` and log in once with `codex login`.',
  credentials: { variables: ['CODEX_API_KEY', 'OPENAI_API_KEY'], files: ['.codex/auth.json'] },
  files: mcpFiles,
  environment(turn, _, inherited) {
    const key = keyFrom(inherited)
    return { ...mcpVariables(turn), ...(key ? { CODEX_API_KEY: key } : {}) }
  },
  ownVariables: ['OPENAI_*', 'CODEX_*'],
  arguments: (turn, dir) => [
    'exec',
    // Before `resume`: behind it codex does not take it.
    ...['--cd', turn.workingDir, '--json'],
    ...(turn.permissionMode === 'bypassPermissions'
      ? ['--dangerously-bypass-approvals-and-sandbox']
      : ['--skip-git-repo-check', ...asArguments({ sandbox_mode: sandboxFor(turn), approval_policy: 'never' })]),
    // The one form of instructions that also counts for a resumed session.
    ...asArguments({ model_instructions_file: systemPromptIn(dir) }),
    ...asArguments(settingsFor(turn)),
    ...asArguments(mcpSettings(turn, 'kept out', dir)),
    ...(turn.model ? ['-m', turn.model] : []),
    ...(turn.session?.resume ? ['resume', turn.session.id] : []),
    '-',
  ],
  input: turn => turn.prompt,
  read: readEvents,
  ignores,
  warm: {
    serves: 'all-sessions',
    // Whatever a turn may wish can be told to a running one.
    fixed: () => null,
    open: async (ground, _, signal) => (await import('./codex-warm.ts')).openAppServer(ground, signal),
  },
}

function readEvents(turn: Turn): Reader {
  let last = ''

  const item = (line: Json): AgentEvent[] => {
    const one = object(line.item)
    if (one.type === 'agent_message' && line.type === 'item.completed') {
      const delta = last === '' ? string(one.text) : `\n\n${string(one.text)}`
      last = string(one.text)
      return [{ type: 'text', delta }]
    }
    const action = actionOf(one, line.type === 'item.started')
    return action ? [action] : []
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
        return [usageOf(object(line.usage)), { type: 'ended', ok: true, text: last }]
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

const usageOf = (usage: Json): AgentEvent => ({
  type: 'usage',
  usage: { inputTokens: number(usage.input_tokens), outputTokens: number(usage.output_tokens), costUsd: null },
  of: 'session',
  model: null,
})
