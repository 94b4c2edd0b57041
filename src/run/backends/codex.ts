// OpenAI Codex: `codex exec --json` for one turn, `codex app-server` for many.
import type { AgentEvent, Ended, Turn } from '../../base/agent.ts'
import { type Dialect, type Reader, systemPromptIn } from '../cli.ts'
import { openAnswer } from '../events.ts'
import { codexServices } from '../network/services.ts'
import { type Json, number, object, objects, readJsonLines, string } from '../stdio.ts'
import { createActions, ofError, planned } from './codex-items.ts'
import {
  asArguments,
  ignores,
  isAsking,
  keyFrom,
  mcpFiles,
  mcpSettings,
  mcpVariables,
  modelProviders,
  sandboxFor,
  settingsFor,
} from './codex-settings.ts'

export const codex: Dialect = {
  name: 'codex',
  takesSessionIds: false,
  countsSteps: false,
  quiet: true,
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
    // These must come before `resume`: codex does not accept them after it.
    ...['--cd', turn.workingDir, '--json'],
    ...(sandboxFor(turn) === 'danger-full-access'
      ? ['--dangerously-bypass-approvals-and-sandbox']
      : ['--skip-git-repo-check', ...asArguments({ sandbox_mode: sandboxFor(turn), approval_policy: 'never' })]),
    // The only kind of instructions that also applies to a resumed session.
    ...asArguments({ model_instructions_file: systemPromptIn(dir) }),
    ...asArguments(settingsFor(turn)),
    ...asArguments(mcpSettings(turn, 'in files', dir)),
    ...(turn.model ? ['-m', turn.model] : []),
    ...(turn.session?.resume ? ['resume', turn.session.id] : []),
    '-',
  ],
  input: turn => turn.prompt,
  read: readEvents,
  ignores,
  confined: {
    logins: ['.codex/auth.json'],
    settings: [{ file: '.codex/config.toml', keep: modelProviders }],
    state: ['.codex'],
    staysInFolder: false,
    heldByFlags: false,
    services: codexServices,
    naming: ['.codex/config.toml'],
  },
  // `codex exec` cannot ask.
  hosted: isAsking,
  warm: {
    serves: 'all-sessions',
    // A running process accepts all options of a turn.
    fixed: () => null,
    open: async (host, _, signal) => (await import('./codex-warm.ts')).openAppServer(host, signal),
  },
}

function readEvents(turn: Turn): Reader {
  const answer = openAnswer()
  let begun = false
  let stored = false
  const actionOf = createActions()
  let plans = 0

  /** Anything after the start of the turn means that codex has stored the prompt. */
  const noteStored = (): AgentEvent[] => {
    if (!begun || stored) return []
    stored = true
    return [{ type: 'stored' }]
  }

  const item = (line: Json): AgentEvent[] => {
    const one = object(line.item)
    if (one.type === 'agent_message' && line.type === 'item.completed') {
      const text = string(one.text)
      const delta = answer.any() ? `\n\n${text}` : text
      answer.add(text)
      return [{ type: 'text', delta }]
    }
    if (one.type === 'todo_list')
      return line.type === 'item.completed' ? [] : [...planned(`plan-${++plans}`, objects(one.items))]
    const action = line.type === 'item.updated' ? null : actionOf(one, line.type === 'item.started')
    return action ? [action] : []
  }

  return readJsonLines(line => {
    switch (line.type) {
      case 'thread.started':
        // For an unknown id codex silently starts a new thread.
        if (turn.session?.resume && line.thread_id !== turn.session.id) return [lost]
        return [{ type: 'started', session: string(line.thread_id) || null }]
      case 'turn.started':
        begun = true
        return []
      case 'error':
        return noteStored()
      case 'item.started':
      case 'item.updated':
      case 'item.completed':
        return [...noteStored(), ...item(line)]
      case 'turn.completed':
        return [...noteStored(), usageOf(object(line.usage)), answer.end()]
      case 'turn.failed':
        return [...noteStored(), ofError(object(line.error))]
      default:
        return []
    }
  })
}

const lost: Ended = {
  type: 'ended',
  ok: false,
  why: 'session-lost',
  detail: 'codex started a new thread instead of resuming the requested one',
}

const usageOf = (usage: Json): AgentEvent => ({
  type: 'usage',
  usage: { inputTokens: number(usage.input_tokens), outputTokens: number(usage.output_tokens), costUsd: null },
  of: 'session',
  model: null,
})
